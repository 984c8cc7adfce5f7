"""`hermes serve`: JSON-RPC over one WebSocket that serves all sessions; over stdio the same, one message a line.

In: responses to the gateway's requests, and `{"method": "event", "params": {"type", "session_id", "payload"}}`. Out:
events and requests. Every connection gets the messages of every session; those of other sessions are skipped unread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.capability_paths import TITLE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, InterruptRequested, UserMessageAccepted
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.hermes.errors import to_fault
from gateway.wire.dialects.hermes.permissions import (
    PermissionRequest,
    PermissionRequests,
    decide_by_policy,
    to_interrupt,
)
from gateway.wire.dialects.hermes.session_state import read_session_info
from gateway.wire.dialects.hermes.sessions import OpenSession, ResponseReader, SessionRequests
from gateway.wire.dialects.hermes.steering import SteeringQueue
from gateway.wire.dialects.hermes.turn_events import TurnEvents
from gateway.wire.dialects.hermes.turn_lifecycle import TurnLifecycle
from gateway.wire.dialects.hermes.turn_setup import SessionSettings, TurnSetup
from gateway.wire.dialects.hermes.usage import UsageTotals
from gateway.wire.fields import non_empty, obj, text
from gateway.wire.requests import RequestTable

Payload = dict[str, Any]

IGNORED_EVENTS = {
    "gateway.ready": "the greeting, with colours for a terminal",
    "thinking.delta": "the text of a spinner, not reasoning",
    "reasoning.available": "reasoning again, or the answer again where there was none",
    "tool.generating": "a call that has no id yet",
    "notification.clear": "a notice that is no longer shown",
    "reaction": "hearts",
    "agent.terminal.output": "output of background processes; the call that reads them has it",
    "terminal.close": "likewise",
    "subagent.thinking": "the text of a spinner, or the answer that `subagent.complete` has whole",
    "subagent.progress": "names of calls that were reported one by one before",
    "sudo.expire": "Hermes went on without the answer",
    "secret.expire": "likewise",
}
"""Events without meaning for a client → why."""

CUSTOM_EVENTS = {
    "status.update": "hermes.status",
    "notification.show": "hermes.notice",
    "tool.output_risk": "hermes.tool_output_risk",
    "moa.reference": "hermes.reference",
    "moa.aggregating": "hermes.aggregating",
    "review.summary": "hermes.review",
    "background.complete": "hermes.background",
}
"""Events that AG-UI has no event for → the name of the CUSTOM event."""

SUBAGENT_FIELDS = ("subagent_id", "parent_id", "goal", "tool_name", "tool_preview", "text", "status", "summary")
"""Fields of a subagent's event that go into its CUSTOM event."""

NO_MESSAGE = b"\0"
"""Occurs in no message."""

EVENTS_OF_SKIPPED_TURN = ("message.start", "message.complete", "session.info")


