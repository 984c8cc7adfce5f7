"""Agents of installed Python packages: entry points of the group `agui_gateway.agents`.

In: the installed packages. Out: {id: definition}; a broken one is logged. An entry point names a definition (a dict
with the keys of an agent's file, or an `AgentDefinition`) or a function that returns one. Its code is foreign: whatever
it raises, the other agents are loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, InvalidDefinition, define

GROUP = "agui_gateway.agents"

log = logging.getLogger(__name__)


def load_plugins(points: Iterable[EntryPoint] | None = None) -> Catalog:
    """The agents of all entry points. Broken ones are logged and left out."""
    catalog: Catalog = {}
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            definition = _load(point)
        except (Exception, SystemExit) as exc:
            log.warning("entry point %s: %s", _describe(point), _reason(exc))
            continue
        if definition.id in catalog:
            owner = catalog[definition.id].source
            log.warning("entry point %s: the id %r is already used by %s", _describe(point), definition.id, owner)
        else:
            catalog[definition.id] = definition
    return catalog


def _load(point: EntryPoint) -> AgentDefinition:
    value = point.load()
    if not isinstance(value, Mapping | AgentDefinition) and callable(value):
        value = value()
    source = Path(_describe(point))
    if isinstance(value, AgentDefinition):
        return value if value.source != Path() else value.model_copy(update={"source": source})
    if isinstance(value, Mapping):
        return define(value, source)
    raise TypeError(
        f"it is a {type(value).__name__}, not a dict, an AgentDefinition, or a function that returns one of them"
    )


def _describe(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _reason(exc: BaseException) -> str:
    return str(exc) if isinstance(exc, InvalidDefinition) else f"{type(exc).__name__}: {exc}"
