"""Tool calls of one session, by Claude's ids. Message ids come from the same set, so that no id is used twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Event
from gateway.wire.ids import UniqueIds
from gateway.wire.tool_calls import ToolCall, ToolCalls


class ClaudeToolCalls(ToolCalls[ToolCall]):
    """Claude repeats calls, also after their result, so an id always means the same call."""

    def __init__(self, make_id: Callable[[str], str]) -> None:
        self.ids = UniqueIds(make_id)
        super().__init__(self.ids, ToolCall, reuses_ids=False)

    def find_id(self, agent_id: Any) -> str | None:
        """AG-UI's id of a call."""
        call = self.get(agent_id)
        return None if call is None else call.id

    def add_whole(self, agent_id: str, name: str | None, arguments: Any, subagent: str | None = None) -> list[Event]:
        """A call with all its arguments; no events if it is known."""
        if self.get(agent_id) is not None:
            return []
        return self.add(agent_id, name, subagent).end(arguments)
