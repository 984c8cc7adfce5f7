"""OpenClaw's errors as faults and failed turns.

In: the `error` of a response, or the text of a run that failed. Out: the message with an error code. OpenClaw replaces
a provider's error by a message of its own; the provider's is in its log only.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj

NOT_SIGNED_IN = re.compile(
    r"authentication source|no (api key|credential)|unauthorized|\b401\b|auth profile", re.IGNORECASE
)
MODEL_ERROR = re.compile(
    r"\bLLM\b|\bprovider\b|\bmodel\b|rate.?limit|overloaded|context (window|length)", re.IGNORECASE
)
SESSION_NOT_FOUND = re.compile(r"session\b.{0,60}\b(not found|does not exist|deleted)|unknown session", re.IGNORECASE)


def error_message(error: Any) -> str:
    return non_empty(obj(error).get("message")) or "no reason given"


def to_fault(error: Any, method: str) -> AgentFault:
    """The error response to a request of the gateway's."""
    message = error_message(error)
    code = "AGENT_ERROR"
    if SESSION_NOT_FOUND.search(message):
        code = "SESSION_NOT_FOUND"
    elif NOT_SIGNED_IN.search(message):
        code = "AUTH_REQUIRED"
    return AgentFault(f"the agent answered {method} with an error: {message}", code=code, method=method)


def to_turn_failed(message: str) -> TurnFailed:
    code = "AGENT_ERROR"
    if NOT_SIGNED_IN.search(message):
        code = "AUTH_REQUIRED"
    elif SESSION_NOT_FOUND.search(message):
        code = "SESSION_NOT_FOUND"
    elif MODEL_ERROR.search(message):
        code = "MODEL_ERROR"
    return TurnFailed(message, code)
