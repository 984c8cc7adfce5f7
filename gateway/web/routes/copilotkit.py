"""CopilotKit's runtime protocol, so that its React app takes the gateway as `runtimeUrl` with nothing in between.

Its browser client is from before AG-UI 1.0, sends no `protocolVersion`, and stops runs by a request of its own: a
closed connection does not stop a run here, and `connect` brings a reloaded page up to date.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from gateway import __version__
from gateway.agui import inbound
from gateway.agui.outbound import PROTOCOL_VERSION
from gateway.capabilities.views.agui import before_1_0
from gateway.errors import BadRequest, NotFound
from gateway.events import Wire
from gateway.identity import Caller, ThreadKey
from gateway.jsonio import dumps, loads
from gateway.registry.agents import Agent
from gateway.runs.log import Chunk, Reader
from gateway.service.gateway import Gateway
from gateway.turn import Turn
from gateway.web.event_stream import EventStream
from gateway.web.request_body import read_body, read_json_body
from gateway.web.routes.runs import choose_encoder, stream_run

DEFAULT = "default"
"""The id that CopilotKit's components use when the application names none."""
AGENT_PARAM = "agentName"
"""The part of a path that names an agent, or `default`: so it is checked here, not by the route, whether the caller may
use it."""
STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}


async def info(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    caller: Caller = request.state.caller
    allowed = [agent for agent in gateway.agents if agent.definition.is_listed and caller.may_use(agent.definition.id)]
    agents = {agent.definition.id: await _describe(gateway, agent, caller.principal) for agent in allowed}
    if (default := gateway.default_agent()) in agents:
        agents.setdefault(DEFAULT, agents[default])
    return JSONResponse(
        {
            "version": __version__,
            "mode": "sse",
            "audioFileTranscriptionEnabled": False,
            "agents": agents,
            "threadEndpoints": {"list": False, "inspect": False, "mutations": False, "realtimeMetadata": False},
            "a2uiEnabled": False,
            "openGenerativeUIEnabled": False,
            "telemetryDisabled": True,
        }
    )


async def _describe(gateway: Gateway, agent: Agent, principal: str) -> dict[str, Any]:
    tree = before_1_0((await gateway.snapshots.take(agent, principal=principal)).snapshot.tree())
    described = {"name": agent.definition.id, "className": "GatewayAgent", "capabilities": tree}
    if agent.definition.identity.description is not None:
        described["description"] = agent.definition.identity.description
    return described


async def run(request: Request) -> ASGIApp:
    """`POST /copilotkit/agent/{agent}/run`."""
    gateway: Gateway = request.app.state.gateway
    turn = await read_json_body(request, inbound.read_run_input)
    started = await gateway.checked_runs.start(_find_agent(gateway, request), turn, request.state.caller)
    return stream_run(gateway, started, request, on_disconnect=turn.options.on_disconnect or "continue")


async def connect(request: Request) -> ASGIApp:
    """`POST /copilotkit/agent/{agent}/connect`: the thread as it stands, then its live run."""
    gateway: Gateway = request.app.state.gateway
    turn = await read_json_body(request, inbound.read_run_input)
    agent = _find_agent(gateway, request)
    thread = ThreadKey(agent.definition.id, turn.thread_id, request.state.principal)
    reader = await _read_thread(gateway, thread, turn)
    is_legacy = turn.protocol_version is None
    return EventStream(reader, choose_encoder(request, is_legacy), gateway.settings, legacy=is_legacy)


async def _read_thread(gateway: Gateway, thread: ThreadKey, turn: Turn) -> Reader:
    history, live = await gateway.engine.history(thread)
    events: list[Wire] = []
    if history.messages or history.state:
        interrupts = [] if live else await gateway.engine.open_interrupts(thread)
        events = _replay(turn, history.messages, history.state, interrupts)
    return ThreadReader(events, live.log.follow() if live else None)


def _replay(turn: Turn, messages: list[dict[str, Any]], state: Any, interrupts: list[dict[str, Any]]) -> list[Wire]:
    ids = {"threadId": turn.thread_id, "runId": turn.run_id}
    events: list[Wire] = [{"type": "RUN_STARTED", **ids, "protocolVersion": PROTOCOL_VERSION}]
    if state:
        events.append({"type": "STATE_SNAPSHOT", "snapshot": state})
    events.append({"type": "MESSAGES_SNAPSHOT", "messages": messages})
    outcome = {"outcome": {"type": "interrupt", "interrupts": interrupts}} if interrupts else {}
    return [*events, {"type": "RUN_FINISHED", **ids, **outcome}]


class ThreadReader:
    """The events of a thread's past, then those of its live run."""

    def __init__(self, events: list[Wire], live: Reader | None) -> None:
        self._events = events
        self._live = live

    async def next(self) -> list[Chunk]:
        if self._events:
            events, self._events = self._events, []
            return [Chunk(1, [dumps(event) for event in events], events)]
        return await self._live.next() if self._live else []


async def stop(request: Request) -> Response:
    """`POST /copilotkit/agent/{agent}/stop/{thread}`: the run's stream is finished, not cut."""
    gateway: Gateway = request.app.state.gateway
    agent = _find_agent(gateway, request)
    thread = ThreadKey(agent.definition.id, request.path_params["thread"], request.state.principal)
    only_run = await read_body(request, _parse_run_id)
    live = gateway.engine.pending_run(thread)
    if live is None or only_run not in (None, live):
        return JSONResponse({"stopped": False, "message": "no such run is live on this thread"})
    await gateway.engine.cancel(live, thread.principal)
    return JSONResponse({"stopped": True, "interrupt": STOPPED})


def _parse_run_id(body: bytes) -> str | None:
    """A misspelt scope must never stop the whole thread, so any other key is refused."""
    if not body.strip():
        return None
    parsed = loads(body)
    if not isinstance(parsed, dict) or set(parsed) - {"runId"} or not isinstance(parsed.get("runId", ""), str):
        raise BadRequest('the body may be empty or {"runId": "…"}, and nothing else')
    run_id: str | None = parsed.get("runId")
    return run_id


def _find_agent(gateway: Gateway, request: Request) -> Agent:
    caller: Caller = request.state.caller
    name = request.path_params[AGENT_PARAM]
    if name == DEFAULT and DEFAULT not in gateway.agents:
        default = gateway.default_agent()
        if default is None:
            raise NotFound("there is no agent for 'default' to stand for", code="UNKNOWN_AGENT")
        name = default
    caller.require_agent(name)
    return gateway.agents[name]
