"""Scenes about what agent and frontend share beside the conversation: state, a plan, custom events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from anyio.lowlevel import checkpoint

from gateway import ActivityDelta, ActivitySnapshot, Custom, Event, Raw, StateDelta, StateSnapshot, Turn

from .streams import say

STEPS = ("Boil the water", "Warm the pot", "Let it draw", "Pour")
PLAN = ("Read the question", "Look things up", "Write the answer")


async def state(turn: Turn) -> AsyncIterator[Event]:
    """The client's own keys stay; the demo's start from the beginning."""
    client_state: dict[str, Any] = turn.state if isinstance(turn.state, dict) else {}
    yield StateSnapshot({**client_state, "steps": [], "progress": 0})
    for number, step in enumerate(STEPS, 1):
        await checkpoint()
        progress = {"op": "replace", "path": "/progress", "value": 100 * number // len(STEPS)}
        yield StateDelta([{"op": "add", "path": "/steps/-", "value": step}, progress])
    async for event in say("Tea is ready, and your page saw every step: a state snapshot, then small patches."):
        yield event


async def plan(turn: Turn) -> AsyncIterator[Event]:
    """Entries have the shape of ACP's plans (https://agentclientprotocol.com/protocol/agent-plan)."""
    id_ = f"{turn.run_id}-plan"
    entries = [{"content": content, "priority": "medium", "status": "pending"} for content in PLAN]
    yield ActivitySnapshot(id_, "plan", {"entries": entries})
    for number in range(len(PLAN)):
        for status in ("in_progress", "completed"):
            await checkpoint()
            path = f"/entries/{number}/status"
            yield ActivityDelta(id_, "plan", [{"op": "replace", "path": path, "value": status}])
    async for event in say("All according to plan: it is an activity beside our conversation, patched as I went."):
        yield event


async def custom(turn: Turn) -> AsyncIterator[Event]:
    yield Custom("demo.confetti", {"pieces": 200, "colors": ["teal", "amber"]})
    yield Raw({"kind": "weather-balloon", "altitude": 31_000}, source="demo")
    async for event in say(
        "Two events for frontends that know them: a custom one (confetti!) and a raw one, as it came."
    ):
        yield event
