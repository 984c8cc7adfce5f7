"""Plans, as lines: whole when they first come, then what has changed in them."""

from __future__ import annotations

from typing import Any

from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointerException

MARKS = {"completed": "[x]", "in_progress": "[>]"}


class Plans:
    def __init__(self) -> None:
        self._contents: dict[str, Any] = {}
        self._shown: dict[str, set[str]] = {}

    def feed(self, event: dict[str, Any]) -> list[str]:
        """The lines that are new. Other activities have none."""
        if event.get("activityType") != "plan":
            return []
        name = event["messageId"]
        self._contents[name] = content = _after(self._contents.get(name, {}), event)
        lines = _lines(content)
        shown = self._shown.setdefault(name, set())
        new = [line for line in lines if line not in shown]
        shown.update(new)
        return new


def _after(content: Any, event: dict[str, Any]) -> Any:
    if "content" in event:
        return event["content"]
    try:
        return JsonPatch(event["patch"]).apply(content)
    except (JsonPatchException, JsonPointerException):  # a patch of something that this process was not told
        return content


def _lines(content: Any) -> list[str]:
    match content:
        case {"entries": list(entries)}:
            told = [entry for entry in entries if isinstance(entry, dict)]
            return [f"{MARKS.get(str(entry.get('status')), '[ ]')} {entry.get('content', '')}" for entry in told]
        case {"content": str(text)}:
            return text.splitlines()
        case _:
            return []
