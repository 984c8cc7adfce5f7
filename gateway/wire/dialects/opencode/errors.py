"""opencode's errors → the failure that ends the turn, or the fault of a call.

In: the `error` of an event, a message or a line, and the answer to a failed HTTP call. Out: a failure with the model's
or the server's own message. Never raises.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj, text

ABORTED = "MessageAbortedError"
OUTPUT_LIMIT = "MessageOutputLengthError"
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content-filter": "refusal"}
"""opencode's finish reason → ACP's stop reason; every other one is `end_turn`."""
MODEL_ERRORS = ("APIError", "ContextOverflowError", "ContentFilterError", "StructuredOutputError")
"""Names of errors that the model or its provider caused."""


def to_turn_failed(value: Any) -> TurnFailed:
    error = obj(value)
    data = obj(error.get("data"))
    name = non_empty(error.get("name")) or "error"
    message = _first_line(text(data.get("message")) or text(error.get("message")) or "") or name
    if name == "ProviderAuthError" or data.get("statusCode") == 401:
        return TurnFailed(message, "AUTH_REQUIRED")
    if name in MODEL_ERRORS or message.startswith("Model not found"):
        return TurnFailed(message, "MODEL_ERROR")
    return TurnFailed(message)


def to_agent_fault(answer: dict[str, Any], problem: str) -> AgentFault:
    """The fault of an HTTP call that did not succeed. `problem` names what the gateway wanted."""
    body = answer.get("body")
    reason = text(answer.get("error")) or text(body) or _first_line(_body_message(obj(body))) or "no reason given"
    code = "SESSION_NOT_FOUND" if answer.get("status") == 404 else "AGENT_ERROR"
    return AgentFault(f"{problem}: {reason}", code=code)


def _body_message(body: dict[str, Any]) -> str:
    data = obj(body.get("data"))
    return text(data.get("message")) or text(body.get("message")) or non_empty(body.get("name")) or ""


def _first_line(message: str) -> str:
    """The message without the stack trace and without the leading class name that some errors carry."""
    first = message.partition("\n    at ")[0].strip()
    head, _, rest = first.partition(": ")
    return rest if head.endswith("Error") and head.isidentifier() and rest else first
