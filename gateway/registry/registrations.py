"""Agents that are registered while the gateway runs: checked, kept in the store, written into its audit log.

In: a definition as JSON or TOML had it, and who sends it. Out: an agent, from now on and after a restart. A definition
starts programs with the gateway's rights: whoever may send one is decided by `web`, and an entry point, which would run
inside the gateway itself, is refused whoever sends it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, InvalidDefinition, define
from gateway.catalog.problems import Problem
from gateway.errors import BadInput, Conflict, NotFound
from gateway.registry.overlays import REGISTERED, Overlays
from gateway.settings import Settings
from gateway.store.base import AgentRecord, Store

log = logging.getLogger(__name__)

INSIDE = ("entry", "capabilities_entry")
"""Keys that name code which would run in the gateway's own process."""


class Registrations:
    def __init__(self, overlays: Overlays, store: Store, settings: Settings) -> None:
        self._overlays, self._store, self._settings = overlays, store, settings

    async def put(self, agent_id: str, table: Mapping[str, Any], principal: str) -> bool:
        """True: there was none of this id. Raises `BadInput` with everything that is wrong."""
        definition = _checked(agent_id, table, self._settings)
        told = orjson.dumps({**table, "id": agent_id}, default=str)
        new = agent_id not in self._overlays.registered and self._overlays.below(agent_id) is None
        await self._store.save_agent(AgentRecord(agent_id, told, principal, time.time()))
        log.warning("agent %s: registered by %s (%s)", agent_id, principal, definition.driver)
        self._overlays.register(definition)
        return new

    async def delete(self, agent_id: str, principal: str) -> None:
        """What a file says of the same id is uncovered."""
        if agent_id not in self._overlays.registered:
            if (layer := self._overlays.below(agent_id)) is not None:
                detail = f"{agent_id!r} is not registered by HTTP, it comes from {layer}: remove it there"
                raise Conflict(detail, code="AGENT_FROM_FILE")
            raise NotFound(f"there is no agent {agent_id!r}", code="UNKNOWN_AGENT")
        await self._store.delete_agent(agent_id, principal, time.time())
        log.warning("agent %s: its registration was removed by %s", agent_id, principal)
        self._overlays.unregister(agent_id)


async def registered(store: Store, settings: Settings) -> Catalog:
    """Those of the store. One that this version does not take any more is logged, and stays in the store."""
    found: Catalog = {}
    for record in await store.agents():
        try:
            found[record.id] = _checked(record.id, orjson.loads(record.definition), settings)
        except BadInput as exc:
            log.warning("agent %s, registered by %s, is left out: %s", record.id, record.by, exc.detail)
    return found


def _checked(agent_id: str, table: Mapping[str, Any], settings: Settings) -> AgentDefinition:
    wrongs = [Problem((key,), f"code inside the gateway {WHY}") for key in INSIDE if key in table]
    if table.get("driver") == "python":
        wrongs.append(Problem(("driver",), f"an agent of the gateway's own process {WHY}"))
    if table.get("id", agent_id) != agent_id:
        wrongs.append(Problem(("id",), f"is not the one of the address, {agent_id!r}"))
    try:
        definition = define({**table, "id": agent_id}, Path(REGISTERED), private=settings.allow_private_addresses)
    except InvalidDefinition as exc:
        wrongs += exc.problems
    if not wrongs:
        return definition
    errors = [{"pointer": wrong.pointer, "message": wrong.message} for wrong in wrongs]
    detail = f"the definition is wrong: {'; '.join(wrong.text for wrong in wrongs)}"
    raise BadInput(detail, code="INVALID_DEFINITION", pointer=wrongs[0].pointer, errors=errors)


WHY = "comes from a file (--agents) or an installed package only"
