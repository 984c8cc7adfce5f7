"""ACP's named plans → plan activities.

In: `plan_update` and `plan_removed` of ACP's version 2. Out: activities of the type `plan`. AG-UI cannot remove an
activity, so the activity of a removed plan says that it is removed.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Event
from gateway.wire.activities import Plans, plan_entries
from gateway.wire.fields import non_empty, obj, text


def show_plan(plans: Plans, update: dict[str, Any]) -> list[Event] | None:
    """None: the plan has no id, or is of an unknown type."""
    plan = obj(update.get("plan"))
    plan_id = non_empty(plan.get("planId"))
    match plan_id, plan.get("type"):
        case str(), "items":
            content: dict[str, Any] = {"entries": plan_entries(plan.get("entries"))}
        case str(), "file":
            content = {"uri": text(plan.get("uri")) or ""}
        case str(), "markdown":
            content = {"content": text(plan.get("content")) or ""}
        case _:
            return None
    return plans.show(plan_id, {"planId": plan_id, **content})


def show_removed_plan(plans: Plans, update: dict[str, Any]) -> list[Event] | None:
    """None: it names no plan."""
    plan_id = non_empty(update.get("planId"))
    if plan_id is None:
        return None
    return plans.show(plan_id, {"planId": plan_id, **plans.content(plan_id), "removed": True})
