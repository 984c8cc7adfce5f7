"""A tool call's input, which may grow from update to update → its JSON text in deltas.

In: `rawInput` each time it comes. Out: deltas of the JSON text. Agents send the whole input with every piece, closed as
if it were complete; so a text is sent without its closing marks, and only once the next one continues it. At the end
they send the keys in another order; so each key keeps the place where it was first seen.
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
        """The delta that is certain now. Empty as long as no input has continued the one before."""
        before = self._text
        self._text = self._to_text(raw)
        if before is None:
            return ""
        certain = before.rstrip('}]"')
        if not self._text.startswith(certain) or not certain.startswith(self._sent):
            return ""
        delta = certain[len(self._sent) :]
        self._sent = certain
        return delta

    def finish(self) -> tuple[str, bool]:
        """The rest of the text; and False if the deltas turned out to be wrong, and were only closed."""
        text = "{}" if self._text is None else self._text
        if text.startswith(self._sent):
            return text[len(self._sent) :], True
        return close_json(self._sent), False

    def _to_text(self, raw: Any) -> str:
        if not isinstance(raw, dict):
            return json_text(raw)
        for key in raw:
            self._keys.setdefault(key)
        return json_text({key: raw[key] for key in self._keys if key in raw})


def close_json(text: str) -> str:
    """The text that makes valid JSON of one without its closing marks."""
    stack: list[str] = []
    is_quoted = is_escaped = False
    for char in text:
        if is_escaped:
            is_escaped = False
        elif is_quoted:
            is_quoted = char != '"'
            is_escaped = char == "\\"
        elif char == '"':
            is_quoted = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]":
            stack.pop()
    end = ""
    if is_quoted:
        end = _complete_escape(text) + '"'
    elif text.endswith(","):
        end = '"":null' if stack[-1] == "}" else "null"
    elif text.endswith(":"):
        end = "null"
    return end + "".join(reversed(stack))


def _complete_escape(text: str) -> str:
    """An escape that was cut in half becomes a harmless whole one."""
    if (half := _HALF_ESCAPE.search(text)) is None:
        return ""
    return "0" * (5 - len(half[1])) if half[1] else "\\"
