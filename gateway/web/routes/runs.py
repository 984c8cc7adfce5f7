"""Runs: start one, follow one, stop one."""

from __future__ import annotations

import os
from dataclasses import replace

from anyio import to_thread
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from gateway.agui import inbound
from gateway.capabilities.check import check_turn
from gateway.capabilities.model_choice import choose_model
from gateway.drivers.probe import find
from gateway.encode.base import Encoder
from gateway.encode.negotiate import default_encoder, negotiate
from gateway.errors import BadInput, Conflict, Refused
from gateway.registry.agents import Agent
from gateway.runs.run import Run
from gateway.service.gateway import Gateway
from gateway.turn import HOPS, Turn
from gateway.web.event_stream import DisconnectCallback, EventStream
from gateway.web.request_body import read_json_body

MOST_HOPS = 8
"""Gateways that a run may come through."""


async def start(request: Request) -> ASGIApp:
    """`POST /agents/{agent}`: one run. Closing the connection is the client's stop, unless it asked otherwise."""
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    turn = replace(inbound.read_run_input(await read_json_body(request, gateway.settings)), hops=hops(gateway, request))
    run = await begin(gateway, agent, turn, request.state.principal)
    leave = turn.options.on_disconnect or "cancel"
    return stream_run(gateway, run, request, on_disconnect=stopper(gateway, run) if leave == "cancel" else None)


def hops(gateway: Gateway, request: HTTPConnection) -> tuple[str, ...]:
    """The gateways that the run has come through, with this one. Raises `Conflict` if it was here before."""
    told = request.headers.get(HOPS, "")
    before = tuple(name.strip() for name in told.split(",") if name.strip())
    if gateway.id in before or len(before) >= MOST_HOPS:
        way = " to ".join([*before, gateway.id])
        raise Conflict(f"gateways that are mounted in each other sent this run in a circle: {way}", code="GATEWAY_LOOP")
    return (*before, gateway.id)


async def begin(gateway: Gateway, agent: Agent, turn: Turn, principal: str) -> Run:
    turn = turn if turn.hops else replace(turn, hops=(gateway.id,))
    with agent.held():  # it may be replaced meanwhile
        return await gateway.engine.start(agent, await checked(gateway, agent, turn, principal), principal)


async def checked(gateway: Gateway, agent: Agent, turn: Turn, principal: str) -> Turn:
    """The turn as the agent can carry it out. Whatever is asked of an agent, by whichever route, comes through here.
    Raises `NotCapable`, with who said so and what to do."""
    await _there(agent)
    if turn.options.strict and agent.driver is not None and not agent.driver.probed:
        await agent.driver.probe()  # to be strict about what it can do, it must have said so
    turn, model = choose_model(turn, agent.definition, agent.models)
    current = await gateway.snapshots.of(agent, model, gateway.session_layer(agent, turn.thread_id, principal))
    return check_turn(turn, current.snapshot, agent.definition, current.model)


async def _there(agent: Agent) -> None:
    """One whose program is nowhere is refused before anything begins, with the way to get it. Seen ready once, it is
    believed: a run of it costs no look."""
    definition = agent.definition
    if definition.command is None or (agent.seen is not None and agent.seen.status != "not-installed"):
        return
    if await to_thread.run_sync(find, definition, os.environ) is not None:
        return
    found = await agent.look()
    if found.status != "not-installed":
        return
    mend = f"Install it: {found.hint}" if found.hint else "Install it, or mend its definition"
    detail = f"{definition.id!r} cannot run here: {found.reason}, said by the probe. {mend}"
    raise Refused(detail, code="AGENT_NOT_INSTALLED", source="probe", availability=found.to_json())


def stopper(gateway: Gateway, run: Run) -> DisconnectCallback:
    async def stop() -> None:
        await gateway.engine.stop(run)

    return stop


def stream_run(gateway: Gateway, run: Run, request: Request, on_disconnect: DisconnectCallback | None) -> EventStream:
    legacy = run.turn.protocol_version is None
    return EventStream(
        run.log.follow(), choose(request, legacy), gateway.settings, legacy=legacy, on_disconnect=on_disconnect
    )


def choose(request: Request, legacy: bool) -> Encoder:
    """A client from before AG-UI 1.0 gets the default: the binary format lacks half of the events that it reads."""
    return default_encoder() if legacy else negotiate(request.headers.get("accept"))


async def attach(request: Request) -> ASGIApp:
    """`GET /runs/{run}/events`: replays what is above `Last-Event-ID` or `?after=`, then follows to the end."""
    gateway: Gateway = request.app.state.gateway
    after = after_number(request)
    record, reader = await gateway.engine.follow(request.path_params["run"], request.state.principal, after)
    legacy = request.query_params["protocol"] == "0" if "protocol" in request.query_params else record.protocol is None
    return EventStream(reader, choose(request, legacy), gateway.settings, legacy=legacy)


def after_number(request: Request) -> int:
    """Of the last event that a reader has."""
    name, text = "after", request.query_params.get("after")
    if text is None:
        name, text = "Last-Event-ID", request.headers.get("last-event-id") or "0"
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise BadInput(f"{name} is the number of the last event you have, not {text!r}", pointer=f"?{name}")
    return int(text)


async def cancel(request: Request) -> Response:
    """`POST /runs/{run}/cancel`: the run's stream ends with the outcome `cancelled`."""
    gateway: Gateway = request.app.state.gateway
    run_id = request.path_params["run"]
    status = await gateway.engine.cancel(run_id, request.state.principal)
    return JSONResponse({"runId": run_id, "status": status}, 202 if status == "cancelling" else 200)
