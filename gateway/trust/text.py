"""Text of a project's files, made safe to show: no control characters, no direction marks, bounded.

In: any string of a foreign file. Out: one line. What is cut is counted, so that a long command cannot hide its end
without a trace.
"""

from __future__ import annotations

import unicodedata

MAX_CHARS = 400
INVISIBLE = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
"""Unicode categories that are not shown: among them the marks that reverse the direction of a line."""


def show_text(value: str, limit: int = MAX_CHARS) -> str:
    """The end is shown as well as the beginning: a command's effect is often at its end."""
    head = value[: limit * 4]  # a file may have megabytes in one string
    visible = "".join(_visible(character) for character in head)
    line = " ".join(visible.split())
    rest = len(value) - len(head)
    if len(line) <= limit and not rest:
        return line
    tail = " ".join("".join(_visible(character) for character in value[-limit // 2 :]).split())
    kept = line[: limit // 2]
    return f"{kept} … ({len(value) - limit // 2 - len(tail)} characters are not shown) … {tail}"


def _visible(character: str) -> str:
    if character in "\n\t\r":
        return " "
    return "\ufffd" if unicodedata.category(character) in INVISIBLE else character
