"""The rooms, put together: what every route has at hand."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from gateway.capabilities.layers import Said, current_model, flatten, model_layer, profile_layer
from gateway.capabilities.merge import Snapshot, etag, merge, to_json
from gateway.catalog.load import Catalog
from gateway.catalog.models import Model
from gateway.catalog.tree import capability_tree
from gateway.drivers.probe import Availability
from gateway.errors import GatewayError
from gateway.events import Layer
from gateway.runs.agents import Agent, Agents
from gateway.runs.control import Control
from gateway.runs.engine import Engine
from gateway.runs.threads import ThreadKey
from gateway.settings import Settings
from gateway.store.base import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Current:
    """A snapshot with its bytes, kept until somebody says something else."""

    announced: Mapping[str, Any] | None
    seen: Availability | None
    snapshot: Snapshot
    body: bytes
    etag: str
    model: Model | None = None
    """Whose limits are in it."""


class Snapshots:
    """Each agent's snapshot, computed anew when what the agent says of itself has changed."""

    def __init__(self, carried: Mapping[str, Any]) -> None:
        self._gateway = Said("gateway", "what this gateway carries", carried)
        self._current: dict[str, Current] = {}
        self._complaints: dict[str, str] = {}

    async def current(self, agent: Agent) -> Current:
        announced = await self._announced(agent)
        current = self._current.get(agent.definition.id)
        if current is None or current.announced != announced or current.seen != agent.seen:
            current = self._current[agent.definition.id] = self._compute(agent, announced)
        return current

    async def of(self, agent: Agent, model: Model | None, learned: Layer | None) -> Current:
        """With a model's own limits, and with what one thread's session has and is set to: its model, too."""
        if model is None and learned is not None and (name := current_model(learned)) is not None:
            model = agent.models.find(name)
        if model is None and not learned:
            return await self.current(agent)
        more = [Said("session", "what the session told", dict(learned))] if learned else []
        return self._compute(agent, await self._announced(agent), *more, model=model)

    async def _announced(self, agent: Agent) -> Mapping[str, Any] | None:
        if agent.driver is None:
            return None
        try:
            return await agent.driver.announced()
        except Exception as exc:  # an author's function: whatever it raises, the rest of the snapshot stands
            self._complain(agent, f"its capabilities cannot be had: {type(exc).__name__}: {exc}")
            return None

    def _compute(
        self, agent: Agent, announced: Mapping[str, Any] | None, *more: Said, model: Model | None = None
    ) -> Current:
        told = self._handshake(agent, announced)
        handshake = Said("handshake", "what the agent announces", told)
        layers = [profile_layer(agent.definition), self._gateway, *probe_layer(agent.seen), handshake, *more]
        if model is not None:
            layers.append(model_layer(agent.definition, model, told))
        snapshot = merge(layers)
        body = to_json(snapshot.tree())
        return Current(announced, agent.seen, snapshot, body, etag(body), model)

    def _handshake(self, agent: Agent, announced: Mapping[str, Any] | None) -> Layer:
        try:
            return flatten(capability_tree(announced)) if announced else {}
        except ValueError as exc:
            self._complain(agent, f"it announces what is not a capability: {exc}")
            return {}

    def _complain(self, agent: Agent, reason: str) -> None:
        """Once for each reason: snapshots are asked for often."""
        if self._complaints.get(agent.definition.id) != reason:
            self._complaints[agent.definition.id] = reason
            log.warning("agent %s: %s", agent.definition.id, reason)


def probe_layer(seen: Availability | None) -> list[Said]:
    """What the last look found. Nobody waits for one here: unknown stays absent until it is known."""
    if seen is None:
        return []
    values: dict[str, Any] = {"custom.gateway.availability.status": seen.status}
    if seen.version is not None:
        values["identity.version"] = seen.version
    return [Said("probe", "what was found on this machine", values)]


@dataclass(frozen=True, slots=True)
class House:
    settings: Settings
    store: Store
    agents: Agents
    engine: Engine
    control: Control
    snapshots: Snapshots

    def learned(self, agent: Agent, thread_id: str, principal: str) -> Layer | None:
        """What the thread's session has told; None: it has none open."""
        session = self.engine.session(ThreadKey(agent.definition.id, thread_id, principal))
        return None if session is None else session.learned

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
