"""How Copilot fails: an error answer, a `session.error`, the last words on stderr → a code for programs.

The words are looked at, for the server's JSON-RPC errors are all -32603.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import count, non_empty, obj, text

WRAPPED = re.compile(r"^Request \S+ failed with message: ")
SESSION_NOT_RESUMED = re.compile(
    r"session\b.{0,80}\bnot found|no persisted or in-memory events|No session, task, or name matched",
    re.IGNORECASE | re.DOTALL,
)
NOT_SIGNED_IN = re.compile(
    r"not authenticated|no authentication information|No GitHub OAuth token|requires a local model provider",
    re.IGNORECASE,
)
SIGN_IN = ("authentication", "authorization")


def answer_fault(error: Any, method: str) -> AgentFault:
    """An error answer of the server."""
    told = obj(error)
    words = WRAPPED.sub("", text(told.get("message")) or "no reason given")
    return AgentFault(
        f"the agent answered {method} with an error: {words}",
        code=code_of(words),
        method=method,
        agentCode=told.get("code"),
    )


def code_of(words: str, default: str = "AGENT_ERROR") -> str:
    if SESSION_NOT_RESUMED.search(words):
        return "SESSION_NOT_FOUND"
    return "AUTH_REQUIRED" if NOT_SIGNED_IN.search(words) else default


def session_error(data: dict[str, Any]) -> TurnFailed:
    """`session.error`: its message has the model's own words. A category is only given for what a model's provider
    refused, or GitHub did in its place."""
    words = text(data.get("message")) or "the agent gave no reason"
    if data.get("errorType") in SIGN_IN:
        return TurnFailed(words, "AUTH_REQUIRED")
    of_model = count(data.get("statusCode")) is not None or non_empty(data.get("errorType")) is not None
    return TurnFailed(words, code_of(words, "MODEL_ERROR" if of_model else "AGENT_ERROR"))
