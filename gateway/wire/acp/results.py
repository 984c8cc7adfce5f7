"""What a tool call gave → the content of its result, for a model and for people.

In: the call's content items, its raw output, its terminals' text. Out: text, or content parts where there is an image
or a sound, and the diffs whole for whoever draws them. In the text a diff is short.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from gateway.wire.acp.content import Part, inline, to_part
from gateway.wire.acp.terminals import Terminals
from gateway.wire.fields import items, json_text, obj, present, text, without_meta

DIFF_LINES = 200
"""Of one diff, so many lines are told in the text."""
COMPARED_LINES = 4_000
"""Longer files are not compared line by line: that takes time which grows with their product."""
DIFF_KEYS = ("path", "oldText", "newText", "changes", "patch")
DIFFS_CHARS = 1_000_000
"""Diffs that are longer together are not repeated whole beside the text."""


@dataclass(frozen=True, slots=True)
class Outcome:
    text: str
    """All that is text."""
    parts: list[Part] = field(default_factory=list)
    """The same with images and sounds; empty where there are none."""
    diffs: list[dict[str, Any]] = field(default_factory=list)
    exit: dict[str, Any] = field(default_factory=dict)
    """`exitCode` and `signal` of the command, where a terminal told them."""

    @property
    def content(self) -> str | list[Part]:
        return self.parts or self.text


def outcome(content: Any, raw_output: Any, terminals: Terminals) -> Outcome:
    parts, diffs, wait_until_probed = [], [], False
    for item in items(content):
        if item.get("type") == "diff":
            diffs.append({key: without_meta(item[key]) for key in DIFF_KEYS if item.get(key) is not None})
            parts.append({"type": "text", "text": diff_text(item)})
        elif (part := _part(item, terminals)) is not None:
            parts.append(part)
            wait_until_probed = wait_until_probed or bool(part.get("text")) or part["type"] != "text"
    # A diff is what was proposed; how it went, an agent may say in its raw output only.
    if raw_output is not None and not wait_until_probed and (isinstance(raw_output, str) or not diffs):
        parts.insert(0, {"type": "text", "text": raw_text(raw_output)})
    words = "\n\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])
    media = any(part["type"] != "text" for part in parts)
    ids = [item.get("terminalId") for item in items(content) if item.get("type") == "terminal"]
    told = {key: value for terminal_id in ids for key, value in terminals.exit(terminal_id).items()}
    return Outcome(words, [part for part in parts if part.get("text") != ""] if media else [], _bounded(diffs), told)


def live_text(content: Any) -> str:
    """Only what is printed: no diff, no terminal."""
    found = (inline(item.get("content")) for item in items(content) if item.get("type") == "content")
    return "\n".join(words for words in found if words)


def raw_text(raw: Any) -> str:
    return raw if isinstance(raw, str) else json_text(raw)


def _part(item: dict[str, Any], terminals: Terminals) -> Part | None:
    if item.get("type") == "terminal":
        printed = terminals.text(text(item.get("terminalId")) or "")
        return {"type": "text", "text": printed} if printed else None
    return to_part(item.get("content")) if item.get("type") == "content" else None


def diff_text(item: dict[str, Any]) -> str:
    """A unified diff, cut short; version 2 brings its own."""
    if "changes" in item:
        patch = text(obj(item.get("patch")).get("text"))
        lines = patch.splitlines() if patch else [_change(change) for change in items(item["changes"])]
    else:
        path = text(item.get("path")) or ""
        old, new = text(item.get("oldText")), text(item.get("newText")) or ""
        lines = _unified(path, (old or "").splitlines(), new.splitlines(), created=old is None)
    cut = [f"[{len(lines) - DIFF_LINES} more lines]"] if len(lines) > DIFF_LINES else []
    return "\n".join(lines[:DIFF_LINES] + cut)


def _unified(path: str, old: list[str], new: list[str], *, created: bool) -> list[str]:
    if len(old) + len(new) > COMPARED_LINES:
        return [f"{path}: {len(old)} lines became {len(new)}"]
    return list(unified_diff(old, new, "/dev/null" if created else path, path, lineterm="", n=3))


def _change(change: dict[str, Any]) -> str:
    places = [place for key in ("oldPath", "path") if (place := text(change.get(key)))]
    return f"{text(change.get('operation')) or 'change'} {' → '.join(places)}"


def _bounded(diffs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if sum(len(json_text(diff)) for diff in diffs) <= DIFFS_CHARS:
        return diffs
    return [present({"path": diff.get("path"), "tooLarge": True}) for diff in diffs]
