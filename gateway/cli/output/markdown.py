"""Markdown for a terminal, set while it streams: pieces of text in any cut in, styled pieces out.

What is written stays: nothing is drawn again. So a marker is held back only until it is clear what it is: at the start
of a line a few characters, inside it one, and a table until its last row. Emphasis that is never closed ends with its
line. What is not Markdown comes out as it came in; links and ordered lists are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Piece = tuple[str, str]
"""Text, and its style in Rich's words."""

HEADING, BOLD, ITALIC, STRUCK, CODE, BLOCK, QUIET = "bold", "bold", "italic", "strike", "cyan", "cyan", "dim"

UNDECIDED = re.compile(
    r" *(?:#{1,6}|[-*+](?: (?:\[(?:[ xX]\]?)?)?)?|>|`{1,2}|~{1,2})?|(?P<rule> {0,3}(?P<mark>[-*_])(?: ?(?P=mark))* *)"
)
"""A start of a line of which more must be seen."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^\n]*")
ROW = re.compile(r" {0,3}\|")
RULE = re.compile(r" {0,3}([-*_])(?: ?\1){2,}\s*")
BLOCKS = re.compile(r"(?P<heading> {0,3}#{1,6} )|(?P<bullet> *[-*+] (?:\[(?P<box>[ xX])\] )?)|(?P<quote> {0,3}> ?)")
MARKS = "*_`~"
RULE_WIDTH = 40
TABLE_ROWS = 200
CELL = re.compile(r"(?<!\\)\|")


class StreamingMarkdown:
    """One message."""

    def __init__(self) -> None:
        self._held = ""
        self._fence = ""
        self._table: list[str] = []
        self._inside = False
        """Past the start of a line."""
        self._line = ""
        """The style of this line."""
        self._on: list[str] = []
        """Marks that are open, outermost first."""
        self._last = ""

    def feed(self, text: str) -> list[Piece]:
        return self._take(text, over=False)

    def close(self) -> list[Piece]:
        """The message is over: what was held back comes now."""
        return [*self._take("", over=True), *self._drawn()]

    def _take(self, text: str, *, over: bool) -> list[Piece]:
        self._held += text
        found: list[Piece] = []
        while self._held:
            before = (self._held, self._inside)
            found += self._words(over) if self._inside else self._start(over)
            if (self._held, self._inside) == before:
                break
        return found

    # -- the start of a line

    def _start(self, over: bool) -> list[Piece]:
        line, newline, _ = self._held.partition("\n")
        whole = bool(newline) or over
        if not whole and (UNDECIDED.fullmatch(line) or FENCE.fullmatch(line) or RULE.fullmatch(line)):
            return []
        if self._fence or FENCE.fullmatch(line):
            return self._code(line, newline) if whole else []
        if ROW.match(line):
            return self._row(line, newline) if whole else []
        drawn = self._drawn()
        if RULE.fullmatch(line):
            self._held = self._held[len(line) + len(newline) :]
            return [*drawn, ("─" * RULE_WIDTH + newline, QUIET)]
        return [*drawn, *self._opening()]

    def _opening(self) -> list[Piece]:
        self._inside, self._on, self._line, self._last = True, [], "", ""
        match = BLOCKS.match(self._held)
        if match is None:
            return []
        self._held = self._held[match.end() :]
        if match["heading"]:
            self._line = HEADING
            return []
        if match["quote"]:
            self._line = QUIET
            return [("│ ", QUIET)]
        indent = " " * (len(match[0]) - len(match[0].lstrip(" ")))
        return [(indent + {None: "• ", " ": "☐ "}.get(match["box"], "☑ "), QUIET)]

    def _code(self, line: str, newline: str) -> list[Piece]:
        self._held = self._held[len(line) + len(newline) :]
        if not self._fence:
            self._fence = line.strip()[:3]
            return self._drawn()
        if line.strip() and not line.strip().strip(self._fence[0]) and line.strip().startswith(self._fence):
            self._fence = ""
            return []
        return [(f"  {line}{newline}", BLOCK)]

    # -- tables

    def _row(self, line: str, newline: str) -> list[Piece]:
        self._held = self._held[len(line) + len(newline) :]
        self._table.append(line + newline)
        return self._drawn() if len(self._table) >= TABLE_ROWS else []

    def _drawn(self) -> list[Piece]:
        rows, self._table = self._table, []
        cells = [[cell.strip() for cell in CELL.split(row.strip().strip("|"))] for row in rows]
        if len(rows) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells[1]):
            return [(row, "") for row in rows]
        columns = max(map(len, cells))
        shown = [row + [""] * (columns - len(row)) for number, row in enumerate(cells) if number != 1]
        widths = [max(len(row[column]) for row in shown) for column in range(columns)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown]
        rule = "  ".join("─" * width for width in widths)
        body = "".join(f"{line.rstrip()}\n" for line in lines[1:])
        return [(f"{lines[0].rstrip()}\n", BOLD), (f"{rule}\n", QUIET), (body, "")]

    # -- inside a line

    def _words(self, over: bool) -> list[Piece]:
        line, newline, _ = self._held.partition("\n")
        found, used = list[Piece](), 0
        for piece, used in self._pieces(line, bool(newline) or over):  # noqa: B007
            found.append(piece)
        self._held = self._held[used:]
        if newline and used == len(line):
            self._held, self._inside = self._held[1:], False
            found.append(("\n", ""))
        return found

    def _pieces(self, line: str, whole: bool) -> Iterator[tuple[Piece, int]]:
        """Each piece, and how far the line is told with it."""
        at = 0
        while at < len(line):
            end = at
            while end < len(line) and line[end] not in MARKS:
                end += 1
            if end > at:
                self._last = line[end - 1]
                yield (line[at:end], self._style()), end
            at = end
            while end < len(line) and line[end] == line[at]:
                end += 1
            if end == at:
                return
            if end == len(line) and not whole:
                return  # what follows decides
            yield self._mark(line[at:end], line[end : end + 1]), end
            at = end

    def _mark(self, mark: str, after: str) -> Piece:
        kind = mark[:1] if mark[0] == "`" else mark
        if self._on and self._on[-1] == mark:
            self._on.pop()
            return "", ""
        coded = bool(self._on) and self._on[-1][0] == "`"
        word = self._last.isalnum() and after.isalnum()
        opens = not coded and bool(after) and not after.isspace() and kind in STYLES and not (mark[0] == "_" and word)
        if opens and mark not in self._on:
            self._on.append(mark)
            return "", ""
        self._last = mark[-1]
        return mark, self._style()

    def _style(self) -> str:
        return " ".join(dict.fromkeys(style for mark in ("", *self._on) if (style := self._named(mark))))

    def _named(self, mark: str) -> str:
        return STYLES.get(mark[:1] if mark[:1] == "`" else mark, "") if mark else self._line


STYLES = {"*": ITALIC, "_": ITALIC, "**": BOLD, "__": BOLD, "***": f"{BOLD} {ITALIC}", "~~": STRUCK, "`": CODE}
