"""One agent, several transports: the ways to run it, each as a definition of its own.

In: the definition of an agent with its `[[fallback]]` tables, and the files that are another transport of it
(`transport_of`). Out: the transports, the best first; through each of them the agent has one complete definition. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.capability_paths import flatten, unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.fallback import Fallback
from gateway.catalog.sections import Auth, Command
from gateway.catalog.trust import Trust

SHARED_PREFIXES = ("multiAgent.", "execution.", "state.", "tools.items", "tools.parallelCalls")
"""Capabilities of the program, whichever protocol it is used by. The others depend on the protocol."""


@dataclass(frozen=True, slots=True)
class Transport:
    name: str
    """Shown as `custom.gateway.transport`."""
    definition: AgentDefinition
    """The agent as it is through this transport alone."""


@dataclass(frozen=True, slots=True)
class TransportCommand:
    transport: str | None
    """The name of the transport; None: the agent's first."""
    command: Command
    auth: tuple[Auth, ...]


def link_transports(catalog: Mapping[str, AgentDefinition]) -> dict[str, AgentDefinition]:
    """The catalog, in which each agent has the transports of the other files, and these have the facts of the agent.
    A file whose agent is missing is an agent like any other."""
    linked = dict(catalog)
    for definition in catalog.values():
        agent = catalog.get(definition.transport_of or "")
        if agent is None or agent.transport_of is not None or not _is_compatible(agent, definition):
            continue
        extended = _with_facts(definition, agent)
        linked[definition.id] = extended
        current = linked[agent.id]
        others = (*current.other_transports, extended)
        modes, config = _merge_auto_approval(current, extended)
        changes = {"other_transports": others, "auto_approve_modes": modes, "auto_approve_config": config}
        linked[agent.id] = current.model_copy(update=changes)
    return linked


def _merge_auto_approval(agent: AgentDefinition, other: AgentDefinition) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A mode that turns questions off through one of the transports counts for all: which one will be used is known
    only when it has started."""
    modes = dict.fromkeys((*agent.auto_approve_modes, *other.auto_approve_modes))
    config = dict.fromkeys((*agent.auto_approve_config, *other.auto_approve_config))
    return tuple(modes), tuple(config)


def _is_compatible(agent: AgentDefinition, transport: AgentDefinition) -> bool:
    return agent.is_local_process and transport.is_local_process and agent.id != transport.id


def _with_facts(transport: AgentDefinition, agent: AgentDefinition) -> AgentDefinition:
    """The transport's definition with what its file leaves out and the agent's file states of the program."""
    shared = {path: value for path, value in flatten(agent.capabilities).items() if path.startswith(SHARED_PREFIXES)}
    manifest = agent.manifest.model_dump(exclude_none=True) | transport.manifest.model_dump(exclude_none=True)
    changes = {
        "base": agent.model_copy(update={"fallback": (), "capabilities": unflatten(shared)}),
        "capabilities": unflatten(shared | flatten(transport.capabilities)),
        "manifest": type(agent.manifest)(**manifest),
        "modes": transport.modes or agent.modes,
        "mcp_tool_names": transport.mcp_tool_names or agent.mcp_tool_names,
    }
    return transport.model_copy(update=changes)


def list_transports(definition: AgentDefinition) -> tuple[Transport, ...]:
    """The agent's own command first, then other files, then its `[[fallback]]` tables: those can do less. A file with
    the command of another transport adds none."""
    plain = definition
    if definition.fallback or definition.other_transports:
        plain = definition.model_copy(update={"fallback": (), "other_transports": ()})
    transports = []
    for name, origin in _list_origins(definition):
        if isinstance(origin, Fallback):
            transports.append(Transport(name, _apply_fallback(plain, origin)))
        elif origin is definition:
            transports.append(Transport(name, plain))
        else:
            own = {
                "id": definition.id,
                "identity": definition.identity,
                "auto_approve_modes": definition.auto_approve_modes,
                "auto_approve_config": definition.auto_approve_config,
            }
            transports.append(Transport(name, origin.model_copy(update=own)))
    return tuple(transports)


def list_commands(definition: AgentDefinition) -> Iterator[TransportCommand]:
    """In the order of the transports."""
    for number, (name, origin) in enumerate(_list_origins(definition)):
        if origin.command is not None:
            auth = definition.auth if isinstance(origin, Fallback) else origin.auth
            yield TransportCommand(name if number else None, origin.command, auth)


def _list_origins(definition: AgentDefinition) -> list[tuple[str, AgentDefinition | Fallback]]:
    """The name of each transport, and what it is defined by."""
    own_name = definition.cli.dialect if definition.cli else definition.driver
    fallbacks = [(fallback.name, fallback) for fallback in definition.fallback]
    commands = [definition.command, *(fallback.command for _, fallback in fallbacks)]
    runs = {command.run for command in commands if command is not None}
    names = {own_name, *(name for name, _ in fallbacks)}
    others: list[tuple[str, AgentDefinition | Fallback]] = []
    for other in definition.other_transports:
        if other.command is not None and other.command.run not in runs:
            name = other.id if other.driver in names else other.driver
            names.add(name)
            runs.add(other.command.run)
            others.append((name, other))
    return [(own_name, definition), *others, *fallbacks]


def _apply_fallback(agent: AgentDefinition, fallback: Fallback) -> AgentDefinition:
    changes = {
        "driver": fallback.driver,
        "command": fallback.command,
        "acp": fallback.acp,
        "cli": fallback.cli,
        "options": agent.options if fallback.options is None else fallback.options,
        "trust": _merge_trust(agent.trust, fallback),
        "capabilities": merge_trees(agent.capabilities, fallback.capabilities),
        "base": agent,
        "fallback_name": fallback.name,
    }
    return agent.model_copy(update=changes)


def _merge_trust(trust: Trust, fallback: Fallback) -> Trust:
    if fallback.trust is None:
        return trust
    return trust.model_copy(update={"untrusted": fallback.trust.untrusted, "trusted": fallback.trust.trusted})


def merge_trees(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Key by key; where both have a value that is no object, the upper one's."""
    tree = dict(lower)
    for key, value in upper.items():
        current = tree.get(key)
        if isinstance(current, Mapping) and isinstance(value, Mapping):
            tree[key] = merge_trees(current, value)
        else:
            tree[key] = value
    return tree
