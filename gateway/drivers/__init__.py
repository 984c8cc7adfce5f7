"""Drivers: how agents are reached. All IO towards agents is in this package.

In: an agent's definition. Out: a `Driver`, which opens `Session`s; a session starts `LiveTurn`s, whose events a run
reads. `base` is the manual of this seam. One package for each kind of agent: `acp`, `cli`, `python`, `remote`;
`fallback` joins several of them. Shared: `process` (owning a process), `probe` (is it installed, signed in),
`prompt_builder`, `client_tools` (client tools as an MCP server), `mcp_client` (tools of a session's MCP servers),
`address_policy` (which addresses may be connected to).
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.base import Controls, Driver, LiveTurn, Opening, Session

__all__ = ["DRIVERS", "Controls", "Driver", "LiveTurn", "Opening", "Session", "make_driver"]


# Each driver is imported when an agent needs it: a command that only lists the installed agents needs none of them.


def _acp(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.acp import AcpDriver

    return AcpDriver(definition, tasks)


def _cli(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.cli import CliDriver

    return CliDriver(definition, tasks)


def _python(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.python import PythonDriver

    return PythonDriver(definition, tasks)


def _remote(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.remote import RemoteDriver

    return RemoteDriver(definition, tasks)


DRIVERS: dict[str, Callable[[AgentDefinition, Tasks], Driver]] = {
    "acp": _acp,
    "cli": _cli,
    "python": _python,
    "remote": _remote,
}


def make_driver(definition: AgentDefinition, tasks: Tasks) -> Driver:
    """The agent's driver. Raises `ConfigError` where the definition cannot be used on this machine."""
    if definition.fallback or definition.other_transports:
        from gateway.drivers.fallback import FallbackDriver

        return FallbackDriver(definition, tasks, DRIVERS)
    return DRIVERS[definition.driver](definition, tasks)
