"""How a failed tool call is marked in the `metadata` of its `TOOL_CALL_RESULT`.

AG-UI has no field for it (https://docs.ag-ui.com/concepts/events#toolcallresult). A dialect hands on what its agent
reports below the agent's name, and most agents mark a failure there themselves; where none does, the gateway adds
`{"gateway": {"isError": true}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.events import ToolCallResult

FAILED_STATUSES = frozenset(("failed", "error", "declined", "cancelled"))
"""How ACP, codex, gemini and opencode name it."""


def result_metadata(event: ToolCallResult) -> dict[str, Any] | None:
    """The event's metadata, with a mark if the tool failed and the agent's own metadata has none."""
    if event.is_error is not True or failure_mark(event.metadata) is not None:
        return event.metadata
    return {**(event.metadata or {}), "gateway": {"isError": True}}


def failure_mark(metadata: Any) -> str | None:
    """The status that marks a failure, in the metadata of any agent; None: the result is not marked as failed."""
    parts = metadata.values() if isinstance(metadata, Mapping) else ()
    marks = (_failure_mark(part) for part in parts if isinstance(part, Mapping))
    return next((mark for mark in marks if mark is not None), None)


def _failure_mark(part: Mapping[str, Any]) -> str | None:
    match part:
        case {"isError": True} | {"success": False}:
            return "failed"
        case {"status": str(status)} if status in FAILED_STATUSES:
            return status
        case _:
            return None
