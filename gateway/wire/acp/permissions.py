"""What an agent asks the user ↔ AG-UI's questions and answers.

In: `session/request_permission` and `elicitation/create` of both versions, and the human's answer or a policy. Out: a
`Interrupt`, and the result to send back. An answer that is not clearly a yes is never sent as one, and "always" only
on the user's own word: agents keep it beyond the session.
"""

from __future__ import annotations

from typing import Any, Literal

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.fields import items, json_text, non_empty, obj, present, text, without_meta

SHOWN = ("title", "kind", "rawInput", "content", "locations")
"""Of the tool call in question: what it is going to do."""
SHOWN_CHARS = 200_000
"""More than this of one field is not shown again in the question: the call itself has it."""


def subject_call(params: dict[str, Any]) -> dict[str, Any]:
    """The tool call that a permission is about: `toolCall`, or inside version 2's `subject`. Empty: about none."""
    subject = obj(params.get("subject"))
    if subject.get("type") == "command":
        return present({"toolCallId": non_empty(subject.get("toolCallId"))})
    return obj(params.get("toolCall")) or obj(subject.get("toolCall"))


def permission_question(
    question_id: str, params: Any, tool_call_id: str | None, *, subagent: str | None = None
) -> Interrupt:
    """`tool_call_id`: AG-UI's id of the call, which the client has seen. Without one it is a plain confirmation."""
    told = obj(params)
    options = _options(told)
    call, subject = subject_call(told), obj(told.get("subject"))
    shown = present({"command": text(subject.get("command")), "cwd": text(subject.get("cwd"))})
    shown |= {key: _bounded(without_meta(call[key])) for key in SHOWN if key in call}
    lines = [text(told.get("title")), text(told.get("description")), text(call.get("title")), shown.get("command")]
    message = dict.fromkeys(line for line in lines if line)
    return Interrupt(
        id=question_id,
        reason="confirmation" if tool_call_id is None else "tool_call",
        message="\n".join(message) or "The agent asks for permission.",
        tool_call_id=tool_call_id,
        response_schema=_response_schema(options),
        metadata={"acp": present({"options": options}) | ({"subject": shown} if shown else {})},
        subagent=subagent,
    )


def permission_outcome(params: Any, answer: Answer) -> dict[str, Any]:
    """The agent's own option where one was named, else the one that the yes or no means."""
    if answer.status != "resolved":
        return _selected(None)
    options = _options(obj(params))
    payload = obj(answer.payload)
    if (chosen := text(payload.get("optionId"))) is not None:
        return _selected(chosen if any(option["optionId"] == chosen for option in options) else None)
    match payload.get("approved"):
        case True:
            return _selected(_allowing(options))
        case False:
            return _selected(_first(options, "reject_once"))
        case _:
            return _selected(None)


def by_policy(params: Any, policy: Literal["auto", "deny"]) -> dict[str, Any]:
    """The answer that needs no human."""
    options = _options(obj(params))
    return _selected(_allowing(options) if policy == "auto" else _first(options, "reject_once"))


def told_outcome(params: Any, result: dict[str, Any]) -> str:
    """What came of it, in words: the name of the option."""
    chosen = obj(result.get("outcome")).get("optionId")
    for option in _options(obj(params)):
        if option["optionId"] == chosen:
            return str(option.get("name") or chosen)
    return "cancelled"


def elicitation_question(
    question_id: str, params: Any, tool_call_id: str | None = None, *, subagent: str | None = None
) -> Interrupt:
    """A form becomes the schema of the answer. A URL is shown whole, for the user to judge and open."""
    told = obj(params)
    message = text(told.get("message")) or "The agent asks for input."
    url = text(told.get("url"))
    schema = told.get("requestedSchema")
    shown = present({"mode": text(told.get("mode")), "url": url, "elicitationId": text(told.get("elicitationId"))})
    return Interrupt(
        id=question_id,
        reason="input_required",
        message=f"{message}\n{url}" if url else message,
        tool_call_id=tool_call_id,
        response_schema=without_meta(schema) if isinstance(schema, dict) else _CONSENT,
        metadata={"acp": shown} | ({"url": url} if url else {}),
        subagent=subagent,
    )


_CONSENT = {"type": "object", "properties": {"accepted": {"type": "boolean", "title": "Opened"}}}
"""For a URL: that the user has gone there, which is all that `accept` means."""


def elicitation_result(params: Any, answer: Answer) -> dict[str, Any]:
    if answer.status != "resolved":
        return {"action": "cancel"}
    if obj(params).get("mode") == "url":
        declined = answer.payload is False or obj(answer.payload).get("accepted") is False
        return {"action": "decline"} if declined else {"action": "accept"}
    if not isinstance(answer.payload, dict):
        return {"action": "decline"}
    return {"action": "accept", "content": answer.payload}


def _bounded(value: Any) -> Any:
    return value if len(json_text(value)) <= SHOWN_CHARS else {"tooLarge": True}


def _options(params: dict[str, Any]) -> list[dict[str, Any]]:
    """Each id once: a schema that lists one twice matches neither."""
    found: dict[str, dict[str, Any]] = {}
    for option in items(params.get("options")):
        if (option_id := text(option.get("optionId"))) is not None:
            told = {"optionId": option_id, "name": text(option.get("name")), "kind": text(option.get("kind"))}
            found.setdefault(option_id, {key: value for key, value in told.items() if value is not None})
    return list(found.values())


def _response_schema(options: list[dict[str, Any]]) -> dict[str, Any]:
    approved = {"type": "boolean", "title": "Approve", "description": "A plain yes or no, instead of an option."}
    if not options:
        return {"type": "object", "properties": {"approved": approved}, "required": ["approved"]}
    named = [{"const": option["optionId"], "title": option.get("name", option["optionId"])} for option in options]
    choice = {"type": "string", "enum": [option["optionId"] for option in options], "oneOf": named}
    return {
        "type": "object",
        "properties": {"optionId": choice, "approved": approved},
        "anyOf": [{"required": ["optionId"]}, {"required": ["approved"]}],
        # ACP cannot carry changed arguments: to run the old ones after an edit would be worse than to refuse.
        "not": {"required": ["editedArgs"]},
    }


def _selected(option_id: str | None) -> dict[str, Any]:
    """None: no option says it, and `cancelled` is the answer that approves of nothing."""
    if option_id is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


def _first(options: list[dict[str, Any]], kind: str) -> str | None:
    return next((option["optionId"] for option in options if option.get("kind") == kind), None)


def _allowing(options: list[dict[str, Any]]) -> str | None:
    """Once, where that exists. "Always" only if it is the one way to allow at all."""
    once = _first(options, "allow_once")
    always = [option["optionId"] for option in options if option.get("kind") == "allow_always"]
    return once if once is not None else always[0] if len(always) == 1 else None
