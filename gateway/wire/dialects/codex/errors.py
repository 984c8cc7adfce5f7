"""Codex's errors → codes for programs and words for people.

In: a turn's `error`, a JSON-RPC error, the last line of stderr. Out: words and a code. Codex often hands the
provider's JSON body on as the message: the message inside says it better.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from gateway.errors import AgentFault
from gateway.wire.fields import non_empty, obj, text

SIGN_IN = re.compile(
    r"missing environment variable|not logged in|please (log|sign) in|401 unauthorized|token.{0,40}expired"
    r"|codex login",
    re.IGNORECASE,
)
LOST = re.compile(
    r"no rollout found|thread\b.{0,80}not found|(session|thread)\b.{0,80}does not exist|invalid (session|thread) id",
    re.IGNORECASE | re.DOTALL,
)
SIGN_IN_STATUS = (401, 403)

INFO_CODES = {
    "unauthorized": "AUTH_REQUIRED",
    "sandboxError": "AGENT_ERROR",
    "threadRollbackFailed": "AGENT_ERROR",
    "activeTurnNotSteerable": "AGENT_ERROR",
    "tooManyDenials": "AGENT_ERROR",
    "sessionBudgetExceeded": "TURN_LIMIT",
}
"""Of `codexErrorInfo`, what is not the model's failure; all the rest is."""


def turn_fault(error: Any) -> tuple[str, str]:
    """Words and code of a turn that failed."""
    told = obj(error)
    words = unpacked(text(told.get("message")) or "")
    more = non_empty(told.get("additionalDetails"))
    if more is not None and more not in words:
        words = f"{words}: {unpacked(more)}" if words else unpacked(more)
    words = words or "the turn failed, and no reason was given"
    return words, info_code(told.get("codexErrorInfo"), words)


def info_code(info: Any, words: str) -> str:
    """`info` is a word, or an object of one key with the provider's status."""
    name, about = next(iter(info.items()), ("", None)) if isinstance(info, dict) else (info, None)
    if obj(about).get("httpStatusCode") in SIGN_IN_STATUS or SIGN_IN.search(words):
        return "AUTH_REQUIRED"
    return INFO_CODES.get(name, "MODEL_ERROR") if isinstance(name, str) else "MODEL_ERROR"


def rpc_fault(error: Any, method: str) -> AgentFault:
    """An error answer to a request of ours."""
    told = obj(error)
    words = unpacked(text(told.get("message")) or "") or "no reason given"
    return AgentFault(f"the agent answered {method} with an error: {words}", code=words_code(words), method=method)


def words_code(words: str) -> str:
    if LOST.search(words):
        return "SESSION_NOT_FOUND"
    return "AUTH_REQUIRED" if SIGN_IN.search(words) else "AGENT_ERROR"


def is_lost(error: Any) -> bool:
    """The thread that was to come back does not exist."""
    return LOST.search(text(obj(error).get("message")) or "") is not None


def unpacked(words: str) -> str:
    """A provider's JSON body, given as the message: its own message."""
    if not words.lstrip().startswith("{"):
        return words
    try:
        body = obj(orjson.loads(words))
    except orjson.JSONDecodeError:
        return words
    return non_empty(obj(body.get("error")).get("message")) or non_empty(body.get("message")) or words
