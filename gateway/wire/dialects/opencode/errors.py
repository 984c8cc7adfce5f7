"""opencode's errors → what ended the turn.

In: the `error` of an event, a message or a line, and bodies of failed calls. Out: an end with the model's own words.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj, text

ABORTED = "MessageAbortedError"
CUT_SHORT = "MessageOutputLengthError"
STOPS = {"stop": "end_turn", "length": "max_tokens", "content-filter": "refusal"}
"""Why the model stopped → ACP's word for it; any other is `end_turn`."""
MODELS = ("APIError", "ContextOverflowError", "ContentFilterError", "StructuredOutputError")
"""Errors by name that are the model's, or its provider's."""


def broke(error: Any) -> TurnFailed:
    told = obj(error)
    data = obj(told.get("data"))
    name, status = non_empty(told.get("name")) or "error", data.get("statusCode")
    words = _plain(text(data.get("message")) or text(told.get("message")) or "") or name
    if name == "ProviderAuthError" or status == 401:
        return TurnFailed(words, "AUTH_REQUIRED")
    if name in MODELS or words.startswith("Model not found"):
        return TurnFailed(words, "MODEL_ERROR")
    return TurnFailed(words)


def refused(answer: dict[str, Any], what: str) -> AgentFault:
    """A call that was answered with anything but success."""
    status, body = answer.get("status"), answer.get("body")
    words = text(answer.get("error")) or text(body) or _plain(_said(obj(body))) or "no reason given"
    return AgentFault(f"{what}: {words}", code="SESSION_NOT_FOUND" if status == 404 else "AGENT_ERROR")


def _said(body: dict[str, Any]) -> str:
    data = obj(body.get("data"))
    return text(data.get("message")) or text(body.get("message")) or non_empty(body.get("name")) or ""


def _plain(words: str) -> str:
    """Without the stack that some errors carry, and the class that begins them."""
    first = words.partition("\n    at ")[0].strip()
    head, _, rest = first.partition(": ")
    return rest if head.endswith("Error") and head.isidentifier() and rest else first
