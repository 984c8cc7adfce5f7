"""A human's answer, or a policy → the result that Codex gets for its request.

What is not clearly a yes is never sent as one, and what lasts beyond this once only on the user's own word.
"""

from __future__ import annotations

from typing import Any

from gateway.turn import Answer
from gateway.wire.dialects.codex.permission_options import ELICITATION, INPUT, PERMISSIONS, PERSIST, Option, Pending
from gateway.wire.elicitations import elicitation_result
from gateway.wire.fields import obj, text


def answered(pending: Pending, answer: Answer) -> dict[str, Any]:
    """An answer that was cancelled approves of nothing, and stops the turn where Codex has a word for it."""
    if pending.about_tool:
        return _decided(pending, _chosen(pending.options, answer))
    if pending.method == INPUT:
        return {"answers": _answers(pending, answer)}
    return _elicited(**elicitation_result(pending.params, answer))


def by_policy(pending: Pending, *, allow: bool) -> dict[str, Any]:
    """The answer that needs no human. Nobody else can fill in a form, so it is declined."""
    if pending.about_tool:
        return _decided(pending, _allowing(pending.options) if allow else "decline")
    return {"answers": {}} if pending.method == INPUT else _elicited("decline")


def _chosen(options: list[Option], answer: Answer) -> str:
    if answer.status != "resolved":
        return "cancel"
    payload = obj(answer.payload)
    if "editedArgs" in payload:
        return "decline"
    if "optionId" in payload:
        named = text(payload["optionId"])
        return named if named is not None and any(option.id == named for option in options) else "decline"
    return _allowing(options) if payload.get("approved") is True else "decline"


def _allowing(options: list[Option]) -> str:
    """Once. Where that is not offered, only what lasts no longer than the session."""
    offered = {option.id for option in options}
    return next((name for name in ("accept", "acceptForSession") if name in offered), "decline")


def _decided(pending: Pending, chosen: str) -> dict[str, Any]:
    if pending.method == PERMISSIONS:
        return _granted(pending.params, chosen)
    if pending.method == ELICITATION:
        return _called(chosen)
    return {"decision": next((option.decision for option in pending.options if option.id == chosen), chosen)}


def _granted(params: dict[str, Any], chosen: str) -> dict[str, Any]:
    asked = {key: value for key, value in obj(params.get("permissions")).items() if value is not None}
    given = asked if chosen in ("accept", "acceptForSession") else {}
    return {"permissions": given, "scope": "session" if chosen == "acceptForSession" else "turn"}


def _called(chosen: str) -> dict[str, Any]:
    if chosen == "accept":
        return _elicited("accept", {})
    if chosen in PERSIST:
        return _elicited("accept", {}, {"persist": PERSIST[chosen]})
    return _elicited("cancel" if chosen == "cancel" else "decline")


def _elicited(action: str, content: Any = None, meta: Any = None) -> dict[str, Any]:
    return {"action": action, "content": content, "_meta": meta}


def _answers(pending: Pending, answer: Answer) -> dict[str, Any]:
    payload = obj(answer.payload) if answer.status == "resolved" else {}
    found: dict[str, Any] = {}
    for name in pending.questions:
        match payload.get(name):
            case str(words):
                found[name] = {"answers": [words]}
            case list(several):
                found[name] = {"answers": [words for words in several if isinstance(words, str)]}
    return found
