"""Why a turn failed, by one table of causes, whichever agent it was.

In: the code that a dialect found and the text of the error. Out: the code for clients. A dialect that knows the cause
keeps its code; where it knows only that the model or the agent failed, the provider's status and words in the text
decide. Foreign text never raises. Pure.
"""

from __future__ import annotations

import re

UNSPECIFIC_CODES = frozenset(("MODEL_ERROR", "AGENT_ERROR"))
"""Codes that leave the cause open."""
MAX_CHARS = 4_000
"""Of the text that is read."""

STATUS = re.compile(
    r"(?:\b(?:HTTP(?:/\d(?:\.\d)?)?|status(?:[ _]?code)?|API[ _]Error|error(?:[ _]code)?|code)\b[\"':=\s(\[]{0,4}|^\s*)"
    r"([45]\d\d)\b(?![.,]?\d)",
    re.IGNORECASE,
)
"""An HTTP status of the provider, as agents write it: `API Error: 401`, `HTTP 429`, `"code": 503`."""

CAUSES: tuple[tuple[str, frozenset[int], re.Pattern[str]], ...] = (
    (
        "CONTEXT_TOO_LONG",
        frozenset((413,)),
        re.compile(
            r"context[ _-]?(?:length|window|size|limit)?[ _-]?(?:is |was )?(?:exceeded|overflow|too long|too large)"
            r"|prompt is too long|prompt_too_long|maximum context length|exceeds? the (?:model'?s )?context"
            r"|input (?:is|token count).{0,40}(?:too long|exceeds)",
            re.IGNORECASE,
        ),
    ),
    (
        "QUOTA_EXCEEDED",
        frozenset((402, 429)),
        re.compile(
            r"insufficient[ _]quota|quota (?:was |has been )?exceeded|exceeded your (?:current )?quota"
            r"|RESOURCE_EXHAUSTED|rate[ _-]?limit(?:ed|_error| exceeded| reached)|too many requests"
            r"|credit balance is too low|usage limit (?:reached|exceeded)|billing_(?:error|hard_limit)",
            re.IGNORECASE,
        ),
    ),
    (
        "MODEL_OVERLOADED",
        frozenset((503, 529)),
        re.compile(r"overloaded(?:_error)?\b|model is overloaded|service unavailable|server is busy", re.IGNORECASE),
    ),
    (
        "AUTH_REQUIRED",
        frozenset((401, 403)),
        re.compile(
            r"invalid (?:x-)?api[ -_]?key|incorrect api key|authentication_error|authentication failed"
            r"|\bunauthorized\b|not (?:logged|signed) in|please (?:log|sign) in"
            r"|api key (?:not valid|is missing|not found)",
            re.IGNORECASE,
        ),
    ),
)
"""Code, the statuses and the words that mean it; the first that fits counts. Words come before statuses: providers send
a full context and a used-up quota with one and the same status."""

CODES = ("AUTH_REQUIRED", "MODEL_ERROR", "QUOTA_EXCEEDED", "MODEL_OVERLOADED", "CONTEXT_TOO_LONG", "AGENT_ERROR")
"""What a failed turn can have as its cause, beside the failures of the agent's process and protocol."""


def find_cause(code: str, message: str) -> str:
    """The code of the cause; the code as it is where the text tells nothing more."""
    if code not in UNSPECIFIC_CODES:
        return code
    beginning = message[:MAX_CHARS]
    for cause, _, text in CAUSES:
        if text.search(beginning):
            return cause
    statuses = {int(found) for found in STATUS.findall(beginning)}
    for cause, numbers, _ in CAUSES:
        if statuses & numbers:
            return cause
    return "MODEL_ERROR" if statuses else code
