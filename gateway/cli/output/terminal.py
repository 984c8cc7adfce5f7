"""Helpers for the terminal: signs, colours, columns, and text without control characters."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from rich.console import Console

SYMBOLS = {"ready": "✓", "needs-auth": "!", "broken": "✗", "not-installed": "○"}
COLOURS = {"ready": "green", "needs-auth": "yellow", "broken": "red", "not-installed": "dim"}

_CONTROL_CHARACTERS = dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t")
"""A terminal would obey them, also in the text of an agent."""


def printable(text: str) -> str:
    """An agent's text without characters that would move the cursor, change colours or set the title. Not for pipes:
    they get the text unchanged."""
    return text.translate(_CONTROL_CHARACTERS)


def can_write(text: str) -> bool:
    """Whether the encoding of stdout has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns two spaces apart, whatever the width of the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def console(*, stderr: bool = False) -> Console:
    """A console that interprets no markup and wraps nothing; with NO_COLOR it writes no escape sequences."""
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, color_system=colours)
