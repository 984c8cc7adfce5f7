"""The rooms, put together: what every route has at hand."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from gateway.capabilities.layers import Said, flatten, profile_layer
from gateway.capabilities.merge import Snapshot, etag, merge, to_json
from gateway.catalog.load import Catalog
from gateway.catalog.tree import capability_tree
from gateway.errors import GatewayError
from gateway.runs.agents import Agent, Agents
from gateway.runs.control import Control
from gateway.runs.engine import Engine
from gateway.settings import Settings
from gateway.store.base import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Current:
    """A snapshot with its bytes, kept until somebody says something else."""

    announced: Mapping[str, Any] | None
    snapshot: Snapshot
    body: bytes
    etag: str


class Snapshots:
    """Each agent's snapshot, computed anew when what the agent says of itself has changed."""

    def __init__(self, carried: Mapping[str, Any]) -> None:
        self._gateway = Said("gateway", "what this gateway carries", carried)
        self._current: dict[str, Current] = {}
        self._complaints: dict[str, str] = {}

    async def current(self, agent: Agent) -> Current:
        announced = await self._announced(agent)
        current = self._current.get(agent.definition.id)
        if current is None or current.announced != announced:
            current = self._current[agent.definition.id] = self._compute(agent, announced)
        return current

    async def of_session(self, agent: Agent, learned: Mapping[str, Any]) -> Current:
        """With what one thread's session has and is set to."""
        session = Said("session", "what the session told", dict(learned))
        return self._compute(agent, await self._announced(agent), session)

    async def _announced(self, agent: Agent) -> Mapping[str, Any] | None:
        if agent.driver is None:
            return None
        try:
            return await agent.driver.announced()
        except Exception as exc:  # an author's function: whatever it raises, the rest of the snapshot stands
            self._complain(agent, f"its capabilities cannot be had: {type(exc).__name__}: {exc}")
            return None

    def _compute(self, agent: Agent, announced: Mapping[str, Any] | None, *more: Said) -> Current:
        layers = [profile_layer(agent.definition), self._gateway, *more]
        if announced:
            try:
                layers.append(Said("handshake", "what the agent announces", flatten(capability_tree(announced))))
            except ValueError as exc:
                self._complain(agent, f"it announces what is not a capability: {exc}")
        snapshot = merge(layers)
        body = to_json(snapshot.tree())
        return Current(announced, snapshot, body, etag(body))

    def _complain(self, agent: Agent, reason: str) -> None:
        """Once for each reason: snapshots are asked for often."""
        if self._complaints.get(agent.definition.id) != reason:
            self._complaints[agent.definition.id] = reason
            log.warning("agent %s: %s", agent.definition.id, reason)


@dataclass(frozen=True, slots=True)
class House:
    settings: Settings
    store: Store
    agents: Agents
    engine: Engine
    control: Control
    snapshots: Snapshots

    def default_agent(self) -> str | None:
        """What CopilotKit's `default` stands for."""
        if self.settings.default_agent is not None:
            return self.settings.default_agent
        ids = [agent.definition.id for agent in self.agents]
        return "demo" if "demo" in ids else next(iter(ids), None)


@asynccontextmanager
async def open_house(
    settings: Settings, store: Store, catalog: Catalog, carried: Mapping[str, Any]
) -> AsyncIterator[House]:
    """Everything that runs, and its end: at exit live runs get their last word, then all tasks stop."""
    await store.start()
    try:
        async with anyio.create_task_group() as tasks:
            agents = Agents(catalog, tasks)
            engine = Engine(settings, store, tasks)
            if left := await engine.recover():
                log.warning("%d run(s) were live when the last gateway died: ended as GATEWAY_RESTARTED", left)
            tasks.start_soon(engine.prune_for_ever)
            try:
                yield House(settings, store, agents, engine, Control(engine, store), Snapshots(carried))
            finally:
                with anyio.CancelScope(shield=True):
                    await engine.drain()
                    await agents.aclose()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await store.aclose()
            except GatewayError as exc:
                log.error("the store could not be closed cleanly: %s", exc)
