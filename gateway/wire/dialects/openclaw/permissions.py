"""OpenClaw's requests to the user as AG-UI interrupts, and the answers as requests to OpenClaw.

In: `exec.approval.requested`, `plugin.approval.requested`, `openclaw.approval.requested`, `question.requested`, and the
user's answer or the run's policy. Out: an `Interrupt`, and the request that answers it. Whether an answer approves is
decided by `wire/approvals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ONCE, Approval, Option
from gateway.wire.fields import items, non_empty, obj, present, strings, text, unique_strings

RESOLVE_METHODS = {
    "exec.approval.requested": "exec.approval.resolve",
    "plugin.approval.requested": "plugin.approval.resolve",
    "openclaw.approval.requested": "approval.resolve",
    "question.requested": "question.resolve",
}
"""Event → the method that answers it."""
RESOLVED_EVENTS = frozenset(event.replace(".requested", ".resolved") for event in RESOLVE_METHODS)

DENY = "deny"
OPTIONS = {
    "allow-once": ("Allow once", ALLOW_ONCE),
    "allow-always": ("Always allow", ALLOW_ALWAYS),
    DENY: ("Deny", REJECT_ONCE),
}
"""OpenClaw's decisions → label and kind."""
SHOWN_FIELDS = ("command", "cwd", "host", "resolvedPath", "warningText", "title", "description", "toolName", "severity")
"""Fields of a request that the user needs to decide."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    event: str
    id: str
    payload: dict[str, Any]

    @property
    def details(self) -> dict[str, Any]:
        return obj(self.payload.get("request"))

    @property
    def is_form(self) -> bool:
        return self.event == "question.requested"

    @property
    def tool_call_id(self) -> str | None:
        """OpenClaw's own id of the tool call that needs approval."""
        return non_empty(self.details.get("toolCallId"))

    @property
    def session_key(self) -> str | None:
        return non_empty((self.details or self.payload).get("sessionKey"))

    @property
    def run_id(self) -> str | None:
        return non_empty((self.details or self.payload).get("runId"))

    @property
    def approval(self) -> Approval:
        decisions = unique_strings(self.details.get("allowedDecisions")) or ["allow-once", DENY]
        options = [Option(decision, *OPTIONS.get(decision, (decision, None))) for decision in decisions]
        return Approval(options, plain_allow=("allow-once",), plain_reject=(DENY,))

    @property
    def expires_in(self) -> float | None:
        """Seconds until OpenClaw goes on without an answer."""
        match self.payload:
            case {"createdAtMs": int(created), "expiresAtMs": int(expires)} if created < expires:
                return (expires - created) / 1000
            case _:
                return None

    def to_interrupt(self, interrupt_id: str, tool_call_id: str | None) -> Interrupt:
        if self.is_form:
            return _form_interrupt(interrupt_id, self)
        return _approval_interrupt(interrupt_id, self, tool_call_id)

    def to_response(self, answer: Answer) -> tuple[str, dict[str, Any]]:
        """The method and params that answer the request."""
        method = RESOLVE_METHODS[self.event]
        if self.is_form:
            answers = _read_answers(self, answer)
            return method, {"id": self.id} | ({"answers": {"answers": answers}} if answers else {"cancel": True})
        option = self.approval.decide(answer).option
        params = {"id": self.id, "decision": option.id if option is not None else DENY}
        return method, params | ({"kind": "system-agent"} if method == "approval.resolve" else {})

    def decide_by_policy(self, policy: Approvals) -> Answer | None:
        """The answer that needs no user; None: the user is asked. A policy cannot answer a question."""
        if policy == "prompt":
            return None
        if policy == "auto" and not self.is_form:
            return Answer("", "resolved", {"approved": True})
        return Answer("", "cancelled")


def _approval_interrupt(interrupt_id: str, request: PermissionRequest, tool_call_id: str | None) -> Interrupt:
    fields = present({key: text(request.details.get(key)) for key in SHOWN_FIELDS})
    lines = [fields.get(key) for key in ("title", "description", "warningText", "command")]
    approval = request.approval
    return Interrupt(
        id=interrupt_id,
        reason="confirmation" if tool_call_id is None else "tool_call",
        message="\n".join(line for line in lines if line) or "The agent asks for permission.",
        tool_call_id=tool_call_id,
        response_schema=approval.response_schema(approved_description="A plain yes or no."),
        expires_in=request.expires_in,
        metadata={"openclaw": {**fields, "decisions": [option.id for option in approval.options]}},
    )


def _form_interrupt(interrupt_id: str, request: PermissionRequest) -> Interrupt:
    questions = items(request.payload.get("questions"))
    fields = {name: _to_field(question) for question in questions if (name := non_empty(question.get("questionId")))}
    texts = [non_empty(question.get(key)) for question in questions for key in ("question", "url")]
    return Interrupt(
        id=interrupt_id,
        reason="input_required",
        message="\n".join(line for line in texts if line) or "The agent asks a question.",
        response_schema={"type": "object", "properties": fields, "required": list(fields)},
        expires_in=request.expires_in,
        metadata={"openclaw": {"kind": "question"}},
    )


def _to_field(question: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of one question's answer."""
    labels = present({"title": non_empty(question.get("header")), "description": non_empty(question.get("question"))})
    if question.get("isSecret") is True:
        return {**labels, "type": "string", "format": "password", "writeOnly": True}
    options = [
        present({"const": non_empty(option.get("label")), "description": non_empty(option.get("description"))})
        for option in items(question.get("options"))
        if non_empty(option.get("label"))
    ]
    value: dict[str, Any] = {"type": "string"}
    if options and question.get("isOther") is not True:
        value |= {"enum": [option["const"] for option in options], "oneOf": options}
    elif options:
        value["examples"] = [option["const"] for option in options]
    if question.get("multiSelect") is True:
        return {**labels, "type": "array", "items": value}
    return {**labels, **value}


def _read_answers(request: PermissionRequest, answer: Answer) -> dict[str, list[str]]:
    """Question id → answers. Empty unless every question is answered: OpenClaw takes all or none."""
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    questions = items(request.payload.get("questions"))
    names = [name for question in questions if (name := non_empty(question.get("questionId")))]
    answers = {name: _read_choices(payload.get(name)) for name in names}
    return answers if all(answers.values()) else {}


def _read_choices(value: Any) -> list[str]:
    choices = [value] if isinstance(value, str) else strings(value)
    return [choice for choice in choices if choice]
