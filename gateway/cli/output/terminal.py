"""What every command needs of a terminal: signs and colours, columns without one, and text that cannot steer it."""

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

_STEERING = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
"""Control characters: a terminal obeys them, whoever wrote them."""
for _kept in "\n\t":
    del _STEERING[ord(_kept)]


def harmless(text: str) -> str:
    """An agent's words without what would move the cursor, change colours or set the title. Not for pipes: there the
    text goes out as it is."""
    return text.translate(_STEERING)


def can_write(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns two spaces apart, without a terminal's width in mind."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def console(*, stderr: bool = False) -> Console:
    """Words as they are: no markup in them, no wrapping, and with NO_COLOR no escape sequences at all."""
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True, color_system=colours)