class Hermes(Dialect):
    name = "hermes"
    actions = frozenset(("models", "fork", "set_model", "delete"))
    can_ask = True
    can_steer = True
    can_use_skills = True

    def __init__(self) -> None:
        super().__init__()
        self._requests: RequestTable[ResponseReader] = RequestTable()
        self._sessions = SessionRequests(self._call, self._on_open, self._on_ready, self._on_failure)
        self._settings = SessionSettings(self._call_session)
        self._setup = TurnSetup(self, self._call_session, self._settings)
        self._permissions = PermissionRequests(self._respond)
        self._events = TurnEvents(self.qualify_id)
        self._turns = TurnLifecycle(self, self._call_session, self._setup, self._events, self._permissions)
        self._steering = SteeringQueue(self._call_session)
        self._usage = UsageTotals()
        self._live_id = ""
        self._session_marker = NO_MESSAGE
        """The live id as it stands in every message about this session."""
        self._request_marker = NO_MESSAGE
        """The start of this session's request ids."""

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._requests.begin(start.tag)
        self._request_marker = f'"{start.tag}:'.encode()
        self._session_marker = NO_MESSAGE
        self._live_id = ""
        self._setup.clear()
        self._turns.reset(is_running=False)
        self.is_ready = False
        self._sessions.open_session(start)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._steering.begin_turn()
        self._turns.start(prompt)

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        self._permissions.answer(interrupt_id, answer)

    def steer(self, message_id: str, text: str) -> bool:
        if not text.strip() or not self._turns.can_ask_user or not self._events.has_open_calls:
            return False
        self._steering.send(UserMessageAccepted(message_id, text))
        return True

    def cancel(self) -> bool:
        self.is_cancelled = True
        self._turns.interrupt()
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        action_id = f"{action}-{self._requests.next_number()}"
        match action:
            case "models":
                self._settings.list_models(lambda models, fault: self.finish_action(action_id, models, fault))
            case "fork":
                reader = self._finish(action_id, "session.branch", lambda result: obj(result).get("session_key"))
                self._sessions.copy_session(self._live_id, reader)
            case "set_model":
                model = text(params.get("model")) or ""
                self._settings.set_model(model, self._finish(action_id, "config.set", lambda result: result))
            case "delete":
                self.is_ready = False
                reader = self._finish(action_id, "session.delete", lambda result: None)
                self._sessions.delete_session(self._live_id, self.session_id, reader)
        return action_id

    def _finish(self, action_id: str, method: str, read: Callable[[Any], Any]) -> ResponseReader:
        """A reader that makes a response the result of an action."""

        def read_response(result: Any, error: Any) -> list[Event]:
            fault = to_fault(error, method) if error is not None else None
            self.finish_action(action_id, read(result) if fault is None else None, fault)
            return []

        return read_response

    # -- requests

    def _call(self, method: str, params: dict[str, Any], reader: ResponseReader) -> None:
        request_id = self._requests.add(reader)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def _call_session(self, method: str, params: dict[str, Any], reader: ResponseReader) -> None:
        self._call(method, {"session_id": self._live_id, **params}, reader)

    def _respond(self, method: str, params: dict[str, Any]) -> None:
        """Answer a request of Hermes'. An error means that the answer came too late."""
        self._call_session(method, params, lambda result, error: [])

    # -- the session

    def _on_open(self, session: OpenSession) -> None:
        self._live_id = session.live_id
        self._session_marker = f'"{session.live_id}"'.encode("utf-8", "replace")
        self.session_id = session.stored_id
        self.has_lost_history = session.is_replacement
        self.session_layer |= read_session_info(session.info)
        self._usage.start(session.usage)
        self._turns.reset(is_running=session.is_running)

    def _on_ready(self) -> None:
        self.is_ready = True

    def _on_failure(self, fault: AgentFault) -> None:
        self.failure = fault

    # -- messages

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            if self._session_marker not in message and self._request_marker not in message:
                continue
            parsed = parse_message(message)
            if not isinstance(parsed, dict):
                continue
            params = parsed.get("params")
            if not isinstance(params, dict):
                events += self._read_response(parsed)
            elif params.get("session_id") == self._live_id:
                events += self._read_event(params.get("type"), params.get("payload"))
        return events

    def _read_response(self, response: dict[str, Any]) -> list[Event]:
        reader = self._requests.pop(response.get("id"))
        return [] if reader is None else reader(response.get("result"), response.get("error"))

    def _read_event(self, kind: Any, value: Any) -> list[Event]:
        payload = obj(value)
        if not isinstance(kind, str):
            return [self.to_raw({"type": kind, "payload": value})]
        if self._turns.is_skipping_turn and kind not in EVENTS_OF_SKIPPED_TURN:
            return []
        if (reader := READERS.get(kind)) is not None:
            events = reader(self, payload)
            return [self.to_raw({"type": kind, "payload": value})] if events is None else events
        if kind in IGNORED_EVENTS:
            return []
        if kind in CUSTOM_EVENTS:
            return [Custom(CUSTOM_EVENTS[kind], payload)]
        if kind.startswith("subagent."):
            return self._read_subagent(kind, payload)
        return [self.to_raw({"type": kind, "payload": value})]

    def _read_subagent(self, kind: str, payload: Payload) -> list[Event]:
        """A subagent in the background may outlive the turn: its end is then a CUSTOM event."""
        events = self._events.read_subagent(kind.removeprefix("subagent."), payload) if self.is_busy else None
        if events is not None:
            return events
        fields = {key: payload[key] for key in SUBAGENT_FIELDS if key in payload}
        return [Custom("hermes.subagent", {"type": kind, **fields})]

    def _read_title(self, payload: Payload) -> list[Event] | None:
        title = non_empty(payload.get("title"))
        if title is None:
            return None
        self.session_layer[TITLE] = title
        return [Custom("session.info", {"title": title})]

    def _read_permission(self, kind: str, payload: Payload) -> list[Event]:
        """Outside a turn of the user's there is no user to ask: everything is denied."""
        request = PermissionRequest(kind, payload)
        interrupt_id = self.qualify_id(self._permissions.next_id())
        self._permissions.add(interrupt_id, request)
        events, tool_call_id = self._events.show_call(request)
        answer = decide_by_policy(request, self.turn.approvals if self._turns.can_ask_user else "deny")
        if answer is not None:
            self._permissions.answer(interrupt_id, answer)
            return events
        interrupt = to_interrupt(interrupt_id, request, tool_call_id, self.session_start.params)
        return [*events, InterruptRequested((interrupt,))]

    def _read_call_end(self, payload: Payload) -> list[Event] | None:
        events = self._events.read_call_end(payload)
        if events is None or self._events.has_open_calls:
            return events
        return [*events, *self._steering.take_accepted()]

    def _read_terminal_request(self, payload: Payload) -> list[Event]:
        """Hermes asks for the text of a desktop's terminal. There is none."""
        params = {"request_id": non_empty(payload.get("request_id")), "text": ""}
        self._call("terminal.read.respond", params, lambda result, error: [])
        return []

    def _read_complete(self, payload: Payload) -> list[Event]:
        usage = self._usage.read_turn(payload.get("usage"), self._settings.provider)
        return [*([] if usage is None else [usage]), *self._turns.read_complete(payload)]

    def _read_info(self, payload: Payload) -> list[Event]:
        self.session_layer |= read_session_info(payload)
        self._settings.note_provider(payload.get("provider"))
        self._settings.has_agent = True
        if (version := non_empty(payload.get("version"))) is not None:
            self.handshake_layer["identity.version"] = version
        if (stored_id := non_empty(payload.get("stored_session_id"))) is not None:
            self.session_id = stored_id  # after a compaction the session goes on under a new id
        return self._turns.read_idle() if payload.get("running") is False else []


Reader = Callable[[Hermes, Payload], list[Event] | None]

READERS: dict[str, Reader] = {
    "message.delta": lambda hermes, payload: hermes._events.read_text(payload),
    "reasoning.delta": lambda hermes, payload: hermes._events.read_reasoning(payload),
    "message.start": lambda hermes, payload: hermes._turns.read_start(payload),
    "message.interim": lambda hermes, payload: hermes._events.read_interim(payload),
    "message.complete": Hermes._read_complete,
    "tool.start": lambda hermes, payload: hermes._events.read_call_start(payload),
    "tool.complete": Hermes._read_call_end,
    "approval.request": lambda hermes, payload: hermes._read_permission("approval", payload),
    "clarify.request": lambda hermes, payload: hermes._read_permission("clarify", payload),
    "sudo.request": lambda hermes, payload: hermes._read_permission("sudo", payload),
    "secret.request": lambda hermes, payload: hermes._read_permission("secret", payload),
    "terminal.read.request": Hermes._read_terminal_request,
    "session.info": Hermes._read_info,
    "session.title": Hermes._read_title,
    "error": lambda hermes, payload: hermes._turns.read_error(payload),
}
"""Event → its reader; None from it: a payload that cannot be read."""
