"""The modes of a session: what the agent's file states of each. Pure.

In: what a session is set to, and `[[modes]]` of the agent's file. Out: the capabilities of the mode that the session is
in, attributed to the file; and the session's list of modes, with the names that the agent itself does not give. Never:
a mode that the session does not report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.capabilities.statement import LayerStatement
from gateway.capability_paths import CONFIG, MODE, MODES, PERMISSION_MODE, SANDBOX, flatten
from gateway.catalog.capability_table import snake
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Mode
from gateway.events import Layer


def mode_layers(definition: AgentDefinition, session_layer: Layer) -> list[LayerStatement]:
    """The capabilities of each setting that the session has now."""
    entries: dict[tuple[str, Any], Mode] = {(mode.setting, mode.id): mode for mode in definition.modes}
    current = [entries.get(setting) for setting in _current_settings(session_layer)] if entries else []
    return [_mode_layer(definition, mode) for mode in current if mode is not None and mode.capabilities]


def _current_settings(session_layer: Layer) -> Iterator[tuple[str, Any]]:
    """Later ones win: permissions and sandbox are what a mode comes to."""
    yield "mode", session_layer.get(MODE)
    for option in session_layer.get(CONFIG) or ():
        value = option.get("value")
        yield "config", f"{option.get('id')}={str(value).lower() if isinstance(value, bool) else value}"
    yield "permissions", session_layer.get(PERMISSION_MODE)
    yield "sandbox", session_layer.get(SANDBOX)


def _mode_layer(definition: AgentDefinition, mode: Mode) -> LayerStatement:
    def key_of(path: str) -> str:
        return f"modes.{mode.id}.capabilities.{snake(path)}"

    return LayerStatement("session", _file_of_modes(definition), flatten(mode.capabilities), key_of=key_of)


def _file_of_modes(definition: AgentDefinition) -> str:
    """Another transport of an agent has the modes of the agent's file, unless its own file states some."""
    base: AgentDefinition | None = definition.base
    origin = definition if base is None or base.modes != definition.modes else base
    return origin.source.name


def listed_modes(definition: AgentDefinition) -> list[dict[str, str]]:
    """The modes of the file, as a session lists them."""
    return [mode.to_json() for mode in definition.modes if mode.setting == "mode"]


def name_modes(definition: AgentDefinition, values: Layer, layer: str) -> LayerStatement | None:
    """The list of modes that a layer has, with the names and descriptions of the file where it has none; None if the
    file adds nothing. `layer`: the one whose `values` these are."""
    reported = values.get(MODES)
    known = {mode["id"]: mode for mode in listed_modes(definition)}
    if not reported or not known:
        return None
    named = _add_names(reported, known)
    if named == reported:
        return None
    source = f"what the agent reported, with names of {_file_of_modes(definition)}"
    return LayerStatement(layer, source, {MODES: named})


def _add_names(reported: Sequence[Mapping[str, Any]], known: Mapping[str, dict[str, str]]) -> list[dict[str, Any]]:
    return [{**known.get(str(mode.get("id")), {}), **mode} for mode in reported]
