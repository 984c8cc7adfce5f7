"""Runs: start one, follow one, stop one."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from gateway.agui import inbound
from gateway.encode.base import Encoder
from gateway.encode.negotiate import default_encoder, negotiate
from gateway.errors import BadInput, Conflict
from gateway.runs.run import Run
from gateway.service.gateway import Gateway
from gateway.turn import HOPS
from gateway.web.event_stream import DisconnectCallback, EventStream
from gateway.web.request_body import read_json_body

MAX_HOPS = 8
"""Gateways that a run may pass."""
MAX_NUMBER_DIGITS = 15
"""Of an event's number: beyond this JavaScript loses digits."""


async def start(request: Request) -> ASGIApp:
    """`POST /agents/{agent}`: one run. A client stops it by closing the connection, unless it asked otherwise."""
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    turn = await read_json_body(request, inbound.read_run_input)
    turn = replace(turn, hops=read_hops(gateway, request))
    run = await gateway.checked_runs.start(agent, turn, request.state.caller)
    return stream_run(gateway, run, request, on_disconnect=turn.options.on_disconnect or "cancel")


def read_hops(gateway: Gateway, request: HTTPConnection) -> tuple[str, ...]:
    """The gateways that the run has passed, this one included. Raises `Conflict` if it was here before."""
    header = request.headers.get(HOPS, "")
    passed = tuple(name.strip() for name in header.split(",") if name.strip())
    if gateway.id in passed or len(passed) >= MAX_HOPS:
        path = " to ".join([*passed, gateway.id])
        raise Conflict(
            f"gateways that are mounted in each other sent this run in a circle: {path}", code="GATEWAY_LOOP"
        )
    return (*passed, gateway.id)


def stream_run(gateway: Gateway, run: Run, request: Request, *, on_disconnect: str) -> EventStream:
    """`on_disconnect`: `cancel` stops the run when the client disconnects before its end."""
    is_legacy = run.turn.protocol_version is None
    stop = _stop_function(gateway, run) if on_disconnect == "cancel" else None
    return EventStream(
        run.log.follow(), choose_encoder(request, is_legacy), gateway.settings, legacy=is_legacy, on_disconnect=stop
    )


def _stop_function(gateway: Gateway, run: Run) -> DisconnectCallback:
    async def stop() -> None:
        await gateway.engine.stop(run)

    return stop


def choose_encoder(request: Request, is_legacy: bool) -> Encoder:
    """A client from before AG-UI 1.0 cannot read half of the events in protobuf."""
    return default_encoder() if is_legacy else negotiate(request.headers.get("accept"))


async def attach(request: Request) -> ASGIApp:
    """`GET /runs/{run}/events`: replays what is above `Last-Event-ID` or `?after=`, then follows to the end."""
    gateway: Gateway = request.app.state.gateway
    after = read_after(request)
    record, reader = await gateway.engine.follow(request.path_params["run"], request.state.principal, after)
    request.state.caller.require_agent(record.agent)
    protocol = request.query_params.get("protocol")
    is_legacy = record.protocol is None if protocol is None else protocol == "0"
    return EventStream(reader, choose_encoder(request, is_legacy), gateway.settings, legacy=is_legacy)


def read_after(request: Request) -> int:
    """The number of the last event that the client has."""
    name = "after"
    text = request.query_params.get(name)
    if text is None:
        name = "Last-Event-ID"
        text = request.headers.get(name) or "0"
    if not text.isascii() or not text.isdigit() or len(text) > MAX_NUMBER_DIGITS:
        raise BadInput(f"{name} is the number of the last event you have, not {text!r}", pointer=f"?{name}")
    return int(text)


async def cancel(request: Request) -> Response:
    """`POST /runs/{run}/cancel`: the run's stream ends with the outcome `cancelled`."""
    gateway: Gateway = request.app.state.gateway
    run_id = request.path_params["run"]
    request.state.caller.require_agent(await gateway.engine.find_agent(run_id, request.state.principal))
    status = await gateway.engine.cancel(run_id, request.state.principal)
    return JSONResponse({"runId": run_id, "status": status}, 202 if status == "cancelling" else 200)
