"""Output of tools as lines: what a command prints while it runs, and diffs of files.

In: AG-UI events as the gateway writes them for coding agents: the activities `terminal` and `tool_output`, whose
`output` is a growing list, and results with `diffs` in their metadata. Out: lines, limited unless `verbose`.
"""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import Any

ACTIVITY_TYPES = ("terminal", "tool_output")
MAX_OUTPUT_LINES = 20
MAX_DIFF_LINES = 24
MAX_DIFF_CHARS = 200_000
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
"""Colours of the command itself: printed, they would continue in the text that follows."""
ADDED_STYLE = "green"
REMOVED_STYLE = "red"
CONTEXT_STYLE = "dim"


class ToolOutputs:
    """Output of running commands, line by line."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._incomplete: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._calls: dict[str, str] = {}

    def feed(self, event: dict[str, Any]) -> list[str]:
        """The lines that are now complete."""
        if event.get("activityType") not in ACTIVITY_TYPES:
            return []
        name = event["messageId"]
        content = event.get("content")
        if isinstance(content, dict):
            self._calls[name] = str(content.get("toolCallId"))
            self._incomplete[name] = ""
            self._count[name] = 0
            return self._add(name, content.get("output"))
        return [line for operation in event.get("patch", ()) for line in self._apply(name, operation)]

    def has_printed(self, call_id: str) -> bool:
        """Whether output of this call was returned before."""
        return any(call == call_id and self._count.get(name) for name, call in self._calls.items())

    def finish(self, call_id: str) -> list[str]:
        """For a call that is over: its last line, if it has no line end, and how many lines were left out."""
        lines: list[str] = []
        for name in [name for name, call in self._calls.items() if call == call_id]:
            lines += self._add(name, ["\n"]) if self._incomplete.get(name) else []
            if (more := self._count.get(name, 0) - MAX_OUTPUT_LINES) > 0 and not self._verbose:
                lines.append(f"… {more} more line{'s' if more > 1 else ''}")
        return lines

    def _apply(self, name: str, operation: Any) -> list[str]:
        match operation:
            case {"op": "add", "path": "/output/-", "value": value}:
                return self._add(name, [value])
            case {"op": "replace" | "add", "path": "/output", "value": value}:
                return self._add(name, value)
            case _:
                return []

    def _add(self, name: str, pieces: Any) -> list[str]:
        texts = [piece for piece in pieces if isinstance(piece, str)] if isinstance(pieces, list) else []
        *lines, self._incomplete[name] = (self._incomplete.get(name, "") + "".join(texts)).split("\n")
        before = self._count.get(name, 0)
        self._count[name] = before + len(lines)
        selected = lines if self._verbose else lines[: max(0, MAX_OUTPUT_LINES - before)]
        return [ESCAPES.sub("", line).rpartition("\r")[2] or ESCAPES.sub("", line).strip("\r") for line in selected]


def diff_lines(event: dict[str, Any], *, verbose: bool = False) -> list[tuple[str, str]]:
    """The diffs of a result: lines with their styles."""
    metadata = [value for value in (event.get("metadata") or {}).values() if isinstance(value, dict)]
    diffs = [diff for value in metadata if isinstance(value.get("diffs"), list) for diff in value["diffs"]]
    return [line for diff in diffs if isinstance(diff, dict) for line in _format_diff(diff, verbose)]


def _format_diff(diff: dict[str, Any], verbose: bool) -> list[tuple[str, str]]:
    old = diff.get("oldText") or ""
    new = diff.get("newText")
    if not isinstance(old, str) or not isinstance(new, str) or len(old) + len(new) > MAX_DIFF_CHARS:
        return []
    lines = list(unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    counts = [sum(line.startswith(sign) for line in lines) for sign in "+-"]
    body = [line for line in lines if not line.startswith("@@")]
    selected = body if verbose else body[:MAX_DIFF_LINES]
    omitted = len(body) - len(selected)
    styles = {"+": ADDED_STYLE, "-": REMOVED_STYLE}
    return [
        (f"{diff.get('path', 'a file')} +{counts[0]} -{counts[1]}", CONTEXT_STYLE),
        *((line, styles.get(line[:1], CONTEXT_STYLE)) for line in selected),
        *([(f"… {omitted} more", CONTEXT_STYLE)] if omitted else []),
    ]
