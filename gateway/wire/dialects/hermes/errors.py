"""Hermes' errors as faults and failed turns.

In: the `error` of a response, or the text of a turn that failed. Out: Hermes' own message with an error code.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj

NOT_SIGNED_IN = re.compile(
    r"No (inference|LLM) provider configured|HTTP 40[13]\b|\bAPI key\b.{0,40}(missing|not set|found)"
)
SESSION_NOT_LIVE = 4001
SESSION_NOT_STORED = 4007


def error_message(error: Any) -> str:
    return non_empty(obj(error).get("message")) or "no reason given"


def is_session_lost(error: Any) -> bool:
    return obj(error).get("code") in (SESSION_NOT_LIVE, SESSION_NOT_STORED)


def to_fault(error: Any, method: str) -> AgentFault:
    """The error response to a request of the gateway's."""
    message = error_message(error)
    code = "AGENT_ERROR"
    if is_session_lost(error):
        code = "SESSION_NOT_FOUND"
    elif NOT_SIGNED_IN.search(message):
        code = "AUTH_REQUIRED"
    return AgentFault(f"the agent answered {method} with an error: {message}", code=code, method=method)


def to_turn_failed(message: str, *, code: str = "MODEL_ERROR") -> TurnFailed:
    """A turn that failed with this message; `code` unless the message says that the user is not signed in."""
    return TurnFailed(message, "AUTH_REQUIRED" if NOT_SIGNED_IN.search(message) else code)
