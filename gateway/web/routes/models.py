"""`/agents/{agent}/models`: the models of an agent, what they cost, and which model a name means."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.catalog.models.prices import Tokens
from gateway.errors import BadInput
from gateway.identity import Caller
from gateway.jsonio import loads
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.service.snapshots import find_model
from gateway.web.disconnect import run_until_disconnect
from gateway.web.forward import forward
from gateway.web.request_body import read_body

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
    """Token counts as in AG-UI: tokens read from a cache or written to it are part of the input, thinking tokens part
    of the output. They count as one request."""
    agent = _agent(request)
    model = find_model(agent, request.path_params["model"])
    tokens = Tokens(
        _read_count(request, "inputTokens"),
        _read_count(request, "cachedInputTokens"),
        _read_count(request, "outputTokens"),
        _read_count(request, "thinkingTokens"),
        _read_count(request, "cacheWriteTokens"),
        _read_count(request, "cacheWrite1hTokens"),
    )
    return JSONResponse(agent.models.cost_json(model, tokens))


async def validate(request: Request) -> Response:
    """`?model=ID`, or `{"model": "ID"}` in the body of a POST. Always 200: that a name means no model is an answer."""
    agent = _agent(request)
    name = request.query_params.get("model")
    if name is None and request.method == "POST":
        name = await read_body(request, _read_name)
    if name is None:
        raise BadInput('which model? ?model=ID names it, or the body {"model": "ID"} of a POST', pointer="?model")
    mounted = await forward(request, agent, urlencode({"model": name}))
    return mounted or JSONResponse(agent.models.validate_json(name))


def _read_name(body: bytes) -> str | None:
    if not body:
        return None
    fields = loads(body)
    name = fields.get("model") if isinstance(fields, dict) else None
    if not isinstance(name, str):
        raise BadInput('the body is {"model": "ID"}', pointer="/model")
    return name


async def refresh(request: Request) -> Response:
    """Reads the list from the agent itself."""
    gateway: Gateway = request.app.state.gateway
    agent = _agent(request)
    await run_until_disconnect(request, partial(gateway.model_lists.refresh, agent))
    return _list(agent)


async def refresh_all(request: Request) -> Response:
    """Reads the lists of all agents that the caller may use. Always 200: one result for each agent."""
    gateway: Gateway = request.app.state.gateway
    caller: Caller = request.state.caller
    agents = [agent for agent in gateway.agents if caller.may_use(agent.definition.id)]
    results = await run_until_disconnect(request, partial(gateway.model_lists.refresh_all, agents))
    return JSONResponse({"agents": [result.to_json() for result in results]})


def _list(agent: Agent) -> Response:
    default = agent.models.default()
    return JSONResponse(
        {
            "models": agent.models.to_json(),
            "default": None if default is None else default.id,
            "lastUpdated": agent.models.last_updated,
            "source": agent.models.source,
            "open": agent.models.is_open,
        }
    )


def _read_count(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isascii() or not text.isdigit() or len(text) > MAX_COUNT_DIGITS:
        raise BadInput(f"{name} is a number of tokens, not {text[:40]!r}", pointer=f"?{name}")
    return int(text)
