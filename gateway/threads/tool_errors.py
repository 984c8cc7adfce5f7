"""Whether a tool failed, read off its result. Pure.

In: a result's text and its `metadata`. Out: what went wrong, or None. AG-UI has no field for it, so each agent's own
word is looked for, where its reader puts it: below the agent's name. A call that never had a result failed too: what is
told in its place is the gateway's own sentence. What is not known to have failed has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.turn import CANCELLED, NO_RESULT, UNREPORTED

STATUSES = frozenset(("failed", "error", "declined", "cancelled"))
"""By which ACP, codex, gemini and opencode tell it."""
NEITHER = ("success", "unknown")
"""Of cursor's words for what became of a call; any other is a failure, by its kind."""
NEVER_ANSWERED = (UNREPORTED, CANCELLED, NO_RESULT)


def error_of(text: str, metadata: Any) -> str | None:
    """Never empty: who is told that a tool failed is told something."""
    marks = [_mark(name, told) for name, told in _parts(metadata) if isinstance(told, Mapping)]
    mark = next((mark for mark in marks if mark is not None), None)
    if mark is None and not text.startswith(NEVER_ANSWERED):
        return None
    return text or f"The agent reports: {mark}."


def _parts(metadata: Any) -> list[tuple[str, Any]]:
    return [*metadata.items()] if isinstance(metadata, Mapping) else []


def _mark(name: str, told: Mapping[str, Any]) -> str | None:
    """The word that says so."""
    match told:
        case {"isError": True} | {"success": False}:
            return "failed"
        case {"status": str(status)} if status in STATUSES:
            return status
        case {"outcome": str(outcome)} if name == "cursor" and outcome not in NEITHER:
            return outcome
        case _:
            return None
