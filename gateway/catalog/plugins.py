"""Agents that installed Python packages bring along: entry points of the group `agui_gateway.agents`.

In: what is installed. Out: {id: definition}, and what is wrong with the others. An entry point names a definition (a
dict with the keys of an agent's file, or an `AgentDefinition`) or a function that returns one. It is somebody else's
code: whatever it raises, the other agents stand.
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


def plugins(points: Iterable[EntryPoint] | None = None) -> Catalog:
    """The broken ones are logged and left out."""
    found: Catalog = {}
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            definition = _load(point)
        except (Exception, SystemExit) as exc:
            log.warning("entry point %s: %s", _name(point), _why(exc))
            continue
        if definition.id in found:
            taken = found[definition.id].source
            log.warning("entry point %s: the id %r is taken by %s", _name(point), definition.id, taken)
        else:
            found[definition.id] = definition
    return found


def _load(point: EntryPoint) -> AgentDefinition:
    told = point.load()
    if not isinstance(told, Mapping | AgentDefinition) and callable(told):
        told = told()
    source = Path(_name(point))
    if isinstance(told, AgentDefinition):
        return told if told.source != Path() else told.model_copy(update={"source": source})
    if isinstance(told, Mapping):
        return define(told, source)
    raise TypeError(f"it gives a {type(told).__name__}: a dict, an AgentDefinition, or a function of one is needed")


def _name(point: EntryPoint) -> str:
    return f"{point.name} = {point.value}"


def _why(exc: BaseException) -> str:
    return str(exc) if isinstance(exc, InvalidDefinition) else f"{type(exc).__name__}: {exc}"
