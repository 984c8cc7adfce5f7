"""The agent's plans → activities: shown once in a turn, then patched.

In: `plan` (version 1, the one plan without a name), `plan_update` and `plan_removed`. Out: activities of type "plan".
AG-UI cannot take an activity away, so a removed plan is one that says so.
"""

from __future__ import annotations

from typing import Any

from gateway.events import ActivityDelta, ActivitySnapshot, Event
from gateway.wire.acp.json_patch import difference
from gateway.wire.fields import items, non_empty, obj, present, text


class Plans:
    """One lane's plans in one turn. In the next turn a plan is a new activity, where the reader now looks."""

    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix, self._subagent = prefix, subagent
        self._shown: dict[str, dict[str, Any]] = {}

    def entries(self, update: dict[str, Any]) -> list[Event]:
        return self._show("", {"entries": _entries(update.get("entries"))})

    def update(self, update: dict[str, Any]) -> list[Event] | None:
        """None: a plan without an id, or of a kind not known."""
        plan = obj(update.get("plan"))
        plan_id = non_empty(plan.get("planId"))
        match plan_id, plan.get("type"):
            case str(), "items":
                content: dict[str, Any] = {"entries": _entries(plan.get("entries"))}
            case str(), "file":
                content = {"uri": text(plan.get("uri")) or ""}
            case str(), "markdown":
                content = {"content": text(plan.get("content")) or ""}
            case _:
                return None
        return self._show(plan_id, {"planId": plan_id, **content})

    def removed(self, update: dict[str, Any]) -> list[Event] | None:
        plan_id = non_empty(update.get("planId"))
        if plan_id is None:
            return None
        return self._show(plan_id, {"planId": plan_id, **self._shown.get(plan_id, {}), "removed": True})

    def _show(self, key: str, content: dict[str, Any]) -> list[Event]:
        place = f"{self._prefix}:plan:{key}" if key else f"{self._prefix}:plan"
        before = self._shown.get(key)
        self._shown[key] = content
        if before is None:
            return [ActivitySnapshot(place, "plan", content, subagent=self._subagent)]
        patch = difference(before, content)
        return [ActivityDelta(place, "plan", patch, subagent=self._subagent)] if patch else []


def _entries(told: Any) -> list[dict[str, Any]]:
    keys = ("content", "priority", "status")
    return [present({key: text(entry.get(key)) for key in keys}) for entry in items(told)]
