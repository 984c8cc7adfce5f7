"""Copilot's SDK server (`copilot --headless --stdio`): JSON-RPC both ways, many sessions in one process.

In: messages of the server. Out: events; requests in `outbox`, whose ids begin with the session's tag. The server works
on requests concurrently, so the dialect sends some only after the answer to another: the prompt after the model was
set, an abort after the prompt was accepted (the server ignores an earlier one).

A turn ends with `session.idle`, which waits for work in the background. A `session.idle` that such work of an earlier
turn leaves behind comes before the server has reported the prompt as a message, and is ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from gateway.errors import AgentFault
from gateway.events import Event, TurnFailed, UserMessageAccepted
from gateway.turn import Answer
from gateway.wire.activities import Plans
from gateway.wire.client_tools import by_safe_name
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.copilot.permissions import REQUEST_EVENTS, PendingRequests
from gateway.wire.dialects.copilot.requests import (
    Data,
    ReadResult,
    Requests,
    action_request,
    option_requests,
    read_owner,
)
from gateway.wire.dialects.copilot.session_events import IGNORED_METHODS, SessionEvents
from gateway.wire.dialects.copilot.session_params import is_ignored_attachment, session_params, to_attachments
from gateway.wire.dialects.copilot.session_state import MODES, read_model_state, read_opened_session
from gateway.wire.dialects.copilot.steering import SteeringQueue
from gateway.wire.fields import items, non_empty, obj, present, text
from gateway.wire.jsonrpc import METHOD_NOT_FOUND

TODO_STATUSES = {"done": "completed"}
"""Copilot's status of a todo → ACP's, where they differ."""
ATTACHMENT_IGNORED = "Copilot shows its model images, PDF documents and text; another kind of file it leaves out"
FIRST_EVENTS = frozenset(("user.message", "session.error", "session.warning"))
"""The first event after a prompt: the prompt as a message, or why the server did not take it."""
PROGRESS_EVENTS = FIRST_EVENTS | {"assistant.turn_start", "assistant.idle", "session.idle", "session.todos_changed"}


@dataclass(slots=True)
class TurnProgress:
    """How far the turn is."""

    is_accepted: bool = False
    """The server has answered `session.send`."""
    has_started: bool = False
    """The server has reported the prompt as a message, or an error in its place."""
    is_assistant_idle: bool = False
    is_session_idle: bool = False
    """The turn is over, unless the server continues with steering messages."""
    is_abort_due: bool = False
    """The client cancelled the turn before the server accepted the prompt."""


class CopilotDialect(Dialect):
    name = "copilot"
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True
    skill_scope: ClassVar[Literal["session", "process"] | None] = "session"
    can_ask: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = True
    actions: ClassVar[frozenset[str]] = frozenset(("models", "fork", "set_model", "set_mode", "delete"))

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return list(MODES)

    def __init__(self) -> None:
        super().__init__()
        self._events = SessionEvents(self.qualify_id, self.session_layer, self.handshake_layer)
        self._requests = Requests(self)
        self._pending = PendingRequests(self, self._requests, self._events)
        self._steering = SteeringQueue(self._requests, self._read_steering_answer)
        self._progress = TurnProgress()
        self._plans = Plans("", None)
        self._next_requests: deque[tuple[str, Data, ReadResult]] = deque()
        """Requests of this turn, each sent after the answer to the one before."""
        self._warnings: list[Event] = []
        """Warnings about the prompt, returned by the next `read`."""

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        return read_owner(obj(parse_message(message)))

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events = self._warnings
        self._warnings = []
        for message in messages:
            value = parse_message(message)
            if type(value) is not dict:
                events.append(self.to_raw(message.decode("utf-8", "replace")))
                continue
            params = value.get("params")
            if value.get("method") == "session.event" and type(params) is dict:
                if params.get("sessionId") != self.session_id:
                    continue  # of an earlier session
                event = params.get("event")
                if type(event) is dict and type(kind := event.get("type")) is str:
                    read = self._read_event(kind, event)
                    events += [self.to_raw(value)] if read is None else read
                    continue
            events += self._read_message(value)
        return events

    def _read_message(self, message: Data) -> list[Event]:
        """Every message that is no session event."""
        method = message.get("method")
        if method is None and "id" in message:
            return self._requests.read_answer(message)
        if isinstance(method, str) and method in IGNORED_METHODS:
            return []
        if isinstance(request_id := message.get("id"), str | int):
            error = {"code": METHOD_NOT_FOUND, "message": "this client serves no such method"}
            self.send({"jsonrpc": "2.0", "id": request_id, "error": error})
        return [self.to_raw(message)]

    # -- the session

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.is_ready = False
        self._requests.start_session()
        self._next_requests.clear()
        self._pending.clear()
        self._events.tool_calls.offer({name: tool["name"] for name, tool in by_safe_name(start.tools).items()})
        if start.params.get("connected") is not True:
            self._requests.send("connect", {}, self._read_connected)
        if start.session_id is None:
            self._requests.send("session.create", session_params(start), self._read_opened)
        elif start.fork:
            self._requests.send("sessions.fork", {"sessionId": start.session_id}, self._read_forked)
        else:
            self._resume_session(start.session_id)

    def _read_connected(self, result: Data, fault: AgentFault | None) -> list[Event]:
        self.handshake_layer |= present({"identity.version": non_empty(result.get("version"))})
        return []

    def _read_forked(self, result: Data, fault: AgentFault | None) -> list[Event]:
        session_id = non_empty(result.get("sessionId"))
        if session_id is None:
            self.failure = fault or _no_session_id("forked the session")
        else:
            self._resume_session(session_id)
        return []

    def _resume_session(self, session_id: str) -> None:
        self.session_id = session_id
        params = {**session_params(self.session_start), "sessionId": session_id}
        self._requests.send("session.resume", params, self._read_opened)

    def _read_opened(self, result: Data, fault: AgentFault | None) -> list[Event]:
        session_id = non_empty(result.get("sessionId"))
        if session_id is None:
            self.failure = fault or _no_session_id("opened a session")
            return []
        self.session_id = session_id
        read_opened_session(self.session_layer, result)
        self.is_ready = True
        return []

    def release_session(self) -> None:
        if self.session_id is not None:  # the files of the session stay on disk: it can be resumed
            self._requests.send_to_session("session.destroy", {})

    # -- the turn

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._events.start_turn()
        self._plans = Plans(prompt.id_prefix, None)
        self._progress = TurnProgress()
        self._steering = SteeringQueue(self._requests, self._read_steering_answer)
        attachments = to_attachments(prompt)
        self._warnings = [
            self.make_warning("CONTENT_DROPPED", ATTACHMENT_IGNORED, mimeType=attachment["mimeType"])
            for attachment in attachments
            if is_ignored_attachment(attachment)
        ]
        params = {"prompt": prompt.text} | ({"attachments": attachments} if attachments else {})
        for method, option in option_requests(prompt, self.session_layer):
            self._next_requests.append((method, option, self._read_option))
        self._next_requests.append(("session.send", params, self._read_sent))
        self._send_next()

    def _send_next(self) -> None:
        if self._next_requests:
            self._requests.send_to_session(*self._next_requests.popleft())

    def _read_option(self, result: Data, fault: AgentFault | None) -> list[Event]:
        if fault is not None:
            return self._end_turn(TurnFailed(fault.detail, fault.code))
        read_model_state(self.session_layer, result)
        if self._progress.is_abort_due:
            return self._end_turn()
        self._send_next()
        return []

    def _read_sent(self, result: Data, fault: AgentFault | None) -> list[Event]:
        if fault is not None:
            return self._end_turn(TurnFailed(fault.detail, fault.code))
        self._progress.is_accepted = True
        if self._progress.is_abort_due:
            self._abort()
        return []

    def _read_event(self, kind: str, event: Data) -> list[Event] | None:
        if kind in REQUEST_EVENTS:
            return self._pending.read(kind, event)
        events = self._events.read(kind, event)
        if events is None or "agentId" in event:
            return events
        if kind in PROGRESS_EVENTS:
            events = events + self._read_progress(kind)
        return events + self._read_user_message(obj(event.get("data"))) if kind == "user.message" else events

    def _read_progress(self, kind: str) -> list[Event]:
        if kind == "session.todos_changed":
            self._requests.send_to_session("session.plan.readSqlTodos", {}, self._read_todos)
            return []
        progress = self._progress
        progress.has_started = progress.has_started or kind in FIRST_EVENTS
        progress.is_assistant_idle = kind == "assistant.idle" and progress.has_started
        is_over = kind == "session.idle" or (progress.is_assistant_idle and self.is_cancelled)
        if not is_over or not self.is_busy or not progress.has_started or not progress.is_accepted:
            return []
        progress.is_session_idle = True
        return self._end_turn(self._events.take_error()) if self._steering.is_empty else []

    def _read_todos(self, result: Data, fault: AgentFault | None) -> list[Event]:
        entries = []
        for row in items(result.get("rows")):
            status = text(row.get("status")) or "pending"
            entries.append({"content": text(row.get("title")) or "", "status": TODO_STATUSES.get(status, status)})
        return [] if fault is not None else self._plans.show_entries(entries)

    def _end_turn(self, failure: TurnFailed | None = None) -> list[Event]:
        """A turn that the client cancelled ends as cancelled, whatever the failure."""
        self._next_requests.clear()
        self._steering.close()
        if failure is None or self.is_cancelled:
            return self.end_turn()
        return self.fail_turn(failure)

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        self._pending.answer(interrupt_id, answer)

    # -- steering and cancellation

    def steer(self, message_id: str, text: str) -> bool:
        if self._progress.has_started:
            self._steering.send(UserMessageAccepted(message_id, text))
        return self._progress.has_started

    def _read_user_message(self, data: Data) -> list[Event]:
        message = self._steering.take_arrived(non_empty(data.get("messageId")))
        if message is None:
            return []
        self._progress.is_session_idle = False
        if self.is_cancelled:
            self._abort()  # the first abort came before this message
        return [message]

    def _read_steering_answer(self) -> list[Event]:
        if self._progress.is_session_idle and self._steering.is_empty:
            return self._end_turn(self._events.take_error())
        if self.is_cancelled:
            self._stop()
        return []

    def cancel(self) -> bool:
        self.is_cancelled = True
        if self._progress.is_accepted:
            self._stop()
        else:
            self._progress.is_abort_due = True
        return True

    def _stop(self) -> None:
        if self._steering.withdraw():
            self._abort()

    def _abort(self) -> None:
        self._progress.is_abort_due = False
        self._requests.send_to_session("session.abort", {}, self._read_aborted)

    def _read_aborted(self, result: Data, fault: AgentFault | None) -> list[Event]:
        """An abort does not stop work in the background, which keeps `session.idle` back."""
        return self._end_turn() if self.is_busy and self._progress.is_assistant_idle else []

    # -- actions

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        method, request_params, read_result = action_request(action, params, self.session_id, self.session_layer)

        def read_answer(result: Data, fault: AgentFault | None) -> list[Event]:
            has_failed = fault is not None
            self.action_results[action_id] = ActionResult(None if has_failed else read_result(result), fault)
            return []

        action_id = self._requests.send(method, request_params, read_answer)
        return action_id


def _no_session_id(action: str) -> AgentFault:
    return AgentFault(f"the agent {action} without an id", code="AGENT_PROTOCOL_ERROR")
