"""What pi and omp say in words → codes for programs, and words that may be shown.

In: messages of errors, and what was left on stderr. Out: the same without what is nobody's business, and a code. Never
a guess from the text of an answer: only from what the agent itself calls an error.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from gateway.errors import AgentFault
from gateway.events import TurnFailed
from gateway.wire.fields import obj, text

_REQUEST_DUMP = re.compile(r"\s*raw-http-request=\S*")
"""omp writes the request that failed to a file, and names the file in the error."""
_SIGN_IN = re.compile(
    r"\bno api key\b|\bno credentials\b|\bno models? (?:available|selected)\b|\bnot (?:logged|signed) in\b"
    r"|^\s*401\b|\binvalid (?:x-)?api[- ]key\b|\bauthentication_error\b",
    re.IGNORECASE,
)
_NO_SESSION = re.compile(
    r"no session found matching|session \"[^\"]*\" not found|session found in different project", re.IGNORECASE
)
_PLACES = re.compile(r"(?: See:)?(?:\n\s*(?:Or create )?/\S+)+")
"""Where on this machine to read on, or to write a file: not for whoever asks over the network."""
_BODY = re.compile(r"^(\d{3}): (\{.*\})$", re.DOTALL)
"""pi 1.x: a status and the provider's whole answer."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_LABEL = re.compile(r"^\s*error:\s*", re.IGNORECASE)


def cleaned(words: str) -> str:
    """Without paths of this machine and a terminal's colours; a provider's own message instead of its whole answer."""
    plain = _PLACES.sub("", _REQUEST_DUMP.sub("", _STYLE.sub("", words))).strip()
    body = _BODY.match(plain)
    if body is None:
        return plain
    try:
        said = text(obj(orjson.loads(body[2])).get("message"))
    except orjson.JSONDecodeError:
        said = None
    return f"{body[1]}: {said}" if said else plain


def model_fault(message: Any, status: Any = None) -> TurnFailed:
    """How a turn ends whose last answer was an error."""
    words = cleaned(text(message) or "") or "the model failed, and the agent does not say how"
    return TurnFailed(words, "AUTH_REQUIRED" if status == 401 or _SIGN_IN.search(words) else "MODEL_ERROR")


def refusal(message: Any) -> TurnFailed:
    """How a turn ends that never began: the agent did not take the prompt, or what had to be set before it."""
    words = cleaned(text(message) or "") or "the agent did not take the prompt, and does not say why"
    return TurnFailed(words, "AUTH_REQUIRED" if _SIGN_IN.search(words) else "AGENT_ERROR")


def last_words(exit_code: int | None, stderr: str) -> AgentFault | None:
    """What an agent that ended before its time says of it: the line that says so, for around it there may be a stack.
    None: nothing that has a code of its own."""
    for line in cleaned(stderr).splitlines():
        code = "SESSION_NOT_FOUND" if _NO_SESSION.search(line) else "AUTH_REQUIRED" if _SIGN_IN.search(line) else None
        if code is not None:
            return AgentFault(_LABEL.sub("", line.partition(": /")[0]), code=code, exitCode=exit_code)
    return None
