"""`GET /agents/{agent}/capabilities`: what this agent can do, now."""

from __future__ import annotations

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.agui import legacy
from gateway.capabilities import mux
from gateway.capabilities.merge import etag, to_json
from gateway.errors import AgentFault, BadRequest
from gateway.runs.agents import Agent
from gateway.web.house import Current, House
from gateway.web.models import known_model

VIEWS = ("agui", "acp", "mux")
PROBE_LIMIT = 60.0
"""Of `?probe=1`: agents take seconds to start, and some wait for a network that is not there."""


async def show(request: Request) -> Response:
    """Answers at once from what is known. `?probe=1` waits until the agent itself has spoken."""
    house: House = request.app.state.house
    agent = house.agents[request.path_params["agent"]]
    query = request.query_params
    await _probe(house, agent, wait=_yes(query.get("probe")))
    current = await _current(house, agent, request)
    if not query:
        return _answer(request, current.body, current.etag)
    match query.get("view", "agui"):
        case "agui":
            pass
        case "acp":
            body = to_json(current.snapshot.tree().get("custom", {}).get("acp", {}))
            return _answer(request, body, etag(body))
        case "mux":
            body = to_json(mux.view(current.snapshot, agent.definition))
            return _answer(request, body, etag(body))
        case unknown:
            raise BadRequest(f"there is no view {unknown!r}. Known: {', '.join(VIEWS)}.", code="UNKNOWN_VIEW")
    if _yes(query.get("explain")):
        return _explained(current)
    if query.get("protocol") == "0":
        body = to_json(legacy.capabilities(current.snapshot.tree()))
        return _answer(request, body, etag(body))
    return _answer(request, current.body, current.etag)


async def _probe(house: House, agent: Agent, *, wait: bool) -> None:
    if agent.driver is None or agent.driver.probed:
        return None
    if not wait:
        return house.agents.probe_soon(agent)
    try:
        with anyio.fail_after(PROBE_LIMIT):
            await agent.driver.probe()
    except TimeoutError:
        raise AgentFault(f"the agent did not answer within {PROBE_LIMIT:g} seconds", code="AGENT_STALLED") from None


async def _current(house: House, agent: Agent, request: Request) -> Current:
    thread, name = request.query_params.get("thread"), request.query_params.get("model")
    learned = None if thread is None else house.learned(agent, thread, request.state.principal)
    return await house.snapshots.of(agent, None if name is None else known_model(agent, name), learned)


def _yes(value: str | None) -> bool:
    return value not in (None, "", "0", "false")


def _answer(request: Request, body: bytes, tag: str) -> Response:
    headers = {"etag": tag, "cache-control": "no-store"}
    asked = request.headers.get("if-none-match")
    if asked is not None and (asked == "*" or tag in [part.strip().removeprefix("W/") for part in asked.split(",")]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _explained(current: Current) -> Response:
    body = {
        "capabilities": current.snapshot.tree(),
        "explain": current.snapshot.explain(),
        "version": current.etag.strip('"'),
    }
    return JSONResponse(body, headers={"etag": current.etag, "cache-control": "no-store"})
