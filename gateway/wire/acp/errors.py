"""An agent's error answer → an `AgentFault` with a code for programs and the agent's own words for people.

In: a JSON-RPC error and the method it answers. Out: the fault; whether it is the end of a cancelled turn; and the
patterns of failures that agents dress as answers. Codes are few, for agents use theirs loosely: the same missing
session is -32002, -32602 or -32603, so the words are looked at, too.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from gateway.errors import AgentFault
from gateway.wire.fields import items, json_text, non_empty, obj, present, text, without_meta
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
WORDS_CHARS = 1_000
DATA_CHARS = 2_000

ERROR_TEXTS = (
    re.compile(r"^\s*\{\"type\":\s*\"error\",\s*\"error\":"),  # codex-acp: the provider's body
    re.compile(r"(^|Retrying\.\.\.)\s*Error: (\d{3} |Failed to get response)"),  # copilot-cli
    re.compile(r"^\s*HTTP \d{3}: "),  # hermes-agent
    re.compile(r"^\s*(API Error: \d{3} |agent error: Error code: \d{3})"),  # claude-agent-acp, crow-cli
    re.compile(r"^\s*I hit an internal error while calling the model: "),  # fast-agent
)
"""How known agents word a model's failure that they present as the answer."""


def agent_fault(fault: Fault, method: str) -> AgentFault:
    words = _words(fault)
    return AgentFault(
        f"the agent answered {method} with error {fault.code}: {words}",
        code=_code(fault, method, words),
        method=method,
        agentCode=fault.code,
        agentData=_trimmed(fault.data),
    )


def ends_cancelled(fault: Fault, method: str, *, asked: bool) -> bool:
    """Is this error the end of a turn that was cancelled? `asked`: we asked for it. A turn that was told to stop and
    then breaks has stopped: hermes-agent answers a cancelled tool with an exception."""
    return method == "session/prompt" and (fault.code == REQUEST_CANCELLED or asked)


def _code(fault: Fault, method: str, words: str) -> str:
    if fault.code == AUTH_REQUIRED:
        return "AUTH_REQUIRED"
    of_session = method.startswith("session/") and method != "session/new"
    if of_session and (SESSION_NOT_RESUMED.search(words) or _names_session(fault)):
        return "SESSION_NOT_FOUND"
    if 400 <= fault.code < 600:  # gemini-cli hands on the provider's status
        return "MODEL_ERROR"
    return CODES.get(fault.code, "AGENT_ERROR")


def _names_session(fault: Fault) -> bool:
    return fault.code == RESOURCE_NOT_FOUND and ("sessionId" in obj(fault.data) or fault.data is None)


def _words(fault: Fault) -> str:
    """The message, and what `data` adds to it: many agents say "Internal error" there and the cause here."""
    told = [_unpacked(fault.message)]
    if isinstance(fault.data, str):
        told.append(fault.data)
    for key in ("details", "message", "reason", "error"):
        if (more := non_empty(obj(fault.data).get(key))) is not None:
            told.append(_unpacked(more))
    for issue in items(fault.data) or items(obj(fault.data).get("errors")):
        told.append(non_empty(issue.get("message")) or non_empty(issue.get("msg")) or "")
    kept: list[str] = []
    for part in (part.strip() for part in told):
        if part and not any(part in known for known in kept):
            kept.append(part)
    words = ": ".join(kept) or "no reason given"
    return words if len(words) <= WORDS_CHARS else f"{words[:WORDS_CHARS]}…"


def _unpacked(words: str) -> str:
    """A provider's JSON body, given as the message: its own message says it better."""
    if not words.lstrip().startswith("{"):
        return words
    try:
        body = obj(orjson.loads(words))
    except orjson.JSONDecodeError:
        return words
    return text(obj(body.get("error")).get("message")) or text(body.get("message")) or words


def _trimmed(data: Any) -> Any:
    """Without `_meta`, and only if it is small; of ways to sign in, what a person needs."""
    if isinstance(data, dict) and isinstance(data.get("authMethods"), list):
        keys = ("id", "methodId", "name", "type", "description")
        methods = [present({key: text(method.get(key)) for key in keys}) for method in items(data["authMethods"])]
        return {"authMethods": methods}
    plain = without_meta(data)
    return plain if plain is not None and len(json_text(plain)) <= DATA_CHARS else None
