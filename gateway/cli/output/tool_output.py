"""What a tool does while it runs and to files, as lines: a command's output as it comes, and diffs.

In: AG-UI events with what the gateway tells of coding agents: activities `terminal` and `tool_output`, whose `output`
is a list that grows, and a result's metadata with `diffs`. Out: lines, bounded unless all is wanted.
"""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import Any

KINDS = ("terminal", "tool_output")
OUTPUT_LINES, DIFF_LINES, DIFF_CHARS = 20, 24, 200_000
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
"""A command's own colours: shown, they would run on into what follows."""
ADDED, REMOVED, PLACE = "green", "red", "dim"


class Outputs:
    """What commands print, line by line."""

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._held: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._calls: dict[str, str] = {}

    def feed(self, event: dict[str, Any]) -> list[str]:
        """The lines that are complete now."""
        if event.get("activityType") not in KINDS:
            return []
        name, content = event["messageId"], event.get("content")
        if isinstance(content, dict):
            self._calls[name] = str(content.get("toolCallId"))
            self._held[name], self._count[name] = "", 0
            return self._lines(name, content.get("output"))
        return [line for step in event.get("patch", ()) for line in self._patched(name, step)]

    def shown(self, call_id: str) -> bool:
        """Something of what this call prints was shown already."""
        return any(call == call_id and self._count.get(name) for name, call in self._calls.items())

    def rest(self, call_id: str) -> list[str]:
        """Of a call that is over: its last line, if that has no end, and how much was left out."""
        found: list[str] = []
        for name in [name for name, call in self._calls.items() if call == call_id]:
            found += self._lines(name, ["\n"]) if self._held.get(name) else []
            if (more := self._count.get(name, 0) - OUTPUT_LINES) > 0 and not self._whole:
                found.append(f"… {more} more line{'s' if more > 1 else ''}")
        return found

    def _patched(self, name: str, step: Any) -> list[str]:
        match step:
            case {"op": "add", "path": "/output/-", "value": value}:
                return self._lines(name, [value])
            case {"op": "replace" | "add", "path": "/output", "value": value}:
                return self._lines(name, value)
            case _:
                return []

    def _lines(self, name: str, pieces: Any) -> list[str]:
        words = [piece for piece in pieces if isinstance(piece, str)] if isinstance(pieces, list) else []
        *lines, self._held[name] = (self._held.get(name, "") + "".join(words)).split("\n")
        before = self._count.get(name, 0)
        self._count[name] = before + len(lines)
        kept = lines if self._whole else lines[: max(0, OUTPUT_LINES - before)]
        return [ESCAPES.sub("", line).rpartition("\r")[2] or ESCAPES.sub("", line).strip("\r") for line in kept]


def diff_lines(event: dict[str, Any], *, whole: bool = False) -> list[tuple[str, str]]:
    """A result's diffs: lines with their styles."""
    told = [one for one in (event.get("metadata") or {}).values() if isinstance(one, dict)]
    diffs = [diff for one in told if isinstance(one.get("diffs"), list) for diff in one["diffs"]]
    return [line for diff in diffs if isinstance(diff, dict) for line in _diff(diff, whole)]


def _diff(diff: dict[str, Any], whole: bool) -> list[tuple[str, str]]:
    old, new = diff.get("oldText") or "", diff.get("newText")
    if not isinstance(old, str) or not isinstance(new, str) or len(old) + len(new) > DIFF_CHARS:
        return []
    lines = list(unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    counts = [sum(line.startswith(sign) for line in lines) for sign in "+-"]
    kept = [line for line in lines if not line.startswith("@@")]
    shown = kept if whole else kept[:DIFF_LINES]
    left = [(f"… {len(kept) - len(shown)} more", PLACE)] if len(shown) < len(kept) else []
    styles = {"+": ADDED, "-": REMOVED}
    head = (f"{diff.get('path', 'a file')} +{counts[0]} -{counts[1]}", PLACE)
    return [head, *((line, styles.get(line[:1], PLACE)) for line in shown), *left]
