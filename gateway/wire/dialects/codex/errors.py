"""Codex's errors → messages and codes.

In: a turn's `error`, a JSON-RPC error, the last line of stderr. Out: `TurnFailed` or `AgentFault`. Codex often passes
on the provider's JSON body as its message; the message inside the body is used instead.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.errors import unwrap_provider_json
from gateway.wire.fields import non_empty, obj, text

AUTH_TEXT = re.compile(
    r"missing environment variable|not logged in|please (log|sign) in|401 unauthorized|token.{0,40}expired"
    r"|codex login",
    re.IGNORECASE,
)
SESSION_NOT_FOUND_TEXT = re.compile(
    r"no rollout found|thread\b.{0,80}not found|(session|thread)\b.{0,80}does not exist|invalid (session|thread) id",
    re.IGNORECASE | re.DOTALL,
)
AUTH_STATUS = (401, 403)

INFO_CODES = {
    "unauthorized": "AUTH_REQUIRED",
    "sandboxError": "AGENT_ERROR",
    "threadRollbackFailed": "AGENT_ERROR",
    "activeTurnNotSteerable": "AGENT_ERROR",
    "tooManyDenials": "AGENT_ERROR",
    "sessionBudgetExceeded": "TURN_LIMIT",
}
"""Values of `codexErrorInfo` that are no model errors; all others are."""


def read_turn_error(error: Any) -> TurnFailed:
    """The `error` of a turn."""
    fields = obj(error)
    message = unwrap_message(text(fields.get("message")) or "")
    details = non_empty(fields.get("additionalDetails"))
    if details is not None and details not in message:
        message = f"{message}: {unwrap_message(details)}" if message else unwrap_message(details)
    message = message or "the turn failed, and no reason was given"
    return TurnFailed(message, _info_code(fields.get("codexErrorInfo"), message))


def _info_code(info: Any, message: str) -> str:
    """`info` is a string, or an object with one key and the provider's status."""
    name, details = next(iter(info.items()), ("", None)) if isinstance(info, dict) else (info, None)
    if obj(details).get("httpStatusCode") in AUTH_STATUS or AUTH_TEXT.search(message):
        return "AUTH_REQUIRED"
    return INFO_CODES.get(text(name) or "", "MODEL_ERROR")


def read_rpc_error(error: Any, method: str) -> AgentFault:
    """The error response to a request."""
    reason = unwrap_message(text(obj(error).get("message")) or "") or "no reason given"
    return AgentFault(f"the agent answered {method} with an error: {reason}", code=error_code(reason), method=method)


def error_code(message: str) -> str:
    if SESSION_NOT_FOUND_TEXT.search(message):
        return "SESSION_NOT_FOUND"
    return "AUTH_REQUIRED" if AUTH_TEXT.search(message) else "AGENT_ERROR"


def is_session_not_found(error: Any) -> bool:
    """The thread to resume does not exist."""
    return SESSION_NOT_FOUND_TEXT.search(text(obj(error).get("message")) or "") is not None


def unwrap_message(message: str) -> str:
    return unwrap_provider_json(message)[0]
