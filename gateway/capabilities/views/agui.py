"""AG-UI's own view, as clients before protocol 1.0 read it."""

from __future__ import annotations

from typing import Any


def before_1_0(snapshot: dict[str, Any]) -> dict[str, Any]:
    """`multiAgent.subagents` was called `subAgents`."""
    agents = snapshot.get("multiAgent")
    if not agents or "subagents" not in agents:
        return snapshot
    return {**snapshot, "multiAgent": {("subAgents" if key == "subagents" else key): agents[key] for key in agents}}
