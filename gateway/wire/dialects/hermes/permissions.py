"""What Hermes asks of a human ↔ AG-UI's questions and answers.

In: `approval.request`, `clarify.request`, `sudo.request`, `secret.request`, and the human's answer or a policy. Out: a
`Interrupt`, and the call that answers it. An answer that is not clearly a yes is sent as a no. What a human types as a
password or a secret stands in that one call and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer, Approvals
from gateway.wire.fields import non_empty, obj, present, text

CHOICES = {
    "once": "Allow once",
    "session": "Allow for this session",
    "always": "Always allow",
    "deny": "Deny",
}
"""Hermes' answers to an approval, as it shows them."""

WAITS = {"approval": 60.0, "clarify": 300.0, "sudo": 120.0, "secret": 300.0}
"""Seconds until Hermes goes on without an answer. For approvals it is `approvals.timeout` of the user's config.yaml;
`[cli.params] approval_timeout` tells of one that is not 60."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A question that waits."""

    kind: str
    payload: dict[str, Any]

    @property
    def request_id(self) -> str | None:
        """Approvals have none: the oldest is answered first."""
        return non_empty(self.payload.get("request_id"))


def question(question_id: str, pending: Pending, call_id: str | None, params: Mapping[str, Any]) -> Interrupt:
    payload = pending.payload
    match pending.kind:
        case "approval":
            return _approval(question_id, payload, call_id, params.get("approval_timeout"))
        case "clarify":
            asked = non_empty(payload.get("question")) or "The agent asks a question."
            options = [choice for choice in payload.get("choices") or () if isinstance(choice, str)]
            schema = _form("answer", {"type": "string", "title": asked} | ({"examples": options} if options else {}))
            return _input(question_id, "clarify", asked, schema, call_id, present({"choices": options}))
        case "sudo":
            schema = _form("password", {"type": "string", "format": "password", "writeOnly": True})
            return _input(question_id, "sudo", "A command asks for the password of sudo.", schema, call_id, {})
        case kind:
            name = non_empty(payload.get("env_var"))
            asked = non_empty(payload.get("prompt")) or f"The agent asks for the value of {name or 'a secret'}."
            schema = _form("value", {"type": "string", "format": "password", "writeOnly": True})
            return _input(question_id, kind, asked, schema, call_id, present({"envVar": name}))


def _approval(question_id: str, payload: dict[str, Any], call_id: str | None, waits: Any) -> Interrupt:
    command, why = non_empty(payload.get("command")), non_empty(payload.get("description"))
    shown = present({"command": command, "description": why, "choices": choices(payload)})
    return Interrupt(
        id=question_id,
        reason="tool_call" if call_id is not None else "confirmation",
        message="\n".join(line for line in (why, command) if line) or "The agent asks for permission.",
        tool_call_id=call_id,
        response_schema=_approval_schema(choices(payload)),
        expires_in=float(waits) if isinstance(waits, int | float) and waits > 0 else WAITS["approval"],
        metadata={"hermes": shown},
    )


def choices(payload: dict[str, Any]) -> list[str]:
    """As it offers them, each once; a request that names none takes a plain yes or no."""
    told = payload.get("choices")
    found = [choice for choice in told if isinstance(choice, str) and choice] if isinstance(told, list) else []
    return list(dict.fromkeys(found)) or ["once", "deny"]


def _approval_schema(offered: list[str]) -> dict[str, Any]:
    named = [{"const": choice, "title": CHOICES.get(choice, choice)} for choice in offered]
    return {
        "type": "object",
        "properties": {
            "optionId": {"type": "string", "enum": offered, "oneOf": named},
            "approved": {"type": "boolean", "title": "Approve", "description": "A plain yes or no."},
        },
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        # Hermes runs the command that it asked about: to run the old one after an edit would be worse than to refuse.
        "not": {"required": ["editedArgs"]},
    }


def _form(name: str, field: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: field}, "required": [name]}


def _input(
    question_id: str, kind: str, message: str, schema: dict[str, Any], call_id: str | None, shown: dict[str, Any]
) -> Interrupt:
    return Interrupt(
        id=question_id,
        reason="input_required",
        message=message,
        tool_call_id=call_id,
        response_schema=schema,
        expires_in=WAITS.get(kind),
        metadata={"hermes": {"kind": kind, **shown}},
    )


def reply(pending: Pending, answer: Answer) -> tuple[str, dict[str, Any]]:
    """The method and its parameters, but for the session."""
    given = answer.payload if answer.status == "resolved" else None
    match pending.kind:
        case "approval":
            return "approval.respond", {"choice": _chosen(pending.payload, obj(given))}
        case "clarify":
            return "clarify.respond", {"request_id": pending.request_id, "answer": _typed(given, "answer")}
        case "sudo":
            return "sudo.respond", {"request_id": pending.request_id, "password": _typed(given, "password")}
        case _:
            return "secret.respond", {"request_id": pending.request_id, "value": _typed(given, "value")}


def _chosen(payload: dict[str, Any], given: dict[str, Any]) -> str:
    if "editedArgs" in given:
        return "deny"
    if "optionId" in given:
        wanted = text(given["optionId"])
        return wanted if wanted in choices(payload) else "deny"
    return "once" if given.get("approved") is True else "deny"


def _typed(given: Any, name: str) -> str:
    """Empty: Hermes goes on without it."""
    return text(given if isinstance(given, str) else obj(given).get(name)) or ""


def by_policy(pending: Pending, policy: Approvals) -> Answer | None:
    """The answer that needs no human; None: one is asked. No policy can make up an answer, a password or a secret."""
    if policy == "prompt":
        return None
    if pending.kind == "approval" and policy == "auto":
        return Answer("", "resolved", {"approved": True})
    return Answer("", "cancelled")
