"""OpenClaw's errors → codes for programs and its own words for people.

It replaces what a provider said by words of its own; the provider's are in its log only.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import non_empty, obj

SIGN_IN = re.compile(r"authentication source|no (api key|credential)|unauthorized|\b401\b|auth profile", re.IGNORECASE)
OF_MODEL = re.compile(r"\bLLM\b|\bprovider\b|\bmodel\b|rate.?limit|overloaded|context (window|length)", re.IGNORECASE)
LOST = re.compile(r"session\b.{0,60}\b(not found|does not exist|deleted)|unknown session", re.IGNORECASE)


def words_of(error: Any) -> str:
    return non_empty(obj(error).get("message")) or "no reason given"


def code_of(words: str) -> str:
    if SIGN_IN.search(words):
        return "AUTH_REQUIRED"
    if LOST.search(words):
        return "SESSION_NOT_FOUND"
    return "MODEL_ERROR" if OF_MODEL.search(words) else "AGENT_ERROR"


def rpc_fault(error: Any, method: str) -> AgentFault:
    """An error answer to a request of ours."""
    words = words_of(error)
    code = "SESSION_NOT_FOUND" if LOST.search(words) else "AUTH_REQUIRED" if SIGN_IN.search(words) else "AGENT_ERROR"
    return AgentFault(f"the agent answered {method} with an error: {words}", code=code, method=method)


def broke(words: str) -> TurnFailed:
    return TurnFailed(words, code_of(words))
