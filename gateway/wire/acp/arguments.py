"""A tool call's input, which may grow from update to update → its JSON text in pieces that only ever append.

In: `rawInput` each time it comes. Out: deltas of the text. Two habits of agents decide how. They send the input anew
with every piece, closed as if it were complete: so a text is told without its closing marks, and only once the next
one goes on from it. And they send the keys in another order at the end: so each key keeps the place it was first
seen at.
"""

from __future__ import annotations

import re
from typing import Any

from gateway.wire.fields import json_text

_HALF_ESCAPE = re.compile(r"(?:[^\\]|^)(?:\\\\)*\\(u[0-9a-fA-F]{0,3})?$")


class Arguments:
    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._text: str | None = None
        self._sent = ""

    def grow(self, raw: Any) -> str:
        """What may be told now. Nothing, as long as no input has proved to go on from the one before."""
        before, self._text = self._text, self._written(raw)
        if before is None:
            return ""
        settled = before.rstrip('}]"')
        if not self._text.startswith(settled) or not settled.startswith(self._sent):
            return ""
        delta, self._sent = settled[len(self._sent) :], settled
        return delta

    def finish(self) -> tuple[str, bool]:
        """The rest of the text; False if what was told already turned out to be wrong and was merely closed."""
        text = "{}" if self._text is None else self._text
        if text.startswith(self._sent):
            return text[len(self._sent) :], True
        return closing(self._sent), False

    def _written(self, raw: Any) -> str:
        if not isinstance(raw, dict):
            return json_text(raw)
        for key in raw:
            self._keys.setdefault(key)
        return json_text({key: raw[key] for key in self._keys if key in raw})


def closing(text: str) -> str:
    """What makes valid JSON of a text whose closing marks were taken away."""
    stack: list[str] = []
    quoted = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif quoted:
            quoted, escaped = char != '"', char == "\\"
        elif char == '"':
            quoted = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]":
            stack.pop()
    end = ""
    if quoted:
        end = _escape_end(text) + '"'
    elif text.endswith(","):
        end = '"":null' if stack[-1] == "}" else "null"
    elif text.endswith(":"):
        end = "null"
    return end + "".join(reversed(stack))


def _escape_end(text: str) -> str:
    """An escape that was cut in half becomes a harmless whole one."""
    if (half := _HALF_ESCAPE.search(text)) is None:
        return ""
    return "0" * (5 - len(half[1])) if half[1] else "\\"
