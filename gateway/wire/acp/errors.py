"""An agent's error → an `AgentFault` with a code for programs and the agent's own text for people.

In: a JSON-RPC error and the method it answers. Out: the fault; whether the error ends a cancelled turn; and patterns of
failures that agents send as answers. There are few codes, because agents use theirs loosely: the same missing session
is -32002, -32602 or -32603, so the text is read, too.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.wire.errors import unwrap_provider_json
from gateway.wire.fields import if_small, items, non_empty, obj, present, text, without_meta
from gateway.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Fault

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
VERSION_UNSUPPORTED = -32022
REQUEST_CANCELLED = -32800

CODES = {
    AUTH_REQUIRED: "AUTH_REQUIRED",
    RESOURCE_NOT_FOUND: "NOT_FOUND",
    VERSION_UNSUPPORTED: "UNSUPPORTED_VERSION",
    REQUEST_CANCELLED: "CANCELLED",
    METHOD_NOT_FOUND: "METHOD_NOT_FOUND",
    INVALID_PARAMS: "INVALID_PARAMS",
}

SESSION_NOT_RESUMED = re.compile(
    r"(session\b.{0,80}\bnot found|unknown session|no such session|invalid session id)", re.IGNORECASE | re.DOTALL
)
MESSAGE_MAX_CHARS = 1_000
DATA_MAX_CHARS = 2_000

ERROR_TEXTS = (
    re.compile(r"^\s*\{\"type\":\s*\"error\",\s*\"error\":"),  # codex-acp: the provider's body
    re.compile(r"(^|Retrying\.\.\.)\s*Error: (\d{3} |Failed to get response)"),  # copilot-cli
    re.compile(r"^\s*HTTP \d{3}: "),  # hermes-agent
    re.compile(r"^\s*(API Error: \d{3} |agent error: Error code: \d{3})"),  # claude-agent-acp, crow-cli
    re.compile(r"^\s*I hit an internal error while calling the model: "),  # fast-agent
)
"""How known agents word a model's failure that they send as the answer."""


def agent_fault(fault: Fault, method: str) -> AgentFault:
    message = _message(fault)
    return AgentFault(
        f"the agent answered {method} with error {fault.code}: {message}",
        code=_code(fault, method, message),
        method=method,
        agentCode=fault.code,
        agentData=_public_data(fault.data),
    )


def is_cancellation(fault: Fault, method: str, *, requested: bool) -> bool:
    """Whether this error is the end of a cancelled turn. `requested`: the gateway asked for it. A turn that fails after
    that has stopped: hermes-agent answers a cancelled tool with an exception."""
    return method == "session/prompt" and (fault.code == REQUEST_CANCELLED or requested)


def _code(fault: Fault, method: str, message: str) -> str:
    if fault.code == AUTH_REQUIRED:
        return "AUTH_REQUIRED"
    needs_session = method.startswith("session/") and method != "session/new"
    if needs_session and (SESSION_NOT_RESUMED.search(message) or _names_session(fault)):
        return "SESSION_NOT_FOUND"
    if 400 <= fault.code < 600:  # gemini-cli hands on the provider's status
        return "MODEL_ERROR"
    return CODES.get(fault.code, "AGENT_ERROR")


def _names_session(fault: Fault) -> bool:
    return fault.code == RESOURCE_NOT_FOUND and ("sessionId" in obj(fault.data) or fault.data is None)


def _message(fault: Fault) -> str:
    """The message, and what `data` adds to it: many agents put "Internal error" into one and the cause into the
    other."""
    texts = [unwrap_provider_json(fault.message)[0]]
    if isinstance(fault.data, str):
        texts.append(fault.data)
    for key in ("details", "message", "reason", "error"):
        if (detail := non_empty(obj(fault.data).get(key))) is not None:
            texts.append(unwrap_provider_json(detail)[0])
    for issue in items(fault.data) or items(obj(fault.data).get("errors")):
        texts.append(non_empty(issue.get("message")) or non_empty(issue.get("msg")) or "")
    parts: list[str] = []
    for part in (part.strip() for part in texts):
        if part and not any(part in known for known in parts):
            parts.append(part)
    message = ": ".join(parts) or "no reason given"
    return message if len(message) <= MESSAGE_MAX_CHARS else f"{message[:MESSAGE_MAX_CHARS]}…"


def _public_data(data: Any) -> Any:
    """`data` without `_meta`, if it is small; of sign-in methods, the fields that a person needs."""
    if isinstance(data, dict) and isinstance(data.get("authMethods"), list):
        keys = ("id", "methodId", "name", "type", "description")
        methods = [present({key: text(method.get(key)) for key in keys}) for method in items(data["authMethods"])]
        return {"authMethods": methods}
    public = without_meta(data)
    return None if public is None else if_small(public, DATA_MAX_CHARS)
