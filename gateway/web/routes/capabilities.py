"""`GET /agents/{agent}/capabilities`: what the agent can do now."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.capabilities.merge import etag, to_json
from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.capabilities.views import render, resolve_view
from gateway.encode.sse import CONTENT_TYPE
from gateway.registry.agents import Agent
from gateway.service.capability_source import thread_of
from gateway.service.gateway import Gateway
from gateway.service.snapshots import find_model
from gateway.web.disconnect import run_until_disconnect
from gateway.web.forward import forward
from gateway.web.routes.capabilities_stream import CapabilityFeedResponse, accepts_feed

NO_STORE = {"cache-control": "no-store"}


async def show(request: Request) -> ASGIApp:
    """Answers at once from what is known. `?probe=1` waits until the agent itself has announced what it can do."""
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    if agent.driver is not None and not agent.driver.is_probed:
        await _probe(gateway, agent, request)
    if accepts_feed(request):
        return _feed(gateway, agent, request)
    if not request.scope["query_string"]:
        current = await gateway.snapshots.take(agent, principal=request.state.principal)
        return answer(request, render("agui", current.entry, agent.definition_in_use))
    if _needs_definition(request) and (response := await forward(request, agent)) is not None:
        return response
    key = _key(gateway, agent, request)
    if key.explain:
        model = None if key.model is None else find_model(agent, key.model)
        return _explain(request, await gateway.snapshots.take(agent, thread_of(key), model, key.principal))
    return answer(request, await gateway.capability_source.render(key))


def _needs_definition(request: Request) -> bool:
    """A model's limits, and views that are made from the agent's definition, are answered by the gateway that has the
    definition. Never for a thread: its id here means nothing there, or another client's thread."""
    query = request.query_params
    return "thread" not in query and ("model" in query or query.get("view") in ("acp", "mux"))


def _feed(gateway: Gateway, agent: Agent, request: Request) -> ASGIApp:
    key = _key(gateway, agent, request)
    if request.method == "HEAD":
        return Response(headers=NO_STORE, media_type=CONTENT_TYPE)
    return CapabilityFeedResponse(gateway, key, request)


def _key(gateway: Gateway, agent: Agent, request: Request) -> Key:
    query = request.query_params
    principal = request.state.principal
    thread, name, view = query.get("thread"), query.get("model"), query.get("view") or "agui"
    return Key(
        agent.definition.id,
        thread,
        None if thread is None and gateway.snapshots.find_home(agent, principal) is None else principal,
        None if name is None else find_model(agent, name).id,
        resolve_view(view, query.get("protocol")),
        explain=view == "agui" and is_true(query.get("explain")),
    )


async def _probe(gateway: Gateway, agent: Agent, request: Request) -> None:
    if is_true(request.query_params.get("probe")):
        request.state.caller.require("run")  # it starts the agent
        if (await agent.probe()).status != "not-installed":  # otherwise its availability is all that there is to say
            await run_until_disconnect(request, partial(gateway.agents.wait_until_probed, agent))
    elif "run" in request.state.caller.scopes:
        gateway.agents.probe_soon(agent)


def is_true(value: str | None) -> bool:
    return value not in (None, "", "0", "false")


def answer(request: Request, rendered: RenderedSnapshot, media_type: str = "application/json") -> Response:
    """The snapshot, or 304 for a client that has it."""
    tag = f'"{rendered.version}"'
    header = request.headers.get("if-none-match")
    if header is not None and (header == "*" or tag in [part.strip().removeprefix("W/") for part in header.split(",")]):
        return Response(status_code=304, headers={"etag": tag, **NO_STORE})
    return Response(rendered.body, headers={"etag": tag, **NO_STORE}, media_type=media_type)


def _explain(request: Request, current: CurrentSnapshot) -> Response:
    """The tag is that of the whole body: the source of a value may change while the value stays."""
    version = current.entry.etag.strip('"')
    body = to_json({"capabilities": current.snapshot.tree(), "explain": current.snapshot.explain(), "version": version})
    return answer(request, RenderedSnapshot(body, etag(body).strip('"')))
