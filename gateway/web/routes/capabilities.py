"""`GET /agents/{agent}/capabilities`: what this agent can do, now."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.capabilities.merge import etag, to_json
from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.capabilities.views import SnapshotEntry, render, resolve_view
from gateway.encode.sse import CONTENT_TYPE
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.service.snapshots import known_model
from gateway.web.disconnect import run_until_disconnect
from gateway.web.forward import forward
from gateway.web.routes.capabilities_stream import CapabilityFeedResponse, accepts_feed

NOT_KEPT = {"cache-control": "no-store"}


async def show(request: Request) -> ASGIApp:
    """Answers at once from what is known. `?probe=1` waits until the agent itself has spoken."""
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    if agent.driver is not None and not agent.driver.probed:
        await _probe(gateway, agent, request)
    if accepts_feed(request):
        return _feed(gateway, agent, request)
    if not request.scope["query_string"]:
        return answer(request, render("agui", await gateway.snapshots.current(agent), agent.definition))
    if _is_of_its_file(request) and (answered := await forward(request, agent)) is not None:
        return answered
    key = _key(agent, request)
    current = await gateway.capability_source.current(key)
    if key.explain:
        return _explained(request, current)
    return answer(request, render(key.view, current, agent.definition))


def _is_of_its_file(request: Request) -> bool:
    """A model's limits, and views that are made with the agent's definition: for another gateway's agent, there. Not of
    a thread: the name that it has here means nothing there, or somebody else's."""
    query = request.query_params
    return "thread" not in query and ("model" in query or query.get("view") in ("acp", "mux"))


def _feed(gateway: Gateway, agent: Agent, request: Request) -> ASGIApp:
    key = _key(agent, request)
    if request.method == "HEAD":
        return Response(headers=NOT_KEPT, media_type=CONTENT_TYPE)
    return CapabilityFeedResponse(gateway, key, request)


def _key(agent: Agent, request: Request) -> Key:
    query = request.query_params
    thread, name, view = query.get("thread"), query.get("model"), query.get("view") or "agui"
    return Key(
        agent.definition.id,
        thread,
        None if thread is None else request.state.principal,
        None if name is None else known_model(agent, name).id,
        resolve_view(view, query.get("protocol")),
        explain=view == "agui" and is_true(query.get("explain")),
    )


async def _probe(gateway: Gateway, agent: Agent, request: Request) -> None:
    if is_true(request.query_params.get("probe")):
        await run_until_disconnect(request, partial(gateway.agents.wait_until_probed, agent))
    else:
        gateway.agents.probe_soon(agent)


def is_true(value: str | None) -> bool:
    return value not in (None, "", "0", "false")


def answer(request: Request, what: RenderedSnapshot, media_type: str = "application/json") -> Response:
    """What is shown, or 304 for whoever has it."""
    tag = f'"{what.version}"'
    asked = request.headers.get("if-none-match")
    if asked is not None and (asked == "*" or tag in [part.strip().removeprefix("W/") for part in asked.split(",")]):
        return Response(status_code=304, headers={"etag": tag, **NOT_KEPT})
    return Response(what.body, headers={"etag": tag, **NOT_KEPT}, media_type=media_type)


def _explained(request: Request, current: SnapshotEntry) -> Response:
    """Its tag is of the whole: who says something may become another while the value stays."""
    version = current.etag.strip('"')
    body = to_json({"capabilities": current.snapshot.tree(), "explain": current.snapshot.explain(), "version": version})
    return answer(request, RenderedSnapshot(body, etag(body).strip('"')))
