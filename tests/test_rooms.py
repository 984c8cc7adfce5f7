"""Who may import whom: the rooms of the house, as a table, held against every import there is.

A row names the rooms that its modules may use beside their own, and the libraries. The first row belongs to everybody.
What is not listed is left alone: so purity shows in the path, and the flow stays one way.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.project import ROOT


@dataclass(frozen=True, slots=True)
class Row:
    rooms: frozenset[str]
    libraries: frozenset[str]


def row(rooms: str = "", libraries: str = "") -> Row:
    return Row(frozenset(rooms.split()), frozenset(libraries.split()))


EVERYBODYS = "errors events jsontext settings tasks turn"
"""The vocabulary: every room may speak it, and it knows no room."""

TABLE: dict[str, Row] = {
    **dict.fromkeys(EVERYBODYS.split(), row(EVERYBODYS, "orjson pydantic")),
    "catalog": row(EVERYBODYS, "ag_ui pydantic"),
    "wire": row(EVERYBODYS, "orjson pydantic"),
    "agui": row(EVERYBODYS, "ag_ui jsonpatch jsonpointer orjson pydantic pydantic_core"),
    "encode": row(EVERYBODYS, "google orjson"),
    "capabilities": row(f"{EVERYBODYS} catalog", "orjson"),
    "drivers": row(
        f"{EVERYBODYS} catalog encode.protobuf_reader wire",
        "anyio httpx httpx2 mcp mcp_types orjson pydantic websockets",
    ),
    "store": row(EVERYBODYS, "anyio"),
    "runs": row(
        f"{EVERYBODYS} agui capabilities catalog drivers store", "anyio jsonschema orjson referencing watchfiles"
    ),
    "web": row(
        f"{EVERYBODYS} __init__ agui capabilities catalog drivers.probe encode runs",
        "anyio httptools orjson starlette uvicorn",
    ),
    # The last room. It shows agents without a server (`catalog`, `drivers`), serves, and is a client of its own server.
    "cli": row(
        f"{EVERYBODYS} __init__ catalog drivers web",
        "anyio click httpx jsonpatch jsonpointer jsonschema orjson referencing rich",
    ),
    "__main__": row("cli"),
    # What other programs import: the one place that looks back.
    "__init__": row("errors settings web"),
}
"""Room → what it may import: rooms, or one module of a room."""

PUT_TOGETHER = {"gateway.web.app": "store", "gateway.web.house": "store"}
"""Where the house is put together the store is opened. The routes only know that there is one."""

WAITS = {"gateway.capabilities.feed": "anyio"}
"""The one file of a pure room that waits: for changes of what the room computes, on behalf of whoever watches them."""

PURE = ("agui", "capabilities", "catalog", "encode", "wire")
"""No clock of their own, no files but the catalog's, no sockets: nothing that waits."""
WAITING = frozenset(("asyncio", "socket", "subprocess", "threading", "select", "selectors", "http", "urllib.request"))

GENERATED = Path("gateway/encode/pb")
MODULES = [path for path in sorted((ROOT / "gateway").rglob("*.py")) if GENERATED not in path.relative_to(ROOT).parents]


@dataclass(frozen=True, slots=True)
class Import:
    at: str
    """File and line."""
    name: str
    """What is imported, dotted."""

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


def room_of(name: str) -> str:
    """`gateway.agui.order` → `agui`; `gateway` itself is `__init__`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports(path: Path) -> Iterator[Import]:
    """Everything the module imports, wherever in it."""
    package = module_name(path).split(".")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            yield from (Import(where, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (Import(where, _meant(module, alias.name)) for alias in node.names)


def _meant(module: str, name: str) -> str:
    """`from gateway import jsontext` imports a module; `from gateway import __version__` a name."""
    if module == "gateway" and ((ROOT / "gateway" / name).is_dir() or (ROOT / "gateway" / f"{name}.py").is_file()):
        return f"gateway.{name}"
    return module


def rooms_entered(path: Path) -> list[Import]:
    return [found for found in imports(path) if found.top == "gateway"]


def libraries_used(path: Path) -> list[Import]:
    return [found for found in imports(path) if found.top not in (*sys.stdlib_module_names, "gateway")]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_room_enters_only_those_that_are_open_to_it(path: Path) -> None:
    name = module_name(path)
    allowed = TABLE[room_of(name)].rooms | {room_of(name), PUT_TOGETHER.get(name, "")}
    entered = rooms_entered(path)
    wrong = [found for found in entered if not {room_of(found.name), found.name.removeprefix("gateway.")} & allowed]
    assert [f"{found.at} imports {found.name}" for found in wrong] == []


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_room_uses_only_its_own_libraries(path: Path) -> None:
    name = module_name(path)
    allowed = TABLE[room_of(name)].libraries | {WAITS.get(name, "")}
    assert [f"{found.at} imports {found.name}" for found in libraries_used(path) if found.top not in allowed] == []


@pytest.mark.parametrize("path", [path for path in MODULES if room_of(module_name(path)) in PURE], ids=module_name)
def test_a_pure_room_has_nothing_that_waits(path: Path) -> None:
    found = [found for found in imports(path) if found.name in WAITING or found.top in WAITING]
    assert [f"{each.at} imports {each.name}" for each in found] == []


def test_the_table_has_every_room_and_no_other() -> None:
    assert {room_of(module_name(path)) for path in MODULES} == set(TABLE)


def test_the_first_row_knows_no_room() -> None:
    rooms = set(TABLE) - set(EVERYBODYS.split())
    assert all(not TABLE[name].rooms & rooms for name in EVERYBODYS.split())


def test_the_flow_has_no_way_back() -> None:
    """Following the table from any room never leads back to it, but by the front door."""
    for start in set(TABLE) - {"__init__"} - set(EVERYBODYS.split()):
        seen: set[str] = set()
        ahead = [*TABLE[start].rooms]
        while ahead:
            room = ahead.pop()
            room = room.partition(".")[0]
            if room not in seen and room != "__init__":
                seen.add(room)
                ahead += TABLE[room].rooms
        assert start not in seen
