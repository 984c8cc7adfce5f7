"""Replays recorded ACP traffic as a driver would: each session through a reader, each run through `Outbound`.

The recorded bytes of the agent go through `Lines` and `JsonRpc`, in any cut. The client's recorded messages open
sessions, begin turns and answer interrupts. An interrupt ends the run and its answer begins the next, so every run is a
stream of its own. Events between turns open the next run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gateway.agui.outbound import Outbound
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.wire.acp.errors import ERROR_TEXTS
from gateway.wire.acp.initialize import Handshake, read_handshake
from gateway.wire.acp.permissions import selected_option_name
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState
from gateway.wire.acp.usage import Covers
from gateway.wire.jsonrpc import JsonRpc, Noise, Notification, Request, Response
from gateway.wire.lines import Lines
from tests import replay

TRANSCRIPTS = replay.TRANSCRIPTS / "acp"
NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in TRANSCRIPTS.glob("*/*.jsonl"))
SESSION_COUNTING_AGENTS = ("copilot-cli", "hermes-agent")
"""Agents whose token counts cover all turns."""
OPENING_METHODS = ("session/new", "session/load", "session/resume", "session/fork")

Cut = Callable[[bytes], Iterator[bytes]]


@dataclass
class SeenUpdate:
    """One `session/update` and what it produced."""

    session_id: str
    update: dict[str, Any]
    events: list[Event]
    has_changed_state: bool
    is_replayed: bool
    is_child: bool
    opening_result: dict[str, Any]
    """The result that last listed the session's options."""


@dataclass
class SessionReplay:
    """One session."""

    reader: SessionReader
    runs: list[list[Wire]] = field(default_factory=list)
    undelivered_events: list[Event] = field(default_factory=list)
    """Events that came while there was no run."""
    prompts: list[int] = field(default_factory=list)
    open_interrupts: set[Any] = field(default_factory=set)
    cancelled: bool = False
    opening_result: dict[str, Any] = field(default_factory=dict)
    outbound: Outbound | None = None
    histories: list[list[dict[str, Any]]] = field(default_factory=list)


