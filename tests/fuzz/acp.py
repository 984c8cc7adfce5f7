"""Target: ACP, over all recorded transcripts. Each process of a transcript is one sample."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import orjson

from gateway.agui.validate import validate
from gateway.events import Event, Interrupt, InterruptRequested, TurnEnded, TurnFailed
from gateway.jsonio import dumps
from gateway.wire.acp.errors import ERROR_TEXTS, agent_fault
from gateway.wire.acp.fast_path import Template, Texts
from gateway.wire.acp.initialize import acp_view, agui_layer, read_handshake
from gateway.wire.acp.permissions import decide_by_policy, permission_result, selected_option_name
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState, session_layer
from gateway.wire.acp.usage import Covers
from gateway.wire.elicitations import elicitation_result
from gateway.wire.fields import items, obj, text
from gateway.wire.jsonrpc import JsonRpc, Notification, Request, Response
from tests.fuzz.answers import check_no_yes, random_answer
from tests.fuzz.target import Sample, Target, batches, check_writable
from tests.wire.acp.replay import NAMES, entries
from tests.wire.dialects.replay import client_runs

COVERS: tuple[Covers, ...] = ("turn", "session")
ALLOWING_KINDS = ("allow_once", "allow_always")


def acp_targets() -> list[Target]:
    samples = [sample for name in NAMES for sample in _samples(name)]
    return [Target("acp/session", samples, check_session), Target("acp/replay", samples, check_replay)]


def _samples(name: str) -> Iterator[Sample]:
    """The agent's lines; the context is the methods of the client's requests, by their number."""
    lines: list[bytes] = []
    methods: list[str] = []
    for entry in [*entries(name), {"note": "ended"}]:
        message = entry.get("msg")
        if entry.get("dir") == "in":
            lines.append(entry["raw"].encode() if "raw" in entry else orjson.dumps(message))
        elif "ended" in entry.get("note", ""):
            if lines:
                yield Sample(name, tuple(lines), tuple(methods))
            lines, methods = [], []
        elif isinstance(message, dict) and "method" in message and isinstance(message.get("id"), int):
            methods += [""] * (message["id"] - len(methods)) + [message["method"]]


def check_session(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """Nothing raises, and every run is a stream that the official client accepts."""
    session = _Session(sample, rng)
    for batch in batches(rng, lines):
        session.read(batch)
    session.end()
    for turn in session.turns:
        for run in client_runs(turn):
            check_writable(run)


def check_replay(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """Updates of a session that is loaded are messages of the history, and no events."""
    reader = SessionReader()
    reader.begin_replay()
    for message in JsonRpc().read(lines):
        if isinstance(message, Notification) and message.method == "session/update":
            params = obj(message.params)
            reader.read(params.get("update"), text(params.get("sessionId")))
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": reader.end_replay()}
    validate(snapshot)
    dumps(snapshot)


class _Session:
    """One session with its turns, without a process."""

    def __init__(self, sample: Sample, rng: Random) -> None:
        self._rng = rng
        self._rpc = JsonRpc()
        for method in sample.context:
            self._rpc.request(method, {})
        self._template = Template()
        state = SessionState(version=rng.choice((1, 1, 2)))
        covers: Covers = rng.choice(COVERS)
        self._reader = SessionReader(state, error_texts=ERROR_TEXTS, usage_covers=covers)
        self._reader.begin_turn("t0")
        self._session_id: str | None = None
        self.turns: list[list[Event]] = [[]]

    def read(self, batch: list[bytes]) -> None:
        for part in self._template.split(list(batch)):
            if isinstance(part, Texts):
                self._add_events(self._reader.read_texts(part.update, part.texts))
                continue
            for message in self._rpc.read(part):
                self._read_message(message)

    def end(self) -> None:
        self._add_events(self._reader.end_turn("cancelled"))
        dumps(session_layer(self._reader.state))

    def _read_message(self, message: Any) -> None:
        match message:
            case Notification("session/update", params):
                self._read_update(obj(params))
            case Request(_, "session/request_permission"):
                self._read_permission(message.id, obj(message.params))
            case Request(_, "elicitation/create"):
                self._read_elicitation(message.id, obj(message.params))
            case Response(_, "initialize", result):
                handshake = read_handshake(result)
                dumps(agui_layer(handshake))
                dumps(acp_view(handshake))
            case Response(_, "session/prompt"):
                self._read_prompt_response(message)
            case Response(_, method, result) if message.error is None and method:
                self._reader.state.read_result(result)
                dumps(session_layer(self._reader.state))
            case Response(_, method) if message.error is not None:
                agent_fault(message.error, method)

    def _read_update(self, params: dict[str, Any]) -> None:
        session_id = text(params.get("sessionId"))
        self._session_id = self._session_id or session_id
        sender = None if session_id == self._session_id else session_id
        self._add_events(self._reader.read_all([params.get("update")], sender))

    def _read_prompt_response(self, response: Response) -> None:
        cancelled = self._rng.random() < 0.1
        if response.error is not None:
            self._add_events(self._reader.fail_turn(response.error, cancelled=cancelled))
            return
        result = obj(response.result)
        reason, usage, meta = result.get("stopReason"), result.get("usage"), result.get("_meta")
        self._add_events(self._reader.end_turn(reason, usage, cancelled=cancelled, meta=meta))

    def _read_permission(self, request_id: Any, params: dict[str, Any]) -> None:
        events, interrupt = self._reader.read_permission(request_id, params, text(params.get("sessionId")))
        self._interrupt(events, interrupt)
        answer, may_allow = random_answer(self._rng, interrupt)
        result = permission_result(params, answer)
        if not may_allow:
            _check_not_allowed(params, result)
        _check_not_allowed(params, decide_by_policy(params, "deny"))
        decide_by_policy(params, "auto")
        self._rpc.result(request_id, result)
        self._reader.set_permission_outcome(params, selected_option_name(params, result))

    def _read_elicitation(self, request_id: Any, params: dict[str, Any]) -> None:
        events, interrupt = self._reader.read_elicitation(request_id, params, text(params.get("sessionId")))
        self._interrupt(events, interrupt)
        answer, _ = random_answer(self._rng, interrupt)
        line = self._rpc.result(request_id, elicitation_result(params, answer))
        if answer.status == "cancelled":
            check_no_yes([line], answer)

    def _interrupt(self, events: list[Event], interrupt: Interrupt) -> None:
        self._add_events([*events, *self._reader.park(), InterruptRequested((interrupt,))])

    def _add_events(self, events: list[Event]) -> None:
        for event in events:
            self.turns[-1].append(event)
            if isinstance(event, TurnEnded | TurnFailed):
                self._reader.begin_turn(f"t{len(self.turns)}")
                self.turns.append([])


def _check_not_allowed(params: dict[str, Any], result: dict[str, Any]) -> None:
    option_id = result["outcome"].get("optionId")
    kinds = [option.get("kind") for option in items(params.get("options")) if option.get("optionId") == option_id]
    assert not kinds or kinds[0] not in ALLOWING_KINDS, f"no clear yes, and yet {option_id!r} was selected"
