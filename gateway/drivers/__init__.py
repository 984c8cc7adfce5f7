"""Ways of reaching an agent: one file each, one line here."""

from __future__ import annotations

from collections.abc import Callable

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.base import Controls, Driver, LiveTurn, Opening, Session

__all__ = ["DRIVERS", "Controls", "Driver", "LiveTurn", "Opening", "Session", "make_driver"]


# Each is imported when an agent needs it: whoever only looks which agents are installed needs none of them.


def _acp(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.acp import AcpDriver

    return AcpDriver(definition, tasks)


def _cli(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.cli import CliDriver

    return CliDriver(definition, tasks)


def _python(definition: AgentDefinition, tasks: Tasks) -> Driver:
    from gateway.drivers.python.driver import PythonDriver

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
    if definition.fallback:
        from gateway.drivers.fallback import FallbackDriver

        return FallbackDriver(definition, tasks, DRIVERS)
    return DRIVERS[definition.driver](definition, tasks)
