"""`/agents/{agent}/models`: the models of an agent, what they cost, and which model a name means."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.catalog.models.prices import Tokens, calculate_cost
from gateway.errors import AgentFault, BadInput, NotCapable
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.service.snapshots import find_model
from gateway.web.disconnect import run_until_disconnect

REFRESH_TIMEOUT_SECONDS = 90.0
"""An agent may have to start first, and to query its providers."""
MAX_COUNT_DIGITS = 15
"""Beyond this JavaScript loses digits."""


def _agent(request: Request) -> Agent:
    gateway: Gateway = request.app.state.gateway
    return gateway.agents[request.path_params["agent"]]


async def list_models(request: Request) -> Response:
    return _list(_agent(request))


async def show(request: Request) -> Response:
    """By id, alias, or any other name that means exactly one model."""
    agent = _agent(request)
    model = find_model(agent, request.path_params["model"])
    return JSONResponse({**agent.models.describe(model), "isDefault": model is agent.models.default()})


async def show_cost(request: Request) -> Response:
    """Token counts as in AG-UI: cached tokens are part of the input, thinking tokens part of the output."""
    agent = _agent(request)
    model = find_model(agent, request.path_params["model"])
    tokens = Tokens(
        _read_count(request, "inputTokens"),
        _read_count(request, "cachedInputTokens"),
        _read_count(request, "outputTokens"),
        _read_count(request, "thinkingTokens"),
    )
    return JSONResponse(
        {"agent": agent.definition.id, "modelId": model.id, **calculate_cost(model.price, tokens).to_json()}
    )


async def validate(request: Request) -> Response:
    """Always 200: that a name means no model is an answer."""
    agent = _agent(request)
    name = request.query_params.get("model")
    if name is None:
        raise BadInput("which model? ?model=ID names it", pointer="?model")
    return JSONResponse(agent.models.validate_json(name))


async def refresh(request: Request) -> Response:
    """Reads the list from the agent itself."""
    agent = _agent(request)
    try:
        with anyio.fail_after(REFRESH_TIMEOUT_SECONDS):
            listed = await run_until_disconnect(request, agent.usable_driver.models)
    except TimeoutError:
        detail = f"the agent did not list its models within {REFRESH_TIMEOUT_SECONDS:g} seconds"
        raise AgentFault(detail, code="AGENT_STALLED") from None
    if listed is None:
        raise NotCapable(
            f"Agent '{agent.definition.id}' cannot list its models, or not before it had a session. "
            f"GET /agents/{agent.definition.id}/models lists those of its file.",
            capability="models",
            source=f"driver ({agent.definition.driver})",
        )
    agent.models.refresh(listed, datetime.now(UTC))
    gateway: Gateway = request.app.state.gateway
    gateway.changes.touch(agent.definition.id)
    return _list(agent)


def _list(agent: Agent) -> Response:
    default = agent.models.default()
    return JSONResponse(
        {
            "models": agent.models.to_json(),
            "default": None if default is None else default.id,
            "lastUpdated": agent.models.last_updated,
            "source": agent.models.source,
        }
    )


def _read_count(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isascii() or not text.isdigit() or len(text) > MAX_COUNT_DIGITS:
        raise BadInput(f"{name} is a number of tokens, not {text[:40]!r}", pointer=f"?{name}")
    return int(text)
