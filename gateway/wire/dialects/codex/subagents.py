"""The threads of one session: its own, and those of the subagents that it started.

In: items and turns that show which thread started which. Out: the `ThreadItems` of a thread, with the events that must
come before its own. Codex announces a new thread by the call that spawned it, by `subAgentActivity`, or only by a turn
whose root is the session's. A subagent may outlive the turn: its later work is a new invocation for the client, whose
run has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.codex.errors import read_turn_error
from gateway.wire.dialects.codex.items import ThreadItems
from gateway.wire.dialects.codex.tool_calls import Item
from gateway.wire.dialects.codex.usage import UsageTotals
from gateway.wire.fields import non_empty, obj, strings, text


@dataclass(slots=True)
class SubagentThread:
    id: str
    parent_id: str | None
    """The thread of the subagent that started it; None: the session's own."""
    name: str = "subagent"
    description: str | None = None
    tool_call_id: str | None = None
    items: ThreadItems | None = None
    """None: the client has seen no start, or has seen the end."""
    usage: UsageTotals = field(default_factory=lambda: UsageTotals({}))


class Threads:
    """The session's own thread is the dialect's `session_id`."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._id_prefix = "t0"
        self.main = ThreadItems(self._id_prefix)
        self._subagents: dict[str, SubagentThread] = {}
        self._invocation_count = 0

    def start_turn(self, id_prefix: str) -> None:
        self._id_prefix = id_prefix
        self.main.start_turn(id_prefix)

    # -- find a thread

    def is_main(self, thread_id: Any) -> bool:
        return bool(thread_id == self._dialect.session_id)

    def find_subagent(self, thread_id: Any) -> SubagentThread | None:
        return self._subagents.get(thread_id) if isinstance(thread_id, str) and not self.is_main(thread_id) else None

    def owns(self, thread_id: Any) -> bool:
        """The thread belongs to this session."""
        return self.is_main(thread_id) or self.find_subagent(thread_id) is not None

    def find_items(self, thread_id: Any) -> tuple[ThreadItems, list[Event]]:
        """The items of a thread, and the events that must come first. The session's own for an unknown thread."""
        subagent = self.find_subagent(thread_id)
        return (self.main, []) if subagent is None else self._start_subagent(subagent)

    def _start_subagent(self, subagent: SubagentThread) -> tuple[ThreadItems, list[Event]]:
        if subagent.items is not None:
            return subagent.items, []
        events: list[Event] = []
        parent = self._subagents.get(subagent.parent_id or "")
        parent_id = None
        if parent is not None and parent is not subagent:
            parent_items, events = self._start_subagent(parent)
            parent_id = parent_items.subagent
        self._invocation_count += 1
        subagent_id = f"{self._id_prefix}/{self._invocation_count}"
        subagent.items = ThreadItems(subagent_id, subagent_id)
        start = SubagentStarted(
            subagent_id, subagent.name, subagent.description, parent=parent_id, tool_call_id=subagent.tool_call_id
        )
        return subagent.items, [*events, start]

    # -- find new threads

    def read_item(self, item: Item, thread_id: Any, thread_items: ThreadItems) -> None:
        """An item of a thread, which may announce another thread."""
        parent_id = None if thread_items.subagent is None else text(thread_id)
        if item.get("type") == "subAgentActivity":
            self._add(non_empty(item.get("agentThreadId")), parent_id, name=non_empty(item.get("agentPath")))
        elif item.get("type") == "collabAgentToolCall" and item.get("tool") == "spawnAgent":
            details = {"description": text(item.get("prompt")), "tool_call_id": thread_items.find_call_id(item["id"])}
            for new_id in strings(item.get("receiverThreadIds")):
                self._add(new_id, parent_id, **details)

    def read_turn(self, thread_id: Any, turn: dict[str, Any], own_turns: set[str]) -> None:
        """A turn has started in an unknown thread. It is a subagent's if its root is one of the session's turns."""
        if non_empty(turn.get("rootTurnId")) in own_turns:
            self._add(non_empty(thread_id), None)

    def _add(self, thread_id: str | None, parent_id: str | None, name: str | None = None, **details: Any) -> None:
        if thread_id and thread_id not in self._subagents and thread_id != parent_id:
            self._subagents[thread_id] = SubagentThread(thread_id, parent_id, name or "subagent", **details)

    # -- ends

    def end_subagent(self, subagent: SubagentThread, turn: dict[str, Any]) -> list[Event]:
        """A subagent's turn is over."""
        thread_items, events = self._start_subagent(subagent)
        subagent.items = None
        events += thread_items.close(is_cancelled=turn.get("status") == "interrupted")
        subagent_id = str(thread_items.subagent)
        if turn.get("status") != "failed":
            return [*events, SubagentFinished(subagent_id)]
        failure = read_turn_error(obj(turn.get("error")))
        return [*events, SubagentError(subagent_id, failure.message, failure.code)]

    def end_arguments(self) -> list[Event]:
        """The run ends with an interrupt: see `ThreadItems.end_arguments`."""
        open_items = [self.main, *(subagent.items for subagent in self._subagents.values() if subagent.items)]
        return [event for thread_items in open_items for event in thread_items.end_arguments()]

    def end_turn(self, *, is_cancelled: bool) -> list[Event]:
        """The session's own turn is over. A subagent that goes on does so in another run."""
        events: list[Event] = []
        for subagent in self._subagents.values():
            if subagent.items is not None:
                events += subagent.items.close(is_cancelled=is_cancelled)
                events.append(SubagentFinished(str(subagent.items.subagent), {"status": "running"}))
                subagent.items = None
        return [*events, *self.main.close(is_cancelled=is_cancelled)]
