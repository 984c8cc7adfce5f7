"""Agents that are registered while the gateway runs: checked, kept in the store, written to its audit log.

In: a definition, parsed from JSON or TOML, and the principal that sends it. Out: an agent, from now on and after a
restart. A definition starts programs with the gateway's rights: who may send one is decided by `web`. An entry point,
which would run inside the gateway itself, is refused from every principal, and so is a secret in the headers or the URL
of a remote agent: the store would have it in clear.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from gateway.audit import AuditLog
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, InvalidDefinition, define
from gateway.catalog.problems import Problem
from gateway.errors import BadInput, Conflict, NotFound
from gateway.registry.overlays import REGISTERED, Overlays
from gateway.settings import Settings
from gateway.store.base import AgentRecord, Store

log = logging.getLogger(__name__)

IN_PROCESS_KEYS = ("entry", "capabilities_entry")
"""Keys that name code which would run in the gateway's own process."""
_SECRET_HEADER = re.compile(r"auth|cookie|key|token|secret|passw|credential", re.IGNORECASE)
_VARIABLE = re.compile(r"\{\w+\}")
IN_PROCESS_SOURCES = "comes from a file (--agents) or an installed package only"


class Registrations:
    def __init__(self, overlays: Overlays, store: Store, settings: Settings, audit: AuditLog) -> None:
        self._audit = audit
        self._overlays = overlays
        self._store = store
        self._settings = settings

    async def put(self, agent_id: str, table: Mapping[str, Any], principal: str) -> bool:
        """True: no agent had this id. Raises `BadInput` with everything that is wrong."""
        definition = _check_definition(agent_id, table, self._settings)
        if problems := _find_secrets(definition):
            raise _refuse(problems)
        serialized = _serialize({**table, "id": agent_id})
        is_new = agent_id not in self._overlays.registered and self._overlays.find_unregistered(agent_id) is None
        detail = {
            "driver": definition.driver,
            "run": definition.command.run if definition.command else None,
            "url": definition.remote.url if definition.remote else None,
            "new": is_new,
        }
        record = AgentRecord(agent_id, serialized, principal, time.time())
        await self._store.save_agent(record, self._audit.to_detail(detail))
        self._audit.notify()
        log.warning("agent %s: registered by %s (%s)", agent_id, principal, definition.driver)
        self._overlays.register(definition)
        return is_new

    async def delete(self, agent_id: str, principal: str) -> None:
        """A definition of the same id in a file is uncovered."""
        if agent_id not in self._overlays.registered:
            if (overlay := self._overlays.find_unregistered(agent_id)) is not None:
                detail = f"{agent_id!r} is not registered by HTTP, it comes from {overlay}: remove it there"
                raise Conflict(detail, code="AGENT_FROM_FILE")
            raise NotFound(f"there is no agent {agent_id!r}", code="UNKNOWN_AGENT")
        await self._store.delete_agent(agent_id, principal, time.time())
        self._audit.notify()
        log.warning("agent %s: its registration was removed by %s", agent_id, principal)
        self._overlays.unregister(agent_id)


def _serialize(table: Mapping[str, Any]) -> bytes:
    """Raises `BadInput` for what cannot be stored: half a surrogate pair, an integer beyond 64 bits."""
    try:
        return orjson.dumps(table, default=str)
    except TypeError as exc:
        raise BadInput(f"the definition cannot be stored: {exc}", pointer="") from exc


async def load_registered(store: Store, settings: Settings) -> Catalog:
    """The registered definitions of the store. One that this version refuses is logged, and stays in the store."""
    catalog: Catalog = {}
    for record in await store.agents():
        try:
            definition = catalog[record.id] = _check_definition(record.id, orjson.loads(record.definition), settings)
        except BadInput as exc:
            log.warning("agent %s, registered by %s, is left out: %s", record.id, record.by, exc.detail)
            continue
        for problem in _find_secrets(definition):  # of an older version, which stored it
            log.warning("agent %s, registered by %s: %s", record.id, record.by, problem.text)
    return catalog


def _check_definition(agent_id: str, table: Mapping[str, Any], settings: Settings) -> AgentDefinition:
    problems = [
        Problem((key,), f"code inside the gateway {IN_PROCESS_SOURCES}") for key in IN_PROCESS_KEYS if key in table
    ]
    if table.get("driver") == "python":
        problems.append(Problem(("driver",), f"an agent of the gateway's own process {IN_PROCESS_SOURCES}"))
    if table.get("id", agent_id) != agent_id:
        problems.append(Problem(("id",), f"is not the one of the address, {agent_id!r}"))
    try:
        definition = define({**table, "id": agent_id}, Path(REGISTERED), private=settings.allow_private_addresses)
    except InvalidDefinition as exc:
        problems += exc.problems
    if problems:
        raise _refuse(problems)
    return definition


def _find_secrets(definition: AgentDefinition) -> list[Problem]:
    """What must not be in the store in clear. The texts do not show it."""
    remote = definition.remote
    if remote is None:
        return []
    remedy = "a registered definition is stored as it is: set the secret in the gateway's environment"
    problems = [
        Problem(("remote", "headers", name), f"{remedy}, and write {{NAME}} for it")
        for name, value in remote.headers.items()
        if _SECRET_HEADER.search(name) and not _VARIABLE.search(value)
    ]
    if "@" in remote.url.partition("://")[2].partition("/")[0]:
        text = f"{remedy}, and send it with the header authorization instead of the URL"
        problems.append(Problem(("remote", "url"), text))
    return problems


def _refuse(problems: Sequence[Problem]) -> BadInput:
    errors = [{"pointer": problem.pointer, "message": problem.message} for problem in problems]
    detail = f"the definition is wrong: {'; '.join(problem.text for problem in problems)}"
    return BadInput(detail, code="INVALID_DEFINITION", pointer=problems[0].pointer, errors=errors)
