"""What OpenClaw asks of a human ↔ AG-UI's questions and answers.

In: `exec.approval.requested`, `plugin.approval.requested`, `question.requested`, and the human's answer or a policy.
Out: a `Interrupt`, and the call that answers it. An answer that is not clearly a yes is sent as a no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.fields import items, non_empty, obj, present, text

REQUESTS = {
    "exec.approval.requested": "exec.approval.resolve",
    "plugin.approval.requested": "plugin.approval.resolve",
    "openclaw.approval.requested": "approval.resolve",
    "question.requested": "question.resolve",
}
"""Event → the method that answers it."""

DECISIONS = {"allow-once": "Allow once", "allow-always": "Always allow", "deny": "Deny"}
SHOWN = ("command", "cwd", "host", "resolvedPath", "warningText", "title", "description", "toolName", "severity")
"""Of a request: what a human needs to decide."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that waits."""

    event: str
    id: str
    payload: dict[str, Any]

    @property
    def request(self) -> dict[str, Any]:
        return obj(self.payload.get("request"))

    @property
    def is_form(self) -> bool:
        return self.event == "question.requested"

    @property
    def call_id(self) -> str | None:
        """OpenClaw's own id of the call in question."""
        return non_empty(self.request.get("toolCallId"))


def session_of(payload: dict[str, Any]) -> tuple[str | None, str | None]:
    """The session and the run that ask."""
    about = obj(payload.get("request")) or payload
    return non_empty(about.get("sessionKey")), non_empty(about.get("runId"))


def question(question_id: str, pending: Pending, call_id: str | None) -> Interrupt:
    return _form(question_id, pending) if pending.is_form else _approval(question_id, pending, call_id)


def _approval(question_id: str, pending: Pending, call_id: str | None) -> Interrupt:
    request = pending.request
    shown = present({key: text(request.get(key)) for key in SHOWN})
    lines = [shown.get(key) for key in ("title", "description", "warningText", "command")]
    offered = decisions(request)
    return Interrupt(
        id=question_id,
        reason="confirmation" if call_id is None else "tool_call",
        message="\n".join(line for line in lines if line) or "The agent asks for permission.",
        tool_call_id=call_id,
        response_schema={
            "type": "object",
            "properties": {
                "optionId": {
                    "type": "string",
                    "enum": offered,
                    "oneOf": [{"const": choice, "title": DECISIONS.get(choice, choice)} for choice in offered],
                },
                "approved": {"type": "boolean", "title": "Approve", "description": "A plain yes or no."},
            },
            "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
            # It runs the command that it asked about: to run the old one after an edit would be worse than to refuse.
            "not": {"required": ["editedArgs"]},
        },
        expires_in=_lasts(pending.payload),
        metadata={"openclaw": {**shown, "decisions": offered}},
    )


def decisions(request: dict[str, Any]) -> list[str]:
    told = request.get("allowedDecisions")
    found = [choice for choice in told if isinstance(choice, str) and choice] if isinstance(told, list) else []
    return list(dict.fromkeys(found)) or ["allow-once", "deny"]


def _lasts(payload: dict[str, Any]) -> float | None:
    match payload:
        case {"createdAtMs": int(since), "expiresAtMs": int(until)} if since < until:
            return (until - since) / 1000
        case _:
            return None


def _form(question_id: str, pending: Pending) -> Interrupt:
    asked = items(pending.payload.get("questions"))
    fields = {name: _field(one) for one in asked if (name := non_empty(one.get("questionId"))) is not None}
    lines = [line for one in asked for line in (non_empty(one.get("question")), non_empty(one.get("url"))) if line]
    return Interrupt(
        id=question_id,
        reason="input_required",
        message="\n".join(lines) or "The agent asks a question.",
        response_schema={"type": "object", "properties": fields, "required": list(fields)},
        expires_in=_lasts(pending.payload),
        metadata={"openclaw": {"kind": "question"}},
    )


def _field(asked: dict[str, Any]) -> dict[str, Any]:
    about = present({"title": non_empty(asked.get("header")), "description": non_empty(asked.get("question"))})
    if asked.get("isSecret") is True:
        return {**about, "type": "string", "format": "password", "writeOnly": True}
    options = [
        present({"const": non_empty(option.get("label")), "description": non_empty(option.get("description"))})
        for option in items(asked.get("options"))
        if non_empty(option.get("label"))
    ]
    one: dict[str, Any] = {"type": "string"}
    if options and asked.get("isOther") is not True:
        one |= {"enum": [option["const"] for option in options], "oneOf": options}
    elif options:
        one["examples"] = [option["const"] for option in options]
    return {**about, "type": "array", "items": one} if asked.get("multiSelect") is True else {**about, **one}


def reply(pending: Pending, answer: Answer) -> tuple[str, dict[str, Any]]:
    """The method and its parameters."""
    given = answer.payload if answer.status == "resolved" else None
    method = REQUESTS[pending.event]
    if pending.is_form:
        told = _filled(pending, obj(given))
        return method, {"id": pending.id} | ({"answers": {"answers": told}} if told else {"cancel": True})
    params = {"id": pending.id, "decision": _decided(pending.request, obj(given))}
    return method, params | ({"kind": "system-agent"} if method == "approval.resolve" else {})


def _filled(pending: Pending, given: dict[str, Any]) -> dict[str, list[str]]:
    """Empty unless every question has an answer: a part of them is none."""
    names = [name for one in items(pending.payload.get("questions")) if (name := non_empty(one.get("questionId")))]
    told = {name: _listed(given.get(name)) for name in names}
    return told if all(told.values()) else {}


def _listed(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def _decided(request: dict[str, Any], given: dict[str, Any]) -> str:
    offered = decisions(request)
    if "editedArgs" in given:
        return "deny"
    if "optionId" in given:
        wanted = text(given["optionId"])
        return wanted if wanted in offered else "deny"
    return "allow-once" if given.get("approved") is True and "allow-once" in offered else "deny"


def by_policy(pending: Pending, policy: Approvals) -> Answer | None:
    """The answer that needs no human; None: one is asked. No policy can make up an answer to a question."""
    if policy == "prompt":
        return None
    if policy == "auto" and not pending.is_form:
        return Answer("", "resolved", {"approved": True})
    return Answer("", "cancelled")
