"""What vendors add to ACP in `_meta`, where ACP itself has no field: a tool's name, the subagent at work.

In: the `_meta` of an update. Out: a value, or None where the vendor said nothing. Nothing else of `_meta` is handed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.wire.fields import non_empty, obj, value_at

TOOL_NAME_PATHS = (
    ("claudeCode", "toolName"),
    ("toolName",),  # qwen-code
    ("tool_name",),  # mistral-vibe
    ("goose", "toolCall", "toolName"),
    ("x.ai/tool", "name"),  # grok
)


@dataclass(frozen=True, slots=True)
class SubagentMark:
    """The update is a subagent's, though it comes in the session of the agent that started it."""

    parent_call: str
    """The agent's id of the tool call that started the subagent."""
    name: str


def read_tool_name(meta: Any) -> str | None:
    """The name of the tool, as the model calls it."""
    names = (non_empty(value_at(meta, *path)) for path in TOOL_NAME_PATHS)
    return next((name for name in names if name is not None), None)


def read_parent_call(meta: Any) -> str | None:
    """The agent's id of the call that made this one."""
    return non_empty(value_at(meta, "claudeCode", "parentToolUseId"))


def read_subagent(update: dict[str, Any]) -> SubagentMark | None:
    """qwen-code marks what its subagents say and do. The call that started the subagent carries the mark, too, when it
    reports progress: that is the agent's own."""
    meta = obj(update.get("_meta"))
    parent_call, name = non_empty(meta.get("parentToolCallId")), non_empty(meta.get("subagentType"))
    if parent_call is None or name is None or update.get("toolCallId") == parent_call:
        return None
    return SubagentMark(parent_call, name)
