"""Mounted gateways: each is asked for its agents, again and again.

In: the definitions that mount another gateway. Out: the definitions of its agents, and a call of `on_change` whenever
they change. A gateway that cannot be reached keeps the last list it sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import anyio
from anyio import CancelScope

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.remote.mount import MountedGateway
from gateway.errors import ConfigError, GatewayError

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS = 2.0
"""Until a gateway that has never answered is asked again."""


@dataclass(slots=True)
class Mount:
    definition: AgentDefinition
    scope: CancelScope = field(default_factory=CancelScope)
    agents: list[AgentDefinition] | None = None
    """None: the gateway has never answered."""
    error: str = "it has not answered yet"


def is_mount(definition: AgentDefinition) -> bool:
    return definition.remote is not None and definition.remote.agents is not None


class Mounts:
    def __init__(self, tasks: Tasks, own_id: str, on_change: Callable[[], None]) -> None:
        """`own_id`: of this gateway, so that its own agents are not mounted back. `on_change`: a list is new."""
        self._tasks = tasks
        self._own_id = own_id
        self._on_change = on_change
        self._mounts: dict[str, Mount] = {}

    def __getitem__(self, name: str) -> Mount:
        return self._mounts[name]

    def set_definitions(self, definitions: Iterable[AgentDefinition]) -> None:
        """Follows these, and no others."""
        wanted = {definition.id: definition for definition in definitions}
        for name in [name for name, mount in self._mounts.items() if wanted.get(name) != mount.definition]:
            self._mounts.pop(name).scope.cancel()
        for name in wanted.keys() - self._mounts.keys():
            mount = self._mounts[name] = Mount(wanted[name])
            self._tasks.start_soon(self._follow, mount)

    async def _follow(self, mount: Mount) -> None:
        assert mount.definition.remote is not None  # else it mounts nothing
        with mount.scope:
            try:
                gateway = MountedGateway(mount.definition, self._own_id)
            except ConfigError as exc:
                return self._report_error(mount, exc)
            try:
                while True:
                    await self._refresh(mount, gateway)
                    refresh = mount.definition.remote.refresh
                    await anyio.sleep(refresh if mount.agents is not None else min(FIRST_RETRY_SECONDS, refresh))
            finally:
                with CancelScope(shield=True):
                    await gateway.aclose()
        return None

    async def _refresh(self, mount: Mount, gateway: MountedGateway) -> None:
        try:
            agents = await gateway.agents()
        except GatewayError as exc:
            return self._report_error(mount, exc)
        except Exception:  # what another server sends must not end this gateway
            log.exception("agent %s: the list of the mounted gateway cannot be read", mount.definition.id)
            return None
        is_new = agents != mount.agents or mount.error != ""
        mount.agents = agents
        mount.error = ""
        if is_new:
            self._on_change()
        return None

    def _report_error(self, mount: Mount, exc: GatewayError) -> None:
        if mount.error != exc.detail:
            mount.error = exc.detail
            log.warning("agent %s: %s", mount.definition.id, exc.detail)
            self._on_change()
