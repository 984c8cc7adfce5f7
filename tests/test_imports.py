"""Which package may import which: the table, held against every import in `gateway/`.

A row names what the package's modules may import beside their own package, and the libraries they may use. Every
package may import the vocabulary. So a path says whether a module is pure, and calls go one way: down.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.project import ROOT


@dataclass(frozen=True, slots=True)
class Row:
    packages: frozenset[str]
    libraries: frozenset[str]


def row(packages: str = "", libraries: str = "") -> Row:
    return Row(frozenset(packages.split()), frozenset(libraries.split()))


VOCABULARY = " ".join(
    (
        *("background", "capability_paths", "configuration", "errors", "events", "gateway_files", "identity"),
        *("json_patch", "jsonio", "limits", "settings", "turn"),
    )
)
"""Modules that every package may import; they import no package."""

TABLE: dict[str, Row] = {
    **dict.fromkeys(VOCABULARY.split(), row(VOCABULARY, "orjson pydantic")),
    "catalog": row(VOCABULARY, "ag_ui pydantic"),
    "wire": row(VOCABULARY, "orjson pydantic"),
    "agui": row(VOCABULARY, "ag_ui jsonpatch jsonpointer orjson pydantic pydantic_core"),
    "encode": row(VOCABULARY, "google orjson"),
    "capabilities": row(f"{VOCABULARY} catalog", "orjson"),
    "drivers": row(
        f"{VOCABULARY} catalog encode.protobuf.decoder wire",
        "anyio httpx2 mcp mcp_types orjson pydantic websockets",
    ),
    # Which folders may configure agents: used before a run starts, and by the command that shows and edits it.
    "trust": row(f"{VOCABULARY} catalog"),
    "store": row(VOCABULARY, "anyio"),
    "git": row(VOCABULARY),
    # Used wherever something is done that the operator wants to read about afterwards.
    "audit": row(f"{VOCABULARY} agui.option_secrets store", "anyio orjson"),
    "registry": row(f"{VOCABULARY} audit catalog drivers store", "anyio orjson watchfiles"),
    "runs": row(
        f"{VOCABULARY} agui audit capabilities catalog drivers git registry store trust",
        "anyio jsonschema orjson referencing",
    ),
    "threads": row(f"{VOCABULARY} agui audit capabilities catalog drivers git registry runs store", "anyio orjson"),
    "service": row(
        f"{VOCABULARY} agui audit capabilities catalog drivers registry runs store threads trust", "anyio orjson"
    ),
    "web": row(
        f"{VOCABULARY} __init__ agui audit capabilities catalog encode registry runs service threads",
        "anyio httptools httpx2 jwt orjson sse_starlette starlette uvicorn",
    ),
    # The last package: it shows agents without a server (`catalog`, `drivers`), serves, and is a client of the gateway.
    "cli": row(
        f"{VOCABULARY} __init__ catalog drivers trust web",
        "anyio click httpx jsonpatch jsonpointer jsonschema orjson referencing rich",
    ),
    "__main__": row("cli"),
    # The public names: the one place that imports from above.
    "__init__": row("errors events settings turn web"),
}
"""Package → what it may import: packages, or one module of a package."""

WAITING_MODULES = {"gateway.capabilities.feed": "anyio"}
"""The one module of a pure package that waits: for changes of snapshots, on behalf of watchers."""

PURE_PACKAGES = ("agui", "capabilities", "catalog", "encode", "wire")
"""No clock, no files but the catalog's, no sockets: nothing that waits."""
WAITING_LIBRARIES = frozenset(
    ("asyncio", "socket", "subprocess", "threading", "select", "selectors", "http", "urllib.request")
)

GENERATED = Path("gateway/encode/protobuf/pb")
MODULES = [path for path in sorted((ROOT / "gateway").rglob("*.py")) if GENERATED not in path.relative_to(ROOT).parents]


@dataclass(frozen=True, slots=True)
class Import:
    location: str
    """File and line."""
    name: str
    """The imported module, dotted."""

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.location} imports {self.name}"


def package_of(name: str) -> str:
    """`gateway.agui.ordering` → `agui`; `gateway` itself is `__init__`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """All imports of the module, wherever they stand in it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        location = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            yield from (Import(location, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{location}: imports in gateway/ are absolute"
            yield from (Import(location, _module(node.module or "", alias.name)) for alias in node.names)


def _module(module: str, name: str) -> str:
    """`from gateway import jsonio` imports a module; `from gateway import __version__` a name."""
    if module == "gateway" and ((ROOT / "gateway" / name).is_dir() or (ROOT / "gateway" / f"{name}.py").is_file()):
        return f"gateway.{name}"
    return module


def _is_allowed(name: str, allowed: frozenset[str]) -> bool:
    dotted = name.removeprefix("gateway.")
    return package_of(name) in allowed or any(dotted == row or dotted.startswith(f"{row}.") for row in allowed)


def test_packages_import_only_what_their_row_names() -> None:
    wrong = []
    for path in MODULES:
        name = module_name(path)
        allowed = TABLE[package_of(name)].packages | {package_of(name)}
        wrong += [str(each) for each in imports(path) if each.top == "gateway" and not _is_allowed(each.name, allowed)]
    assert wrong == []


def test_packages_use_only_their_own_libraries() -> None:
    wrong = []
    for path in MODULES:
        name = module_name(path)
        allowed = (
            TABLE[package_of(name)].libraries | {WAITING_MODULES.get(name, ""), "gateway"} | sys.stdlib_module_names
        )
        wrong += [str(each) for each in imports(path) if each.top not in allowed]
    assert wrong == []


def test_pure_packages_import_nothing_that_waits() -> None:
    pure = [path for path in MODULES if package_of(module_name(path)) in PURE_PACKAGES]
    wrong = [
        str(each)
        for path in pure
        for each in imports(path)
        if each.name in WAITING_LIBRARIES or each.top in WAITING_LIBRARIES
    ]
    assert len(pure) > 100
    assert wrong == []


def test_the_table_has_every_package_and_no_other() -> None:
    assert {package_of(module_name(path)) for path in MODULES} == set(TABLE)


def test_the_vocabulary_imports_no_package() -> None:
    packages = set(TABLE) - set(VOCABULARY.split())
    assert all(not TABLE[name].packages & packages for name in VOCABULARY.split())


def test_no_package_is_reached_again_from_what_it_imports() -> None:
    for start in set(TABLE) - {"__init__"} - set(VOCABULARY.split()):
        seen: set[str] = set()
        ahead = [*TABLE[start].packages]
        while ahead:
            package = ahead.pop().partition(".")[0]
            if package not in seen and package != "__init__":
                seen.add(package)
                ahead += TABLE[package].packages
        assert start not in seen
