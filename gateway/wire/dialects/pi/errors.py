"""Error texts of pi and omp, cleaned, with error codes.

In: error messages, and the end of stderr. Out: the text without paths of the machine, and a code. Never: a guess from
the text of an answer; only what the agent itself reports as an error is read.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.errors import unwrap_provider_json
from gateway.wire.fields import text

_REQUEST_DUMP = re.compile(r"\s*raw-http-request=\S*")
"""omp writes a request that failed to a file, and names the file in the error."""
_NOT_SIGNED_IN = re.compile(
    r"\bno api key\b|\bno credentials\b|\bno models? (?:available|selected)\b|\bnot (?:logged|signed) in\b"
    r"|^\s*401\b|\binvalid (?:x-)?api[- ]key\b|\bauthentication_error\b",
    re.IGNORECASE,
)
_NO_SESSION = re.compile(
    r"no session found matching|session \"[^\"]*\" not found|session found in different project", re.IGNORECASE
)
_PATHS = re.compile(r"(?: See:)?(?:\n\s*(?:Or create )?/\S+)+")
"""Where on the machine to read more, or to write a file: not for clients on the network."""
_STATUS_AND_BODY = re.compile(r"^(\d{3}): (\{.*\})$", re.DOTALL)
"""pi 1.x: the HTTP status and the provider's whole response."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_LABEL = re.compile(r"^\s*error:\s*", re.IGNORECASE)


def clean_message(message: Any) -> str:
    """The text without paths of the machine and colours of a terminal; a provider's message instead of its whole
    response. Empty if it is no text."""
    plain = _PATHS.sub("", _REQUEST_DUMP.sub("", _COLOURS.sub("", text(message) or ""))).strip()
    match = _STATUS_AND_BODY.match(plain)
    if match is None:
        return plain
    provider_message, _ = unwrap_provider_json(match[2])
    return plain if provider_message == match[2] else f"{match[1]}: {provider_message}"


def model_failure(message: Any, status: Any = None) -> TurnFailed:
    """How a turn ends whose last answer was an error."""
    cleaned = clean_message(message) or "the model failed, and the agent does not say how"
    return TurnFailed(cleaned, "AUTH_REQUIRED" if status == 401 or _NOT_SIGNED_IN.search(cleaned) else "MODEL_ERROR")


def prompt_refusal(message: Any) -> TurnFailed:
    """How a turn ends that did not start: the agent refused the prompt, or a setting before it."""
    cleaned = clean_message(message) or "the agent did not take the prompt, and does not say why"
    return TurnFailed(cleaned, "AUTH_REQUIRED" if _NOT_SIGNED_IN.search(cleaned) else "AGENT_ERROR")


def read_stderr(exit_code: int | None, stderr: str) -> AgentFault | None:
    """Why the agent ended early: the one line of stderr that says so, often inside a stack trace. None: no line has a
    known reason."""
    for line in clean_message(stderr).splitlines():
        code = None
        if _NO_SESSION.search(line):
            code = "SESSION_NOT_FOUND"
        elif _NOT_SIGNED_IN.search(line):
            code = "AUTH_REQUIRED"
        if code is not None:
            return AgentFault(_LABEL.sub("", line.partition(": /")[0]), code=code, exitCode=exit_code)
    return None
