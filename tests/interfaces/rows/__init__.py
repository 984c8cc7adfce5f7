"""The rows of the three documents that the snapshot is held against, as data: `*.toml`, one line a row.

A row is one promise, in words of our own. It works, which the named tests show; or it is different on purpose, for the
reason that stands in `docs/compatibility.md`; or it is not reached, for the reason that stands beside it. A row that is
only text is shown by the test of its section; `{row}` in the name of a test stands for the row's id.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).parent
State = Literal["works", "different", "open"]


@dataclass(frozen=True, slots=True)
class Row:
    id: str
    name: str
    """The last part of the id."""
    promise: str
    tests: tuple[str, ...]
    """`tests/path.py::test_name`, with or without parameters."""
    different: str | None = None
    """The point of `docs/compatibility.md`."""
    open: str | None = None
    """Why it is not reached."""

    @property
    def state(self) -> State:
        return "different" if self.different else "open" if self.open else "works"


@dataclass(frozen=True, slots=True)
class Section:
    id: str
    title: str
    usual_test: str | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    rows_expected: int
    sections: tuple[Section, ...]

    @property
    def name(self) -> str:
        """Of the project that published it."""
        return self.title.partition(":")[0]

    @property
    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]

    def count(self, state: State) -> int:
        return sum(row.state == state for row in self.rows)


@cache
def documents() -> tuple[Document, ...]:
    return tuple(_read(HERE / f"{name}.toml") for name in ("ag_ui", "agents_wire", "agent_mux"))


def ids(section: str, names: Iterable[str]) -> list[str]:
    """The ids of rows, for the parameters of a test."""
    return [f"{section}.{name}" for name in names]


def _read(path: Path) -> Document:
    file = tomllib.loads(path.read_text("utf-8"))
    sections = tuple(_section(section) for section in file["section"])
    return Document(file["document"], file["rows"], sections)


def _section(section: dict[str, Any]) -> Section:
    usual = section.get("test")
    rows = tuple(_row(section["id"], name, stated, usual) for name, stated in section["rows"].items())
    return Section(section["id"], section["title"], usual, rows)


def _row(section: str, name: str, stated: str | dict[str, Any], usual: str | None) -> Row:
    entry: dict[str, Any] = {"promise": stated} if isinstance(stated, str) else dict(stated)
    is_reached = not entry.keys() & {"different", "open"}
    tests = _as_list(entry.pop("test", [usual] if usual and is_reached else []))
    tests += _as_list(entry.pop("also", []))
    row_id = f"{section}.{name}"
    return Row(row_id, name, tests=tuple(test.replace("{row}", row_id) for test in tests), **entry)


def _as_list(tests: str | list[str]) -> list[str]:
    return [tests] if isinstance(tests, str) else [*tests]
