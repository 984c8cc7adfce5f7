"""Plans as lines: the whole plan at first, then the entries that have changed."""

from __future__ import annotations

from typing import Any

from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointerException

MARKS = {"completed": "[x]", "in_progress": "[>]"}


class Plans:
    """The plans of a run."""

    def __init__(self) -> None:
        self._contents: dict[str, Any] = {}
        self._printed: dict[str, set[str]] = {}

    def feed(self, event: dict[str, Any]) -> list[str]:
        """The lines that are new; none for other activities."""
        if event.get("activityType") != "plan":
            return []
        plan_id = event["messageId"]
        content = _apply(self._contents.get(plan_id, {}), event)
        self._contents[plan_id] = content
        printed = self._printed.setdefault(plan_id, set())
        new = [line for line in _format_plan(content) if line not in printed]
        printed.update(new)
        return new


def _apply(content: Any, event: dict[str, Any]) -> Any:
    if "content" in event:
        return event["content"]
    try:
        return JsonPatch(event["patch"]).apply(content)
    except (JsonPatchException, JsonPointerException):  # a patch of content that was never sent here
        return content


def _format_plan(content: Any) -> list[str]:
    match content:
        case {"entries": list(entries)}:
            return [
                f"{MARKS.get(str(entry.get('status')), '[ ]')} {entry.get('content', '')}"
                for entry in entries
                if isinstance(entry, dict)
            ]
        case {"content": str(text)}:
            return text.splitlines()
        case _:
            return []
