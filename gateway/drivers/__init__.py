"""Ways of reaching an agent: one file each, one line here."""

from __future__ import annotations

from collections.abc import Callable

from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp import AcpDriver
from gateway.drivers.base import Controls, Driver, LiveTurn, Opening, Session
from gateway.drivers.python import PythonDriver

__all__ = ["DRIVERS", "Controls", "Driver", "LiveTurn", "Opening", "Session"]

DRIVERS: dict[str, Callable[[AgentDefinition, TaskGroup], Driver]] = {
    "acp": AcpDriver,
    "python": PythonDriver,
}
