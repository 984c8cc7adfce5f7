"""Copilot's errors → error codes for programs.

In: an error answer, a `session.error` event, the end of stderr. Out: a fault or a failure of the turn. The codes come
from the message texts, because all JSON-RPC errors of the server have the code -32603.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import count, non_empty, obj, text

WRAPPER = re.compile(r"^Request \S+ failed with message: ")
SESSION_NOT_RESUMED = re.compile(
    r"session\b.{0,80}\bnot found|no persisted or in-memory events|No session, task, or name matched",
    re.IGNORECASE | re.DOTALL,
)
NOT_SIGNED_IN = re.compile(
    r"not authenticated|no authentication information|No GitHub OAuth token|requires a local model provider",
    re.IGNORECASE,
)
SIGN_IN_ERROR_TYPES = ("authentication", "authorization")


def to_agent_fault(value: Any, method: str) -> AgentFault:
    """An error answer of the server."""
    error = obj(value)
    message = WRAPPER.sub("", text(error.get("message")) or "no reason given")
    return AgentFault(
        f"the agent answered {method} with an error: {message}",
        code=error_code(message),
        method=method,
        agentCode=error.get("code"),
    )


def error_code(message: str, default: str = "AGENT_ERROR") -> str:
    if SESSION_NOT_RESUMED.search(message):
        return "SESSION_NOT_FOUND"
    return "AUTH_REQUIRED" if NOT_SIGNED_IN.search(message) else default


def to_turn_failed(data: dict[str, Any]) -> TurnFailed:
    """`session.error`, with the model's own message. Only errors of a model's provider, or of GitHub in its place,
    have a category."""
    message = text(data.get("message")) or "the agent gave no reason"
    if data.get("errorType") in SIGN_IN_ERROR_TYPES:
        return TurnFailed(message, "AUTH_REQUIRED")
    is_model_error = count(data.get("statusCode")) is not None or non_empty(data.get("errorType")) is not None
    return TurnFailed(message, error_code(message, "MODEL_ERROR" if is_model_error else "AGENT_ERROR"))
