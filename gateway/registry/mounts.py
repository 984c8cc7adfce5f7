"""Other gateways that are mounted here: each is asked for its agents, again and again.

In: the definitions that mount one. Out: their agents' definitions, and `changed` whenever they are others. One that
cannot be reached keeps the last list it gave.
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

SOON = 2.0
"""Seconds until one that has never answered is asked again."""


@dataclass(slots=True)
class Mount:
    definition: AgentDefinition
    scope: CancelScope = field(default_factory=CancelScope)
    agents: list[AgentDefinition] | None = None
    """None: it has never answered."""
    error: str = "it has not answered yet"


def mounts(definition: AgentDefinition) -> bool:
    return definition.remote is not None and definition.remote.agents is not None


class Mounts:
    def __init__(self, tasks: Tasks, own_id: str) -> None:
        self._tasks, self._own_id = tasks, own_id
        self._mounts: dict[str, Mount] = {}
        self.changed: Callable[[], None] = lambda: None

    def keep(self, definitions: Iterable[AgentDefinition]) -> None:
        """These, and no others."""
        wanted = {definition.id: definition for definition in definitions}
        for name in [name for name, mount in self._mounts.items() if wanted.get(name) != mount.definition]:
            self._mounts.pop(name).scope.cancel()
        for name in wanted.keys() - self._mounts.keys():
            mount = self._mounts[name] = Mount(wanted[name])
            self._tasks.start_soon(self._follow, mount)

    def of(self, name: str) -> Mount:
        return self._mounts[name]

    async def _follow(self, mount: Mount) -> None:
        assert mount.definition.remote is not None  # else it mounts nothing
        with mount.scope:
            try:
                far = MountedGateway(mount.definition, self._own_id)
            except ConfigError as exc:
                return self._failed(mount, exc)
            try:
                while True:
                    await self._ask(mount, far)
                    refresh = mount.definition.remote.refresh
                    await anyio.sleep(refresh if mount.agents is not None else min(SOON, refresh))
            finally:
                with CancelScope(shield=True):
                    await far.aclose()
        return None

    async def _ask(self, mount: Mount, far: MountedGateway) -> None:
        try:
            found = await far.agents()
        except GatewayError as exc:
            return self._failed(mount, exc)
        except Exception:  # what another server sends must not end the gateway
            log.exception("agent %s: the other gateway's list cannot be read", mount.definition.id)
            return None
        news = found != mount.agents or mount.error != ""
        mount.agents, mount.error = found, ""
        if news:
            self.changed()
        return None

    def _failed(self, mount: Mount, exc: GatewayError) -> None:
        if mount.error != exc.detail:
            mount.error = exc.detail
            log.warning("agent %s: %s", mount.definition.id, exc.detail)
            self.changed()
