"""What opencode asks the user ↔ AG-UI interrupts and answers.

In: `permission.asked` and `question.asked`, and the user's answer or the run's policy. Out: interrupts, and the HTTP
calls that reply. An answer that is not a clear yes is never sent as one. An interrupt about a tool call waits until the
call's arguments are known: it ends the run, and the client must see what the interrupt is about.

A refusal carries a message for the model; without one opencode ends the turn. With a refusal opencode also refuses
everything else that the session waits for, and ends the turn if there was anything: so refusals are sent last, when
everything else is answered and confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ONCE, Approval, Decision, Option
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.opencode.errors import to_agent_fault
from gateway.wire.dialects.opencode.parts import ToolPart
from gateway.wire.dialects.opencode.requests import HttpCalls, escape_segment, session_path
from gateway.wire.dialects.opencode.subagents import TurnSession, TurnSessions
from gateway.wire.fields import if_small, items, non_empty, obj, present, strings, text

Reply = tuple[str, dict[str, Any] | None]
"""The path and the body of a POST."""

REFUSAL_MESSAGE = "The user refused this."
MAX_METADATA_CHARS = 200_000
FEEDBACK_SCHEMA = {"type": "string", "title": "Feedback", "description": "Sent to the agent with a refusal."}


@dataclass(slots=True)
class PendingPermission:
    """A permission or a question that opencode waits for."""

    interrupt_id: str
    request_id: str
    request: dict[str, Any]
    is_permission: bool
    session: TurnSession
    tool: ToolPart | None
    is_sent: bool = False
    """The client has the interrupt."""

    @property
    def needs_arguments(self) -> bool:
        return not self.is_sent and self.tool is not None and not self.tool.is_ended

    def to_interrupt(self) -> Interrupt:
        interrupt = permission_interrupt(self.request) if self.is_permission else question_interrupt(self.request)
        interrupt = replace(interrupt, id=self.interrupt_id, subagent=self.session.subagent)
        if self.tool is None:
            return interrupt
        reason = "tool_call" if self.is_permission else interrupt.reason
        return replace(interrupt, reason=reason, tool_call_id=self.tool.id)

    def to_reply(self, answer: Answer) -> Reply:
        if self.is_permission:
            return permission_reply(self.request_id, permission_approval(self.request).decide(answer))
        return question_reply(self.request_id, self.request, answer)


class PendingPermissions:
    """The permissions and questions of one turn, from request to reply."""

    def __init__(self, dialect: Dialect, calls: HttpCalls, sessions: TurnSessions) -> None:
        self._dialect = dialect
        self._calls = calls
        self._sessions = sessions
        self.clear()

    def clear(self) -> None:
        self._open: dict[str, PendingPermission] = {}
        self._request_ids: set[str] = set()
        """All requests of the turn: the server reports some twice."""
        self._ready: list[PendingPermission] = []
        """The interrupts that the next `take_interrupts` returns."""
        self._unconfirmed: set[str] = set()
        """Approvals that the server has not confirmed, by interrupt id."""
        self._refusals: list[Reply] = []

    # -- requests

    def add(self, session: TurnSession, request: dict[str, Any], *, is_permission: bool) -> list[Event] | None:
        """None: the request has no id."""
        request_id = non_empty(request.get("id"))
        if request_id is None:
            return None
        if request_id in self._request_ids:
            return []
        self._request_ids.add(request_id)
        decision = permission_approval(request).decide_by_policy(self._dialect.turn.approvals)
        if decision is not None:
            reply = permission_reply(request_id, decision) if is_permission else dismissal(request_id)
            self._calls.send("POST", *reply, self._read_confirmation)
            return session.start()
        source = obj(request.get("tool"))
        message_id = text(source.get("messageID")) or ""
        tool = session.parts.find_tool(message_id, source.get("callID"))
        interrupt_id = self._dialect.qualify_id(request_id)
        pending = PendingPermission(interrupt_id, request_id, request, is_permission, session, tool)
        self._open[interrupt_id] = pending
        if pending.needs_arguments:  # a later event has them; in case none comes, the gateway asks the server
            path = session_path(session.session_id, f"/message/{escape_segment(message_id)}")
            self._calls.send("GET", path, None, partial(self._read_message, self._dialect.turn.id_prefix, pending))
        self.release()
        return session.start()

    def release(self, tool: ToolPart | None = None) -> None:
        """Make ready every interrupt whose arguments are known, and those about `tool`."""
        for pending in self._open.values():
            if not pending.is_sent and (not pending.needs_arguments or pending.tool is tool):
                pending.is_sent = True
                self._ready.append(pending)

    def _read_message(self, turn_key: str, pending: PendingPermission, answer: dict[str, Any]) -> list[Event]:
        """The message with the tool call, as the server has it: a source of the arguments."""
        tool = pending.tool
        if pending.is_sent or tool is None or turn_key != self._dialect.turn.id_prefix or not self._dialect.is_busy:
            return []
        parts = pending.session.parts
        arguments: dict[str, Any] = {}
        for part in items(obj(answer.get("body")).get("parts")):
            if parts.find_tool(part.get("messageID"), part.get("callID")) is tool:
                arguments = obj(obj(part.get("state")).get("input"))
                break
        self.release(tool)
        return tool.end(arguments or obj(pending.request.get("metadata")))

    def take_interrupts(self) -> list[Event]:
        """All interrupts that are ready, in one event: it ends the run."""
        if not self._ready:
            return []
        interrupts = tuple(pending.to_interrupt() for pending in self._ready)
        self._ready.clear()
        closed = [event for session in self._sessions.all() for event in session.parts.close_texts()]
        return [*closed, InterruptRequested(interrupts)]

    # -- replies

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        pending = self._open.pop(interrupt_id, None)
        reply = None if pending is None else pending.to_reply(answer)
        if reply is not None and is_refusal(reply):
            self._refusals.append(reply)
        elif reply is not None:
            self._unconfirmed.add(interrupt_id)
            self._calls.send("POST", *reply, partial(self._read_approval, interrupt_id))
        self._send_refusals()

    def remove(self, request_id: Any) -> None:
        """The server reports the request as answered, by this client or another."""
        for pending in [pending for pending in self._open.values() if pending.request_id == request_id]:
            del self._open[pending.interrupt_id]
        self._send_refusals()

    def _read_approval(self, interrupt_id: str, answer: dict[str, Any]) -> list[Event]:
        self._unconfirmed.discard(interrupt_id)
        self._send_refusals()
        return self._read_confirmation(answer)

    def _send_refusals(self) -> None:
        if self._unconfirmed or any(pending.is_sent for pending in self._open.values()):
            return
        refusals = self._refusals
        self._refusals = []
        for refusal in refusals:
            self._calls.send("POST", *refusal, self._read_confirmation)

    def _read_confirmation(self, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 404):  # 404: another client of the server has replied
            return []
        fault = to_agent_fault(answer, "opencode did not take the answer")
        return [self._dialect.make_warning("ANSWER_LOST", fault.detail)]


# -- permissions


def permission_interrupt(request: dict[str, Any]) -> Interrupt:
    """The interrupt without its id, its tool call and its subagent."""
    permission = non_empty(request.get("permission")) or "tool"
    patterns = strings(request.get("patterns"))
    approval = permission_approval(request)
    details = {
        "options": approval.options_json(),
        "permission": permission,
        "patterns": patterns,
        "metadata": if_small(obj(request.get("metadata")), MAX_METADATA_CHARS),
    }
    return Interrupt(
        id="",
        reason="confirmation",
        message="\n".join([f"Allow {permission}?", *patterns]),
        response_schema=approval.response_schema(),
        metadata={"opencode": present(details)},
    )


def permission_approval(request: dict[str, Any]) -> Approval:
    options = [Option("once", "Allow once", ALLOW_ONCE)]
    if patterns := strings(request.get("always")):
        options.append(Option("always", f"Always allow {', '.join(patterns)}", ALLOW_ALWAYS))
    options.append(Option("reject", "Deny", REJECT_ONCE))
    return Approval(options, feedback=FEEDBACK_SCHEMA)


def permission_reply(request_id: str, decision: Decision) -> Reply:
    path = f"/permission/{escape_segment(request_id)}/reply"
    if decision.is_cancelled:
        return path, {"reply": "reject"}
    if decision.is_allowed and decision.option is not None:
        return path, {"reply": decision.option.id}
    return path, {"reply": "reject", "message": decision.feedback or REFUSAL_MESSAGE}


def is_refusal(reply: Reply) -> bool:
    return obj(reply[1]).get("reply") == "reject"


# -- questions


def question_interrupt(request: dict[str, Any]) -> Interrupt:
    """Each question is a field of the form: `q1`, `q2`, …"""
    questions = items(request.get("questions"))
    properties = {f"q{number}": _question_schema(question) for number, question in enumerate(questions, 1)}
    lines = [line for question in questions if (line := text(question.get("question")))]
    return Interrupt(
        id="",
        reason="input_required",
        message="\n".join(lines) or "The agent asks.",
        response_schema={"type": "object", "properties": properties, "required": list(properties)},
        metadata={"opencode": {"questions": questions}},
    )


def question_reply(request_id: str, request: dict[str, Any], answer: Answer) -> Reply:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    answers = [_to_labels(payload.get(f"q{number}")) for number, _ in enumerate(items(request.get("questions")), 1)]
    if not answers or None in answers:
        return dismissal(request_id)
    return f"/question/{escape_segment(request_id)}/reply", {"answers": answers}


def dismissal(request_id: str) -> Reply:
    return f"/question/{escape_segment(request_id)}/reject", None


def _question_schema(question: dict[str, Any]) -> dict[str, Any]:
    schema = _choice_schema(question)
    if question.get("multiple") is True:
        schema = {"type": "array", "items": schema}
    return present({"title": text(question.get("header")), "description": text(question.get("question"))}) | schema


def _choice_schema(question: dict[str, Any]) -> dict[str, Any]:
    """Each label once: a `oneOf` that lists a label twice matches neither."""
    options = {label: option for option in items(question.get("options")) if (label := non_empty(option.get("label")))}
    if not options:
        return {"type": "string"}
    titles = [
        present({"const": label, "title": label, "description": text(option.get("description"))})
        for label, option in options.items()
    ]
    choice = {"type": "string", "enum": list(options), "oneOf": titles}
    # The user may type another answer, unless the question forbids it.
    return choice if question.get("custom") is False else {"anyOf": [choice, {"type": "string"}]}


def _to_labels(value: Any) -> list[str] | None:
    """The chosen labels, as opencode takes an answer. None: this is no answer."""
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) and all(isinstance(label, str) for label in value) else None
