"""Directories of TOML files → {id: definition}. Every error names the file and the key."""

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
from gateway.catalog.definition import BARE_SOURCE, AgentDefinition
from gateway.catalog.problems import Place, Problem, read_place
from gateway.catalog.renamed_keys import explain_key, explain_value
from gateway.catalog.sections import Command, Identity
from gateway.errors import ConfigError

Catalog: TypeAlias = dict[str, AgentDefinition]

TABLES_WITH_CAPABILITIES = frozenset(("fallback", "modes"))
"""Lists of tables that have capabilities of their own."""
LOADER_FIELDS = frozenset(("source", "private", "via", "other_transports", "base", "fallback_name"))
"""Fields of a definition that are not keys of the format."""


class InvalidDefinition(Exception):
    """A definition with mistakes; `problems` has them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.text for problem in problems))
        self.problems = tuple(problems)


def bundled() -> Path:
    """The directory of the bundled agents: inside the package when installed, at the project's top in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "_agents"
    return inside if inside.is_dir() else package.parent / "agents"


def load_catalog(folders: Iterable[Path]) -> Catalog:
    """The agents of all directories. A later directory replaces agents of the same id; otherwise the order is that of
    the files."""
    catalog: Catalog = {}
    for folder in folders:
        catalog.update(load_folder(folder))
    return catalog


def load_folder(folder: Path, *, lean: bool = False) -> Catalog:
    """`lean`: without capabilities, which take most of the time; for files that were checked before."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: not a directory. --agents expects a directory of agent files (*.toml).")
    catalog: Catalog = {}
    for path in sorted(folder.glob("*.toml")):
        definition = load_file(path, lean=lean)
        if definition.id in catalog:
            raise ConfigError(f"{path}: id: {definition.id!r} is already used by {catalog[definition.id].source}")
        catalog[definition.id] = definition
    return catalog


def load_file(path: Path, *, lean: bool = False) -> AgentDefinition:
    """Raises `ConfigError` with the first mistake; its `problems` has them all."""
    try:
        # Decimal keeps prices exact.
        table = tomllib.loads(path.read_text("utf-8"), parse_float=Decimal)
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: cannot be read: {exc}") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{path}: not TOML: {exc}") from exc
    if lean:
        table = _map_capabilities(table, lambda capabilities: None)
    try:
        return define(table, path.resolve())
    except InvalidDefinition as exc:
        raise ConfigError(f"{path}: {exc.problems[0].text}", problems=exc.problems) from exc


def define(table: Mapping[str, Any], source: Path, *, private: bool = True) -> AgentDefinition:
    """A definition from the table of a file or of a request. Raises `InvalidDefinition` with all mistakes."""
    table = _map_capabilities(table, _without_decimals)
    problems = [Problem((key,), _explain_unknown(())) for key in LOADER_FIELDS if key in table]
    keys = {key: value for key, value in table.items() if key not in LOADER_FIELDS}
    try:
        definition = AgentDefinition(**keys, source=source, private=private)
    except ValidationError as exc:
        raise InvalidDefinition([*problems, *map(_read_error, exc.errors(include_url=False))]) from exc
    if problems:
        raise InvalidDefinition(problems)
    return definition


def with_bare(catalog: Catalog, command_lines: Iterable[str]) -> Catalog:
    """The catalog and, for each command line, an ACP agent. It gets the whole environment, as in the user's shell."""
    extended = dict(catalog)
    for line in command_lines:
        try:
            run = shlex.split(line)
        except ValueError as exc:
            raise ConfigError(f"--acp {line!r}: {exc}") from exc
        if not run or not run[0].strip():
            raise ConfigError("--acp needs a command line, for example: --acp 'gemini --acp'")
        name = re.sub(r"[^a-z0-9._-]+", "-", Path(run[0]).stem.lower()).strip("-._")[:64] or "acp"
        extended[name] = AgentDefinition(
            id=name,
            driver="acp",
            identity=Identity(name=Path(run[0]).name),
            command=Command(run=tuple(run), inherit_env=("*",)),
            source=BARE_SOURCE,
        )
    return extended


def _map_capabilities(table: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The table with `change` applied to its capabilities and to those of its tables; None removes them."""
    changed = {key: value for key, value in table.items() if key != "capabilities"}
    if "capabilities" in table and (capabilities := change(table["capabilities"])) is not None:
        changed["capabilities"] = capabilities
    for name in TABLES_WITH_CAPABILITIES & changed.keys():
        if isinstance(parts := changed[name], list):
            changed[name] = [_map_capabilities(part, change) if isinstance(part, dict) else part for part in parts]
    return changed


def _without_decimals(value: Any) -> Any:
    """Capabilities go out as JSON, where a Decimal would become a string."""
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {key: _without_decimals(item) for key, item in value.items()}
        case list():
            return [_without_decimals(item) for item in value]
        case _:
            return value


def _read_error(error: Any) -> Problem:
    """A pydantic error in the format's own words."""
    place = read_place(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return Problem(place, explain_key(place) or _explain_unknown(place[:-1]))
        case "missing":
            return Problem(place, "is missing")
        case "literal_error" if (renamed := explain_value(place, error["input"])) is not None:
            return Problem(place, renamed)
        case _:
            return Problem(place, error["msg"].removeprefix("Value error, "))


def _explain_unknown(section: Place) -> str:
    return f"there is no such key. Known: {', '.join(_known_keys(section))}."


def _known_keys(section: Place) -> list[str]:
    """The keys of the table at this place."""
    model: type[BaseModel] = AgentDefinition
    for name in section:
        # An index, or a name that the author has chosen, is not a field: the model stays the same.
        fields = {field.alias or key: field for key, field in model.model_fields.items()}
        model = (model_in(fields[name].annotation) if name in fields else None) or model
    return sorted({field.alias or key for key, field in model.model_fields.items()} - LOADER_FIELDS)
