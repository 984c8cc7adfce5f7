"""What a tool call gave back → the content of its result, for a model and for people.

In: the call's content items, its raw output, its terminals' text. Out: text, or content parts if there is an image or
audio, and whole diffs for clients that draw them. In the text a diff is short.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from gateway.wire.acp.content import Part, inline_text, to_part
from gateway.wire.acp.terminals import Terminals
from gateway.wire.fields import items, json_text, obj, present, text, without_meta

DIFF_MAX_LINES = 200
"""Lines of one diff in the text."""
COMPARED_MAX_LINES = 4_000
"""Longer files are not compared line by line: the time for it grows with their product."""
DIFF_KEYS = ("path", "oldText", "newText", "changes", "patch")
DIFFS_MAX_CHARS = 1_000_000
"""Diffs that are longer together are not repeated whole beside the text."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    """All text of the result."""
    parts: list[Part] = field(default_factory=list)
    """The same with images and audio; empty if there are none."""
    diffs: list[dict[str, Any]] = field(default_factory=list)
    exit: dict[str, Any] = field(default_factory=dict)
    """`exitCode` and `signal` of the command, if a terminal reported them."""

    @property
    def content(self) -> str | list[Part]:
        return self.parts or self.text


def read_result(content: Any, raw_output: Any, terminals: Terminals) -> ToolResult:
    parts: list[Part] = []
    diffs: list[dict[str, Any]] = []
    has_output = False
    for item in items(content):
        if item.get("type") == "diff":
            diffs.append({key: without_meta(item[key]) for key in DIFF_KEYS if item.get(key) is not None})
            parts.append({"type": "text", "text": diff_text(item)})
        elif (part := _part(item, terminals)) is not None:
            parts.append(part)
            has_output = has_output or bool(part.get("text")) or part["type"] != "text"
    # A diff is what the agent proposed; how it went may be in its raw output only.
    if raw_output is not None and not has_output and (isinstance(raw_output, str) or not diffs):
        parts.insert(0, {"type": "text", "text": raw_text(raw_output)})
    whole_text = "\n\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])
    has_media = any(part["type"] != "text" for part in parts)
    terminal_ids = [item.get("terminalId") for item in items(content) if item.get("type") == "terminal"]
    exit_fields = {key: value for each in terminal_ids for key, value in terminals.exit(each).items()}
    media_parts = [part for part in parts if part.get("text") != ""] if has_media else []
    return ToolResult(whole_text, media_parts, _bound_diffs(diffs), exit_fields)


def live_text(content: Any) -> str:
    """The text that a call prints: no diff, no terminal."""
    texts = (inline_text(item.get("content")) for item in items(content) if item.get("type") == "content")
    return "\n".join(part for part in texts if part)


def raw_text(raw: Any) -> str:
    return raw if isinstance(raw, str) else json_text(raw)


def _part(item: dict[str, Any], terminals: Terminals) -> Part | None:
    if item.get("type") == "terminal":
        output = terminals.text(text(item.get("terminalId")) or "")
        return {"type": "text", "text": output} if output else None
    return to_part(item.get("content")) if item.get("type") == "content" else None


def diff_text(item: dict[str, Any]) -> str:
    """A unified diff, cut short; version 2 has its own."""
    if "changes" in item:
        patch = text(obj(item.get("patch")).get("text"))
        lines = patch.splitlines() if patch else [_describe_change(change) for change in items(item["changes"])]
    else:
        path = text(item.get("path")) or ""
        old, new = text(item.get("oldText")), text(item.get("newText")) or ""
        lines = _unified_diff(path, (old or "").splitlines(), new.splitlines(), created=old is None)
    cut = [f"[{len(lines) - DIFF_MAX_LINES} more lines]"] if len(lines) > DIFF_MAX_LINES else []
    return "\n".join(lines[:DIFF_MAX_LINES] + cut)


def _unified_diff(path: str, old: list[str], new: list[str], *, created: bool) -> list[str]:
    if len(old) + len(new) > COMPARED_MAX_LINES:
        return [f"{path}: {len(old)} lines became {len(new)}"]
    return list(unified_diff(old, new, "/dev/null" if created else path, path, lineterm="", n=3))


def _describe_change(change: dict[str, Any]) -> str:
    paths = [path for key in ("oldPath", "path") if (path := text(change.get(key)))]
    return f"{text(change.get('operation')) or 'change'} {' → '.join(paths)}"


def _bound_diffs(diffs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if sum(len(json_text(diff)) for diff in diffs) <= DIFFS_MAX_CHARS:
        return diffs
    return [present({"path": diff.get("path"), "tooLarge": True}) for diff in diffs]
