"""Folders of TOML → {id: definition}. Every error names the file and the key."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from gateway.catalog.capability_table import model_in
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.problems import Place, Problem, place_of
from gateway.catalog.sections import Command, Identity
from gateway.errors import ConfigError

Catalog: TypeAlias = dict[str, AgentDefinition]

PARTS = frozenset(("fallback", "modes"))
"""Lists of tables that have capabilities of their own."""
LOADERS = frozenset(("source", "private", "via"))
"""Fields that are no keys of the format."""


def bundled() -> Path:
    """The agents that come along: inside the package when installed, at the project's top in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_agents"
    return inside if inside.is_dir() else package.parent / "agents"


def load_catalog(folders: Iterable[Path]) -> Catalog:
    """Later folders replace what earlier ones say of the same id; the order is fallback the files' own."""
    catalog: Catalog = {}
    for folder in folders:
        catalog.update(load_folder(folder))
    return catalog


def load_folder(folder: Path, *, lean: bool = False) -> Catalog:
    """`lean`: without capabilities, which take most of the time; for files that were checked before."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: not a folder. --agents names a folder of agent files (*.toml).")
    found: Catalog = {}
    for path in sorted(folder.glob("*.toml")):
        definition = load_file(path, lean=lean)
        if definition.id in found:
            raise ConfigError(f"{path}: id: {definition.id!r} is taken by {found[definition.id].source}")
        found[definition.id] = definition
    return found


def load_file(path: Path, *, lean: bool = False) -> AgentDefinition:
    try:
        # Decimal keeps prices exact.
        table = tomllib.loads(path.read_text("utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be read: {exc}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from exc
    if lean:
        table = _with_capabilities(table, lambda told: None)
    try:
        return define(table, path.resolve())
    except InvalidDefinition as exc:
        raise ConfigError(f"{path}: {exc.wrongs[0].text}", wrongs=exc.wrongs) from exc


class InvalidDefinition(Exception):
    def __init__(self, wrongs: Sequence[Problem]) -> None:
        super().__init__("; ".join(wrong.text for wrong in wrongs))
        self.wrongs = tuple(wrongs)


def _with_capabilities(table: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The table with its capabilities, and those of its parts, as `change` gives them; None takes them out."""
    made = {key: value for key, value in table.items() if key != "capabilities"}
    if "capabilities" in table and (changed := change(table["capabilities"])) is not None:
        made["capabilities"] = changed
    for name in PARTS & made.keys():
        if isinstance(parts := made[name], list):
            made[name] = [_with_capabilities(part, change) if isinstance(part, dict) else part for part in parts]
    return made


def define(table: Mapping[str, Any], source: Path, *, private: bool = True) -> AgentDefinition:
    """A definition from what its file or its request holds. Raises `InvalidDefinition` with all that is wrong."""
    table = _with_capabilities(table, _floats)
    own = [Problem((key,), _unknown(())) for key in LOADERS if key in table]
    told = {key: value for key, value in table.items() if key not in LOADERS}
    try:
        definition = AgentDefinition(**told, source=source, private=private)
    except ValidationError as exc:
        raise InvalidDefinition([*own, *map(_wrong, exc.errors(include_url=False))]) from exc
    if own:
        raise InvalidDefinition(own)
    return definition


def _floats(value: Any) -> Any:
    """What goes out as JSON: there a Decimal would become a string."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: _floats(item) for key, item in value.items()}
        case list():
            return [_floats(item) for item in value]
        case _:
            return value


def _wrong(error: Any) -> Problem:
    place = place_of(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return Problem(place, _unknown(place[:-1]))
        case "missing":
            return Problem(place, "is missing")
        case _:
            return Problem(place, error["msg"].removeprefix("Value error, "))


def _unknown(section: Place) -> str:
    return f"there is no such key. Known: {', '.join(_known(section))}."


def _known(section: Place) -> list[str]:
    """The keys of the table at this place."""
    model: type[BaseModel] = AgentDefinition
    for name in section:
        # An index, or a name of the author's own, leads no further in.
        fields = {field.alias or key: field for key, field in model.model_fields.items()}
        model = (model_in(fields[name].annotation) if name in fields else None) or model
    return sorted({field.alias or key for key, field in model.model_fields.items()} - LOADERS)


ACP_OPTIONS = ("model", "mode", "effort", "approvals", "cwd", "additionalDirectories", "mcpServers", "sessionId")
"""What any ACP agent may be asked; whether it can is found out when it is."""


def with_bare(catalog: Catalog, command_lines: Iterable[str]) -> Catalog:
    """The catalog, and an ACP agent for each command line, with the whole environment: as in the user's own shell."""
    found = dict(catalog)
    for line in command_lines:
        try:
            run = shlex.split(line)
        except ValueError as exc:
            raise ConfigError(f"--acp {line!r}: {exc}") from exc
        if not run or not run[0].strip():
            raise ConfigError("--acp needs a command line, for example: --acp 'gemini --acp'")
        name = re.sub(r"[^a-z0-9._-]+", "-", Path(run[0]).stem.lower()).strip("-._")[:64] or "acp"
        definition = AgentDefinition(
            id=name,
            driver="acp",
            identity=Identity(name=Path(run[0]).name),
            command=Command(run=tuple(run), inherit_env=("*",)),
            options=ACP_OPTIONS,
            source=Path("--acp"),
        )
        found[name] = definition
    return found