class Replay:
    def __init__(self, name: str, cut: Cut = lambda data: iter((data,))) -> None:
        self.agent = name.split("/")[0]
        self._cut = cut
        self.sessions: dict[str, SessionReplay] = {}
        self.handshakes: list[Handshake] = []
        self.seen: list[SeenUpdate] = []
        self.noise: list[Noise] = []
        self._turns = 0
        self._new_process()
        for entry in entries(name):
            self._read_entry(entry)
        self._flush()
        for session in self.sessions.values():
            self._end_session(session)

    # -- the recording

    def _new_process(self) -> None:
        self._rpc, self._lines = JsonRpc(), Lines(100_000_000)
        self._request_params: dict[Any, dict[str, Any]] = {}
        self._unanswered: dict[Any, str] = {}
        self._waiting: dict[Any, tuple[SessionReplay, dict[str, Any]]] = {}
        self._pending = b""
        self._version = 1

    def _read_entry(self, entry: dict[str, Any]) -> None:
        if entry.get("dir") == "in":
            data = entry["raw"].encode() if "raw" in entry else json.dumps(entry["msg"]).encode()
            self._pending += data + b"\n"
            return
        self._flush()
        if "ended" in entry.get("note", ""):
            for session in self.sessions.values():
                self._end_session(session)
            self._new_process()
        elif isinstance(entry.get("msg"), dict):
            self._send(entry["msg"])

    def _flush(self) -> None:
        data, self._pending = self._pending, b""
        for piece in self._cut(data):
            for message in self._rpc.read(self._lines.feed(piece)):
                self._receive(message)

    def _send(self, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        match message:
            case {"method": str(method), "id": int(number)}:
                while True:  # the recorder numbers requests as we do; a broken line may have cost it one
                    own_number, _ = self._rpc.request(method, params)
                    if own_number >= number:
                        break
                self._request_params[number], self._unanswered[number] = params, method
                self._send_request(number, method, params)
            case {"method": "session/cancel"} if params.get("sessionId") in self.sessions:
                self.sessions[params["sessionId"]].cancelled = True
            case {"result": dict(result), "id": number} if number in self._waiting:
                self._answer_interrupt(number, result)

    def _send_request(self, number: int, method: str, params: dict[str, Any]) -> None:
        if method in ("session/load", "session/resume"):
            self._session(params["sessionId"]).reader.begin_replay()
        elif method == "session/prompt" and params.get("sessionId") in self.sessions:
            session = self.sessions[params["sessionId"]]
            session.prompts.append(number)
            if not session.reader.is_in_turn:
                self._begin_turn(session)

    def _receive(self, message: Any) -> None:
        if isinstance(message, Response):
            self._unanswered.pop(message.id, None)
        match message:
            case Notification("session/update", {"sessionId": str(session_id), "update": dict(update)}):
                self._update(session_id, update)
            case Request(number, "session/request_permission" | "elicitation/create" as method, dict(params)):
                self._read_interrupt(number, method, params)
            case Response(int(number), "session/prompt"):
                self._prompt_answered(number, message)
            case Response(int(number), "initialize", dict(result)):
                self.handshakes.append(read_handshake(result))
                self._version = self.handshakes[-1].protocol_version
            case Response(int(number), method) if method in OPENING_METHODS:
                self._open_session(method, self._request_params[number], message)
            case Response(int(number), "session/set_config_option", dict(result)):
                self._read_result(self._session(self._request_params[number]["sessionId"]), result)
            case Noise():
                self.noise.append(message)

    # -- sessions

    def _session(self, session_id: str) -> SessionReplay:
        if session_id not in self.sessions:
            covers: Covers = "session" if self.agent in SESSION_COUNTING_AGENTS else "turn"
            has_changed_state = SessionState(version=self._version)
            self.sessions[session_id] = SessionReplay(
                SessionReader(has_changed_state, error_texts=ERROR_TEXTS, usage_covers=covers)
            )
        return self.sessions[session_id]

    def _open_session(self, method: str, params: dict[str, Any], answer: Response) -> None:
        session_id = (answer.result or {}).get("sessionId") or params.get("sessionId")
        if session_id is None:
            return
        session = self._session(session_id)
        if session.reader.is_replaying:
            session.histories.append(session.reader.end_replay())
        if answer.error is None:
            self._read_result(session, answer.result or {})

    def _read_result(self, session: SessionReplay, result: dict[str, Any]) -> None:
        session.reader.state.read_result(result)
        kept = {key: result[key] for key in ("configOptions", "availableCommands") if key in result}
        session.opening_result = session.opening_result | kept

    def _update(self, session_id: str, update: dict[str, Any]) -> None:
        parent = next((session for session in self.sessions.values() if session.reader.owns(session_id)), None)
        if parent is None and session_id not in self.sessions and "session/fork" in self._unanswered.values():
            self._session(session_id).reader.begin_replay()  # opencode replays a fork's past before its answer
        session = parent or self._session(session_id)
        before, replaying = deepcopy(session.reader.state), session.reader.is_replaying
        events = session.reader.read(update, session_id)
        changed = session.reader.state != before
        self.seen.append(
            SeenUpdate(session_id, update, events, changed, replaying, parent is not None, session.opening_result)
        )
        self._deliver(session, events)
        if any(isinstance(event, TurnEnded | TurnFailed) for event in events):  # version 2: the turn ends by an update
            session.prompts.pop(0)
            self._end_turn(session)

    # -- turns

    def _begin_turn(self, session: SessionReplay) -> None:
        self._turns += 1
        session.cancelled = False
        session.reader.begin_turn(f"t{self._turns}")
        self._begin_run(session)

    def _begin_run(self, session: SessionReplay) -> None:
        number = sum(len(known.runs) for known in self.sessions.values()) + 1
        session.outbound = Outbound("thread", f"run{number}", f"r{number}", merging=False)
        session.runs.append(session.outbound.started())
        undelivered, session.undelivered_events = session.undelivered_events, []
        session.runs[-1] += session.outbound.feed(undelivered)

    def _deliver(self, session: SessionReplay, events: list[Event]) -> None:
        if session.outbound is None:
            session.undelivered_events += events
        else:
            session.runs[-1] += session.outbound.feed(events)

    def _prompt_answered(self, number: int, answer: Response) -> None:
        session = next((session for session in self.sessions.values() if number in session.prompts), None)
        result = answer.result or {}
        if session is None or (answer.error is None and "stopReason" not in result):
            return  # of an unknown session; or version 2, where updates end the turn
        session.prompts.remove(number)
        reader = session.reader
        if answer.error is not None:
            self._deliver(session, reader.fail_turn(answer.error, cancelled=session.cancelled))
        else:
            end = (result["stopReason"], result.get("usage"))
            self._deliver(session, reader.end_turn(*end, cancelled=session.cancelled, meta=result.get("_meta")))
        self._end_turn(session)

    def _end_turn(self, session: SessionReplay) -> None:
        if session.outbound is not None:
            session.runs[-1] += _run_end(session.outbound)
        session.outbound = None
        if session.prompts:
            self._begin_turn(session)  # another prompt waits in the same session

    def _end_session(self, session: SessionReplay) -> None:
        """The process has ended. A turn that never ended is cancelled; events without a run make a last one."""
        if session.reader.is_in_turn:
            self._deliver(session, session.reader.end_turn("cancelled"))
        elif session.undelivered_events:
            self._begin_run(session)
        if session.outbound is not None:
            session.runs[-1] += _run_end(session.outbound)
        session.outbound, session.prompts = None, []

    # -- questions

    def _read_interrupt(self, number: Any, method: str, params: dict[str, Any]) -> None:
        session_id = params["sessionId"]
        parent = next((session for session in self.sessions.values() if session.reader.owns(session_id)), None)
        session = parent or self._session(session_id)
        ask = (
            session.reader.read_permission
            if method == "session/request_permission"
            else session.reader.read_elicitation
        )
        events, interrupt_event = ask(number, params)
        self._deliver(session, [*events, *session.reader.park(), InterruptRequested((interrupt_event,))])
        self._waiting[number] = (session, params)
        session.open_interrupts.add(number)
        if session.outbound is not None:
            session.runs[-1] += session.outbound.finished(
                [interrupt(requested) for requested in session.outbound.open_interrupts]
            )
            session.outbound = None

    def _answer_interrupt(self, number: Any, result: dict[str, Any]) -> None:
        session, params = self._waiting.pop(number)
        session.open_interrupts.discard(number)
        if "outcome" in result:
            session.reader.set_permission_outcome(params, selected_option_name(params, result))
        if session.outbound is None and not session.open_interrupts:
            self._begin_run(session)


def interrupt(interrupt_event: Interrupt) -> dict[str, Any]:
    """AG-UI's object, without the time."""
    fields = {
        "id": interrupt_event.id,
        "reason": interrupt_event.reason,
        "message": interrupt_event.message,
        "toolCallId": interrupt_event.tool_call_id,
        "responseSchema": interrupt_event.response_schema,
        "metadata": interrupt_event.metadata,
        "subagentRunId": interrupt_event.subagent,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _run_end(outbound: Outbound) -> list[Wire]:
    match outbound.ended:
        case TurnEnded(stop_reason="cancelled"):
            return outbound.finished(cancelled=True)
        case None | TurnEnded():
            return outbound.finished()
        case broke:
            return outbound.failed(broke.message, broke.code)


@cache
def lines(name: str) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(line for line in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if line)


def entries(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(name)]


@cache
def played(name: str) -> Replay:
    """Whole, once per worker."""
    return Replay(name)
