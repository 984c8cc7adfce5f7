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
from itertools import count
from typing import Any

from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed, Wire
from gateway.wire.acp.errors import ERROR_TEXTS
from gateway.wire.acp.initialize import Handshake, read_handshake
from gateway.wire.acp.permissions import selected_option_name
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState
from gateway.wire.acp.usage import Covers
from gateway.wire.jsonrpc import JsonRpc, Noise, Notification, Request, Response
from gateway.wire.lines import Lines
from tests import replay
from tests.replay.runs import Runs

TRANSCRIPTS = replay.TRANSCRIPTS / "acp"
NAMES = sorted(f"{path.parent.name}/{path.stem}" for path in TRANSCRIPTS.glob("*/*.jsonl"))
SESSION_COUNTING_AGENTS = ("copilot-cli", "hermes-agent")
"""Agents whose token counts cover all turns."""
OPENING_METHODS = ("session/new", "session/load", "session/resume", "session/fork")

Cut = Callable[[bytes], Iterator[bytes]]


@dataclass
class ReplayedUpdate:
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
    client: Runs
    """What a client sees."""
    prompts: list[int] = field(default_factory=list)
    open_interrupts: set[Any] = field(default_factory=set)
    cancelled: bool = False
    opening_result: dict[str, Any] = field(default_factory=dict)
    histories: list[list[dict[str, Any]]] = field(default_factory=list)

    @property
    def runs(self) -> list[list[Wire]]:
        return self.client.streams


class Replay:
    def __init__(self, name: str, cut: Cut = lambda data: iter((data,))) -> None:
        self.agent = name.split("/")[0]
        self._cut = cut
        self.sessions: dict[str, SessionReplay] = {}
        self.handshakes: list[Handshake] = []
        self.updates: list[ReplayedUpdate] = []
        self.noise: list[Noise] = []
        self._turns = 0
        self._run_numbers = count(1)
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
            state = SessionState(version=self._version)
            reader = SessionReader(state, error_texts=ERROR_TEXTS, usage_covers=covers)
            # Requests of the agent that come together are answered one by one, so each ends a run.
            self.sessions[session_id] = SessionReplay(reader, Runs(numbers=self._run_numbers))
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
        self.updates.append(
            ReplayedUpdate(session_id, update, events, changed, replaying, parent is not None, session.opening_result)
        )
        session.client.add(events)
        if any(isinstance(event, TurnEnded | TurnFailed) for event in events):  # version 2: the turn ends by an update
            session.prompts.pop(0)
            self._end_turn(session)

    # -- turns

    def _begin_turn(self, session: SessionReplay) -> None:
        self._turns += 1
        session.cancelled = False
        session.reader.begin_turn(f"t{self._turns}")
        session.client.start()

    def _prompt_answered(self, number: int, answer: Response) -> None:
        session = next((session for session in self.sessions.values() if number in session.prompts), None)
        result = answer.result or {}
        if session is None or (answer.error is None and "stopReason" not in result):
            return  # of an unknown session; or version 2, where updates end the turn
        session.prompts.remove(number)
        reader = session.reader
        if answer.error is not None:
            session.client.add(reader.fail_turn(answer.error, cancelled=session.cancelled))
        else:
            end = (result["stopReason"], result.get("usage"))
            session.client.add(reader.end_turn(*end, cancelled=session.cancelled, meta=result.get("_meta")))
        self._end_turn(session)

    def _end_turn(self, session: SessionReplay) -> None:
        session.client.end()
        if session.prompts:
            self._begin_turn(session)  # another prompt waits in the same session

    def _end_session(self, session: SessionReplay) -> None:
        """The process has ended. A turn that never ended is cancelled; events without a run make a last one."""
        if session.reader.is_in_turn:
            session.client.add(session.reader.end_turn("cancelled"))
        session.client.close()
        session.prompts = []

    # -- interrupts

    def _read_interrupt(self, number: Any, method: str, params: dict[str, Any]) -> None:
        session_id = params["sessionId"]
        parent = next((session for session in self.sessions.values() if session.reader.owns(session_id)), None)
        session = parent or self._session(session_id)
        ask = (
            session.reader.read_permission
            if method == "session/request_permission"
            else session.reader.read_elicitation
        )
        events, interrupt = ask(number, params)
        self._waiting[number] = (session, params)
        session.open_interrupts.add(number)
        session.client.add([*events, *session.reader.park(), InterruptRequested((interrupt,))])

    def _answer_interrupt(self, number: Any, result: dict[str, Any]) -> None:
        session, params = self._waiting.pop(number)
        session.open_interrupts.discard(number)
        if "outcome" in result:
            session.reader.set_permission_outcome(params, selected_option_name(params, result))
        if not session.open_interrupts:
            session.client.start()


@cache
def lines(name: str) -> tuple[bytes, ...]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return tuple(line for line in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if line)


def entries(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(name)]


@cache
def replay_transcript(name: str) -> Replay:
    """The whole transcript, replayed once per worker."""
    return Replay(name)
