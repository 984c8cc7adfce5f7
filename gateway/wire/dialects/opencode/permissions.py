"""What opencode asks ↔ AG-UI's questions and answers.

In: `permission.asked` and `question.asked`, and the human's answer or a policy. Out: a `Interrupt`, and the call that
answers it. An answer that is not clearly a yes is never sent as one. A refusal goes with a word to the model, for
without one opencode ends the turn: that is the answer of somebody who gives no answer.
"""

from __future__ import annotations

from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.dialects.opencode.parts import strings
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

Call = tuple[str, dict[str, Any] | None]
"""The path and the body of a POST."""
Policy = Literal["auto", "deny"]

REFUSED = "The user refused this."
SHOWN_CHARS = 200_000
KINDS = {"once": "allow_once", "always": "allow_always", "reject": "reject_once"}


def permission_question(
    question_id: str, asked: dict[str, Any], call_id: str | None, subagent: str | None
) -> Interrupt:
    permission = non_empty(asked.get("permission")) or "tool"
    patterns = strings(asked.get("patterns"))
    options = _options(asked)
    details = obj(asked.get("metadata"))
    shown = {
        "options": options,
        "permission": permission,
        "patterns": patterns,
        "metadata": details if len(json_text(details)) <= SHOWN_CHARS else None,
    }
    return Interrupt(
        id=question_id,
        reason="confirmation" if call_id is None else "tool_call",
        message="\n".join([f"Allow {permission}?", *patterns]),
        tool_call_id=call_id,
        response_schema=_choice(options),
        metadata={"opencode": present(shown)},
        subagent=subagent,
    )


def permission_reply(request_id: str, asked: dict[str, Any], answer: Answer) -> Call:
    path = f"/permission/{request_id}/reply"
    if answer.status != "resolved":
        return path, {"reply": "reject"}
    payload = obj(answer.payload)
    chosen = text(payload.get("optionId"))
    known = [option["optionId"] for option in _options(asked)]
    if chosen is None and payload.get("approved") is True and "editedArgs" not in payload:
        chosen = "once"
    if chosen in known and chosen != "reject":
        return path, {"reply": chosen}
    return path, {"reply": "reject", "message": non_empty(payload.get("message")) or REFUSED}


def refuses(call: Call) -> bool:
    """A permission that is refused: opencode then refuses all that the session waits for."""
    return obj(call[1]).get("reply") == "reject"


def permission_by_policy(request_id: str, policy: Policy) -> Call:
    path = f"/permission/{request_id}/reply"
    return path, {"reply": "once"} if policy == "auto" else {"reply": "reject", "message": REFUSED}


def input_question(question_id: str, asked: dict[str, Any], call_id: str | None, subagent: str | None) -> Interrupt:
    """Each of its questions is a field of the form: `q1`, `q2`, …"""
    told = items(asked.get("questions"))
    fields = {f"q{number}": _field(each) for number, each in enumerate(told, 1)}
    return Interrupt(
        id=question_id,
        reason="input_required",
        message="\n".join(words for each in told if (words := text(each.get("question")))) or "The agent asks.",
        tool_call_id=call_id,
        response_schema={"type": "object", "properties": fields, "required": list(fields)},
        metadata={"opencode": {"questions": told}},
        subagent=subagent,
    )


def input_reply(request_id: str, asked: dict[str, Any], answer: Answer) -> Call:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    given = [_labels(payload.get(f"q{number}")) for number, _ in enumerate(items(asked.get("questions")), 1)]
    if not given or None in given:
        return dismissal(request_id)
    return f"/question/{request_id}/reply", {"answers": given}


def dismissal(request_id: str) -> Call:
    return f"/question/{request_id}/reject", None


def _options(asked: dict[str, Any]) -> list[dict[str, str]]:
    names = {"once": "Allow once"}
    if lasting := strings(asked.get("always")):
        names["always"] = f"Always allow {', '.join(lasting)}"
    names["reject"] = "Refuse"
    return [{"optionId": option, "name": name, "kind": KINDS[option]} for option, name in names.items()]


def _choice(options: list[dict[str, str]]) -> dict[str, Any]:
    named = [{"const": option["optionId"], "title": option["name"]} for option in options]
    choice = {"type": "string", "enum": [option["optionId"] for option in options], "oneOf": named}
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    message = {"type": "string", "title": "Message", "description": "Told to the agent with a refusal."}
    return {
        "type": "object",
        "properties": {"optionId": choice, "approved": approved, "message": message},
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        # It cannot take changed arguments: to run the old ones after an edit would be worse than to refuse.
        "not": {"required": ["editedArgs"]},
    }


def _field(question: dict[str, Any]) -> dict[str, Any]:
    one = _offered(question)
    if question.get("multiple") is True:
        one = {"type": "array", "items": one}
    return present({"title": text(question.get("header")), "description": text(question.get("question"))}) | one


def _offered(question: dict[str, Any]) -> dict[str, Any]:
    """Each label once: a schema that lists one twice matches neither."""
    known = {label: option for option in items(question.get("options")) if (label := non_empty(option.get("label")))}
    named = [
        present({"const": label, "title": label, "description": text(option.get("description"))})
        for label, option in known.items()
    ]
    if not known:
        return {"type": "string"}
    choice = {"type": "string", "enum": list(known), "oneOf": named}
    # Words of one's own are as good, unless it says otherwise.
    return choice if question.get("custom") is False else {"anyOf": [choice, {"type": "string"}]}


def _labels(value: Any) -> list[str] | None:
    """As opencode takes an answer: the labels chosen. None: this is none."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(label, str) for label in value):
        return value
    return None
