"""Hermes' errors → codes for programs and its own words for people.

In: an error answer, the text of a turn that failed. Out: words and a code.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj

SIGN_IN = re.compile(r"No (inference|LLM) provider configured|HTTP 40[13]\b|\bAPI key\b.{0,40}(missing|not set|found)")
SESSION_GONE = (4001, 4007)
"""Not live in this process; not in its database."""


def is_lost(error: Any) -> bool:
    return obj(error).get("code") in SESSION_GONE


def rpc_fault(error: Any, method: str) -> AgentFault:
    """An error answer to a request of ours."""
    words = non_empty(obj(error).get("message")) or "no reason given"
    code = "SESSION_NOT_FOUND" if is_lost(error) else "AUTH_REQUIRED" if SIGN_IN.search(words) else "AGENT_ERROR"
    return AgentFault(f"the agent answered {method} with an error: {words}", code=code, method=method)


def broke(words: str, *, fallback: str = "MODEL_ERROR") -> TurnFailed:
    """A turn that failed with these words."""
    return TurnFailed(words, "AUTH_REQUIRED" if SIGN_IN.search(words) else fallback)
