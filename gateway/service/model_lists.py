"""The models that live agents list, read into their registries.

In: one agent, or all of them. Out: how many models each lists now, or why it cannot say. Never: more than
`MAX_PARALLEL` agents started at once, or a wait without end for one of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import anyio

from gateway.errors import AgentFault, GatewayError, NotCapable
from gateway.registry.agents import Agent

LIST_TIMEOUT_SECONDS = 90.0
"""An agent may have to start first, and to query its providers."""
MAX_PARALLEL = 3
"""Agents that are started at once for their lists: each may be a process of some hundred megabytes."""
RETRY_SECONDS = 300.0
"""An agent that could not list its models is not asked again by runs for this long."""


@dataclass(frozen=True, slots=True)
class ListResult:
    """What became of one agent's list."""

    agent: str
    count: int | None = None
    """How many models it lists; None: it could not be asked."""
    error: GatewayError | None = None

    def to_json(self) -> dict[str, Any]:
        if self.error is None:
            return {"agent": self.agent, "updated": self.count}
        problem = self.error.problem()
        known = {"agent": self.agent, "updated": None, "code": problem["code"], "detail": problem["detail"]}
        return known | ({"availability": problem["availability"]} if "availability" in problem else {})


class ModelLists:
    def __init__(self, on_change: Callable[[str], None]) -> None:
        """`on_change`: called with the id of an agent whose models were read."""
        self._on_change = on_change
        self._failed_at: dict[str, float] = {}
        """Agent → when it could not list its models for a run."""

    async def refresh(self, agent: Agent) -> int:
        """Reads the list from the agent itself: how many models it has. Raises `Refused` with the way to install a
        missing program, `NotCapable` where the agent lists none, `AgentFault`."""
        definition = agent.definition
        await agent.require_program()
        try:
            with anyio.fail_after(LIST_TIMEOUT_SECONDS):
                listed = await agent.usable_driver.models()
        except TimeoutError:
            detail = f"the agent did not list its models within {LIST_TIMEOUT_SECONDS:g} seconds"
            raise AgentFault(detail, code="AGENT_STALLED") from None
        except AgentFault:
            agent.check_installed(await agent.probe())  # Python may be there without the agent's module
            raise
        if not listed:
            reason = "cannot list its models" if listed is None else "lists no models: it may need a sign-in"
            raise NotCapable(
                f"Agent '{definition.id}' {reason}. GET /agents/{definition.id}/models lists those of its file.",
                capability="models",
                source=f"driver ({definition.driver})",
            )
        agent.models.refresh(listed, datetime.now(UTC))
        self._on_change(definition.id)
        return len(agent.models.models())

    async def refresh_all(self, agents: Iterable[Agent]) -> list[ListResult]:
        """One result for each agent, in their order."""
        todo = list(agents)
        results: dict[str, ListResult] = {}
        limiter = anyio.CapacityLimiter(MAX_PARALLEL)

        async def refresh_one(agent: Agent) -> None:
            name = agent.definition.id
            async with limiter:
                try:
                    results[name] = ListResult(name, await self.refresh(agent))
                except GatewayError as exc:
                    results[name] = ListResult(name, error=exc)

        async with anyio.create_task_group() as tasks:
            for agent in todo:
                tasks.start_soon(refresh_one, agent)
        return [results[agent.definition.id] for agent in todo]

    async def ensure_listed(self, agent: Agent) -> None:
        """For a run that depends on the models of an agent whose user configures them: its file can only guess. Where
        the agent does not list them, the file's list stays."""
        name = agent.definition.id
        if not agent.models.depends_on_user or agent.driver is None or not agent.driver.is_local:
            return
        if time.monotonic() - self._failed_at.get(name, -RETRY_SECONDS) < RETRY_SECONDS:
            return
        try:
            await self.refresh(agent)
            self._failed_at.pop(name, None)
        except GatewayError:
            self._failed_at[name] = time.monotonic()
