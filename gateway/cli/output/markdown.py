"""Markdown for a terminal, rendered while it streams.

In: text, cut anywhere. Out: styled pieces. What was printed is never printed again, so a mark waits until its meaning
is clear: at the start of a line for a few characters, inside a line for one, a table for its last row. Emphasis that is
never closed ends with its line. Everything else, links and ordered lists too, is passed on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Piece = tuple[str, str]
"""Text and its style, as Rich names it."""

HEADING = "bold"
BOLD = "bold"
ITALIC = "italic"
STRIKE = "strike"
CODE = "cyan"
CODE_BLOCK = "cyan"
QUIET = "dim"

UNDECIDED = re.compile(
    r" *(?:#{1,6}|[-*+](?: (?:\[(?:[ xX]\]?)?)?)?|>|`{1,2}|~{1,2})?|(?P<rule> {0,3}(?P<mark>[-*_])(?: ?(?P=mark))* *)"
)
"""The start of a line whose meaning depends on what follows."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^\n]*")
ROW = re.compile(r" {0,3}\|")
RULE = re.compile(r" {0,3}([-*_])(?: ?\1){2,}\s*")
BLOCKS = re.compile(r"(?P<heading> {0,3}#{1,6} )|(?P<bullet> *[-*+] (?:\[(?P<box>[ xX])\] )?)|(?P<quote> {0,3}> ?)")
MARKS = "*_`~"
RULE_CHARS = 40
MAX_TABLE_ROWS = 200
CELL = re.compile(r"(?<!\\)\|")


class StreamingMarkdown:
    """The Markdown of one message."""

    def __init__(self) -> None:
        self._waiting = ""
        self._fence = ""
        self._table: list[str] = []
        self._is_inside_line = False
        self._line_style = ""
        self._open_marks: list[str] = []
        """Outermost first."""
        self._last_char = ""

    def feed(self, text: str) -> list[Piece]:
        return self._read(text, is_end=False)

    def close(self) -> list[Piece]:
        """The message is complete: returns what waited for more text."""
        return [*self._read("", is_end=True), *self._render_table()]

    def _read(self, text: str, *, is_end: bool) -> list[Piece]:
        self._waiting += text
        pieces: list[Piece] = []
        while self._waiting:
            before = (self._waiting, self._is_inside_line)
            pieces += self._read_inside(is_end) if self._is_inside_line else self._read_start(is_end)
            if (self._waiting, self._is_inside_line) == before:
                break
        return pieces

    # -- the start of a line

    def _read_start(self, is_end: bool) -> list[Piece]:
        line, newline, _ = self._waiting.partition("\n")
        is_complete = bool(newline) or is_end
        if not is_complete and (UNDECIDED.fullmatch(line) or FENCE.fullmatch(line) or RULE.fullmatch(line)):
            return []
        if self._fence or FENCE.fullmatch(line):
            return self._read_code(line, newline) if is_complete else []
        if ROW.match(line):
            return self._read_row(line, newline) if is_complete else []
        table = self._render_table()
        if RULE.fullmatch(line):
            self._waiting = self._waiting[len(line) + len(newline) :]
            return [*table, ("─" * RULE_CHARS + newline, QUIET)]
        return [*table, *self._open_line()]

    def _open_line(self) -> list[Piece]:
        self._is_inside_line = True
        self._open_marks = []
        self._line_style = ""
        self._last_char = ""
        match = BLOCKS.match(self._waiting)
        if match is None:
            return []
        self._waiting = self._waiting[match.end() :]
        if match["heading"]:
            self._line_style = HEADING
            return []
        if match["quote"]:
            self._line_style = QUIET
            return [("│ ", QUIET)]
        indent = " " * (len(match[0]) - len(match[0].lstrip(" ")))
        return [(indent + {None: "• ", " ": "☐ "}.get(match["box"], "☑ "), QUIET)]

    def _read_code(self, line: str, newline: str) -> list[Piece]:
        self._waiting = self._waiting[len(line) + len(newline) :]
        if not self._fence:
            self._fence = line.strip()[:3]
            return self._render_table()
        if line.strip() and not line.strip().strip(self._fence[0]) and line.strip().startswith(self._fence):
            self._fence = ""
            return []
        return [(f"  {line}{newline}", CODE_BLOCK)]

    # -- tables

    def _read_row(self, line: str, newline: str) -> list[Piece]:
        self._waiting = self._waiting[len(line) + len(newline) :]
        self._table.append(line + newline)
        return self._render_table() if len(self._table) >= MAX_TABLE_ROWS else []

    def _render_table(self) -> list[Piece]:
        rows = self._table
        self._table = []
        cells = [[cell.strip() for cell in CELL.split(row.strip().strip("|"))] for row in rows]
        if len(rows) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells[1]):
            return [(row, "") for row in rows]
        columns = max(map(len, cells))
        padded = [row + [""] * (columns - len(row)) for number, row in enumerate(cells) if number != 1]
        widths = [max(len(row[column]) for row in padded) for column in range(columns)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in padded]
        rule = "  ".join("─" * width for width in widths)
        body = "".join(f"{line.rstrip()}\n" for line in lines[1:])
        return [(f"{lines[0].rstrip()}\n", BOLD), (f"{rule}\n", QUIET), (body, "")]

    # -- inside a line

    def _read_inside(self, is_end: bool) -> list[Piece]:
        line, newline, _ = self._waiting.partition("\n")
        pieces: list[Piece] = []
        used = 0
        for piece, used in self._split(line, bool(newline) or is_end):  # noqa: B007
            pieces.append(piece)
        self._waiting = self._waiting[used:]
        if newline and used == len(line):
            self._waiting = self._waiting[1:]
            self._is_inside_line = False
            pieces.append(("\n", ""))
        return pieces

    def _split(self, line: str, is_complete: bool) -> Iterator[tuple[Piece, int]]:
        """Each piece, and how many characters of the line it completes."""
        at = 0
        while at < len(line):
            end = at
            while end < len(line) and line[end] not in MARKS:
                end += 1
            if end > at:
                self._last_char = line[end - 1]
                yield (line[at:end], self._style()), end
            at = end
            while end < len(line) and line[end] == line[at]:
                end += 1
            if end == at:
                return
            if end == len(line) and not is_complete:
                return  # the next character decides
            yield self._read_mark(line[at:end], line[end : end + 1]), end
            at = end

    def _read_mark(self, mark: str, after: str) -> Piece:
        kind = mark[:1] if mark[0] == "`" else mark
        if self._open_marks and self._open_marks[-1] == mark:
            self._open_marks.pop()
            return "", ""
        is_code = bool(self._open_marks) and self._open_marks[-1][0] == "`"
        is_intraword = self._last_char.isalnum() and after.isalnum()
        can_open = (
            not is_code
            and bool(after)
            and not after.isspace()
            and kind in STYLES
            and not (mark[0] == "_" and is_intraword)
        )
        if can_open and mark not in self._open_marks:
            self._open_marks.append(mark)
            return "", ""
        self._last_char = mark[-1]
        return mark, self._style()

    def _style(self) -> str:
        return " ".join(dict.fromkeys(style for mark in ("", *self._open_marks) if (style := self._style_of(mark))))

    def _style_of(self, mark: str) -> str:
        return STYLES.get(mark[:1] if mark[:1] == "`" else mark, "") if mark else self._line_style


STYLES = {"*": ITALIC, "_": ITALIC, "**": BOLD, "__": BOLD, "***": f"{BOLD} {ITALIC}", "~~": STRIKE, "`": CODE}
