"""`/agents/{agent}/models`: the models of an agent, what they cost, whether a name means one."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.catalog.models.prices import Tokens, cost
from gateway.errors import AgentFault, BadInput, NotCapable
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.service.snapshots import known_model
from gateway.web.disconnect import run_until_disconnect

REFRESH_LIMIT = 90.0
"""An agent may have to start first, and to ask its providers."""
MOST_DIGITS = 15
"""Of a count: beyond this JavaScript loses some."""


def _agent(request: Request) -> Agent:
    gateway: Gateway = request.app.state.gateway
    return gateway.agents[request.path_params["agent"]]


async def list_models(request: Request) -> Response:
    return _listed(_agent(request))


async def show(request: Request) -> Response:
    """By id, alias, or any other name that means one model."""
    agent = _agent(request)
    model = known_model(agent, request.path_params["model"])
    return JSONResponse({**agent.models.describe(model), "isDefault": model is agent.models.default()})


async def show_cost(request: Request) -> Response:
    """Counts as AG-UI has them: cached tokens are among those of the input, thoughts among those of the output."""
    agent = _agent(request)
    model = known_model(agent, request.path_params["model"])
    tokens = Tokens(
        _count(request, "inputTokens"),
        _count(request, "cachedInputTokens"),
        _count(request, "outputTokens"),
        _count(request, "thinkingTokens"),
    )
    return JSONResponse({"agent": agent.definition.id, "modelId": model.id, **cost(model.price, tokens).json()})


async def validate(request: Request) -> Response:
    """Always 200: that a name means nothing is an answer."""
    agent = _agent(request)
    name = request.query_params.get("model")
    if name is None:
        raise BadInput("which model? ?model=ID names it", pointer="?model")
    return JSONResponse(agent.models.validation(name))


async def refresh(request: Request) -> Response:
    """Asks the agent itself."""
    agent = _agent(request)
    try:
        with anyio.fail_after(REFRESH_LIMIT):
            listed = await run_until_disconnect(request, agent.ready.models)
    except TimeoutError:
        detail = f"the agent did not list its models within {REFRESH_LIMIT:g} seconds"
        raise AgentFault(detail, code="AGENT_STALLED") from None
    if listed is None:
        raise NotCapable(
            f"Agent '{agent.definition.id}' cannot list its models, or not before it had a session. "
            f"GET /agents/{agent.definition.id}/models has those that its file knows.",
            capability="models",
            source=f"driver ({agent.definition.driver})",
        )
    agent.models.refreshed(listed, datetime.now(UTC))
    gateway: Gateway = request.app.state.gateway
    gateway.changes.touch(agent.definition.id)
    return _listed(agent)


def _listed(agent: Agent) -> Response:
    default = agent.models.default()
    return JSONResponse(
        {
            "models": agent.models.catalog(),
            "default": None if default is None else default.id,
            "lastUpdated": agent.models.last_updated,
            "source": agent.models.source,
        }
    )


def _count(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
        raise BadInput(f"{name} is a number of tokens, not {text[:40]!r}", pointer=f"?{name}")
    return int(text)
