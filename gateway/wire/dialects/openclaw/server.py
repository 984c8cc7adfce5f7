"""The WebSocket of `openclaw gateway run`: one connection that serves all sessions.

In: `{"type": "res", "id", "ok", "payload" | "error"}` and `{"type": "event", "event", "payload"}`. Out: events, and
requests. Messages of other sessions (heartbeats, cron, channels) are skipped unread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.capability_paths import MODE, MODEL, MODES, PERMISSION_MODE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.openclaw.errors import error_message, to_fault
from gateway.wire.dialects.openclaw.permissions import RESOLVE_METHODS, RESOLVED_EVENTS, PermissionRequest
from gateway.wire.dialects.openclaw.session_state import read_models
from gateway.wire.dialects.openclaw.sessions import (
    CONNECT_ID,
    PERMISSION_MODES,
    ResponseReader,
    SessionRequests,
    connect_fault,
    connect_request,
)
from gateway.wire.dialects.openclaw.turn_events import TurnEvents
from gateway.wire.dialects.openclaw.turn_lifecycle import TurnLifecycle
from gateway.wire.fields import non_empty, obj, present
from gateway.wire.requests import RequestTable

IGNORED_EVENTS = {
    "chat": "the same text as `agent`, a second time",
    "task": "a row of a task list",
    "session.tool": "tool calls a second time, for clients that watch sessions",
    "session.message": "messages a second time, likewise",
    "session.operation": "a row of a list of operations",
    "sessions.changed": "a list of sessions to be fetched again",
    "chat.metadata.changed": "likewise",
}
"""Events about this session that have no meaning for a client → why."""

NO_MESSAGE = b"\0"
"""Occurs in no message."""


class OpenClaw(Dialect):
    name = "openclaw"
    actions = frozenset(("models", "fork", "set_model", "set_mode", "delete"))
    can_ask = True

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"id": mode} for mode in PERMISSION_MODES]

    def __init__(self) -> None:
        super().__init__()
        self._requests: RequestTable[ResponseReader] = RequestTable()
        self._sessions = SessionRequests(self._call, self._on_open, self._on_lost, self._on_failure)
        self._events = TurnEvents(self.qualify_id)
        self._turns = TurnLifecycle(self, self._call, self._events, self._on_model)
        self._permissions: dict[str, PermissionRequest] = {}
        """Interrupt id → the request that waits for an answer."""
        self._permission_mode: str | None = None
        self._session_marker = NO_MESSAGE
        """The session's key as it stands in every message about it."""
        self._request_marker = NO_MESSAGE
        """The start of this session's request ids."""

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._requests.begin(start.tag)
        self._request_marker = f'"{start.tag}:'.encode()
        self._session_marker = NO_MESSAGE
        self._permission_mode = None
        self._turns.reset()
        self._permissions.clear()
        self.is_ready = False
        if start.params.get("connected") is not True:
            self.send(connect_request(non_empty(start.params.get("token"))))
        self._sessions.open_session(start)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._permissions.clear()
        self._turns.start()
        mode = prompt.mode or self._permission_mode
        if mode in PERMISSION_MODES and mode != self._permission_mode:
            self._patch_session({"permissionMode": mode}, lambda payload, error: self._read_mode_set(mode, error))
        else:
            self._turns.submit()

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        if (request := self._permissions.pop(interrupt_id, None)) is not None:
            self._respond(request, answer)

    def cancel(self) -> bool:
        self.is_cancelled = True
        self._turns.abort()
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        action_id = f"{action}-{self._requests.next_number()}"
        match action:
            case "models":
                self._call("models.list", {}, self._finish(action_id, "models.list", read_models))
            case "fork":
                reader = self._finish(action_id, "sessions.create", lambda payload: payload.get("key"))
                self._sessions.copy_session(self.session_id, reader)
            case "set_model":
                self._patch_session({"model": params.get("model")}, self._finish(action_id, "sessions.patch"))
            case "set_mode":
                self._set_mode(non_empty(params.get("mode")), self._finish(action_id, "sessions.patch"))
            case "delete":
                self.is_ready = False
                self._sessions.delete_session(self.session_id, self._finish(action_id, "sessions.delete"))
        return action_id

    def _finish(
        self, action_id: str, method: str, read: Callable[[dict[str, Any]], Any] = lambda payload: None
    ) -> ResponseReader:
        """A reader that makes a response the result of an action."""

        def read_response(payload: dict[str, Any], error: Any) -> list[Event]:
            fault = to_fault(error, method) if error is not None else None
            self.finish_action(action_id, read(payload) if fault is None else None, fault)
            return []

        return read_response

    # -- requests

    def _call(self, method: str, params: dict[str, Any], reader: ResponseReader) -> None:
        request_id = self._requests.add(reader)
        self.send({"type": "req", "id": request_id, "method": method, "params": params})

    def _patch_session(self, changes: dict[str, Any], reader: ResponseReader) -> None:
        self._call("sessions.patch", {"key": self.session_id, **changes}, reader)

    def _set_mode(self, mode: str | None, reader: ResponseReader) -> None:
        def read_set(payload: dict[str, Any], error: Any) -> list[Event]:
            self._note_mode(mode if error is None else self._permission_mode)
            return reader(payload, error)

        self._patch_session({"permissionMode": mode}, read_set)

    def _read_mode_set(self, mode: str | None, error: Any) -> list[Event]:
        """The mode that the turn needs is set; now the turn is submitted."""
        if error is not None:
            return self._turns.fail(f"the session's mode cannot be {mode}: {error_message(error)}")
        self._note_mode(mode)
        self._turns.submit()
        return []

    def _respond(self, request: PermissionRequest, answer: Answer) -> None:
        """An error means that the answer came too late."""
        self._call(*request.to_response(answer), lambda payload, error: [])

    # -- the session

    def _on_open(self, key: str, entry: dict[str, Any] | None) -> None:
        if entry is not None:
            self._note_mode(non_empty(entry.get("permissionMode")))
        self.session_id = key
        self._session_marker = f'"{key}"'.encode("utf-8", "replace")
        self.is_ready = True

    def _on_lost(self) -> None:
        self.has_lost_history = True

    def _on_failure(self, fault: AgentFault) -> None:
        self.failure = fault

    def _on_model(self, model: str) -> None:
        self.session_layer[MODEL] = model

    def _note_mode(self, mode: str | None) -> None:
        """OpenClaw's modes are about permissions only."""
        self._permission_mode = mode
        self.session_layer |= present({MODE: mode, PERMISSION_MODE: mode}) | {MODES: self.list_modes({})}

    # -- messages

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            if not self._is_for_session(message):
                continue
            parsed = parse_message(message)
            if not isinstance(parsed, dict):
                continue
            if parsed.get("type") == "event":
                events += self._read_event(parsed.get("event"), parsed.get("payload"))
            elif parsed.get("id") == CONNECT_ID:
                self._read_connected(parsed)
            elif parsed.get("type") == "res":
                events += self._read_response(parsed)
        return events

    def _is_for_session(self, message: bytes) -> bool:
        """The response to `connect` and the outcome of permission requests name no session."""
        if self._session_marker in message or self._request_marker in message:
            return True
        return b'"id":"connect"' in message or (bool(self._permissions) and b'.resolved"' in message)

    def _read_connected(self, response: dict[str, Any]) -> None:
        """The response to `connect`, whichever session sent it."""
        fault = connect_fault(response)
        if fault is not None and not self.is_ready:
            self.failure = fault
        server = obj(obj(response.get("payload")).get("server"))
        if (version := non_empty(server.get("version"))) is not None:
            self.handshake_layer["identity.version"] = version

    def _read_response(self, response: dict[str, Any]) -> list[Event]:
        request_id = response.get("id")
        payload = obj(response.get("payload"))
        error = None if response.get("ok") is True else obj(response.get("error"))
        is_last = error is not None or payload.get("status") != "accepted"
        reader = self._requests.pop(request_id) if is_last else self._requests.get(request_id)
        events = [] if reader is None else reader(payload, error)
        if not self.is_busy:
            self._permissions.clear()
        return events

    def _read_event(self, name: Any, value: Any) -> list[Event]:
        if not isinstance(name, str) or not isinstance(value, dict):
            return []
        if name == "agent":
            return self._read_agent(value) if value.get("sessionKey") == self.session_id else []
        if name in RESOLVE_METHODS:
            return self._read_permission(name, value)
        if name in RESOLVED_EVENTS:
            return self._read_resolved(value)
        if name in IGNORED_EVENTS or self.session_id not in (value.get("sessionKey"), value.get("key")):
            return []
        return [self.to_raw({"event": name, "payload": value})]

    def _read_agent(self, payload: dict[str, Any]) -> list[Event]:
        events = self._turns.read_event(payload)
        return [self.to_raw({"event": "agent", "payload": payload})] if events is None else events

    # -- permissions

    def _read_permission(self, event: str, payload: dict[str, Any]) -> list[Event]:
        request_id = non_empty(payload.get("id"))
        if request_id is None:
            return []
        request = PermissionRequest(event, request_id, payload)
        is_of_turn = request.session_key == self.session_id and request.run_id in (None, self._turns.run_id)
        if not is_of_turn or not self.is_busy or self.is_cancelled:
            return []  # the client that started the other run is asked
        answer = request.decide_by_policy(self.turn.approvals)
        if answer is not None:
            self._respond(request, answer)
            return []
        interrupt_id = self.qualify_id(request_id)
        self._permissions[interrupt_id] = request
        tool_call_id = self._events.find_call_id(request.tool_call_id)
        return [*self._events.close_text(), InterruptRequested((request.to_interrupt(interrupt_id, tool_call_id),))]

    def _read_resolved(self, payload: dict[str, Any]) -> list[Event]:
        """The request was answered by another client, or expired."""
        resolved = [key for key, request in self._permissions.items() if request.id == payload.get("id")]
        for interrupt_id in resolved:
            del self._permissions[interrupt_id]
        return [Custom("openclaw.question_withdrawn", {"id": interrupt_id}) for interrupt_id in resolved]
