"""Subagents and what else runs beside the conversation.

In: Claude Code's notices of tasks, and the lines of a subagent (they name the call that started it, or its task). Out:
the beginning and end of subagents, each with a lane of its own, and which of those in the background are still at work:
the agent's turn is not over before they are. A shell in the background holds nothing up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Custom, Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.claude.messages import Lane
from gateway.wire.dialects.claude.tool_calls import Calls
from gateway.wire.fields import items, non_empty, obj, present, text

AGENTS = ("local_agent", "local_workflow", "remote_agent")
SHOWN = {
    "description": "description",
    "status": "status",
    "summary": "summary",
    "task_type": "type",
    "last_tool_name": "lastTool",
    "usage": "usage",
    "error": "error",
}
"""Of a notice, by the names under which clients get it."""


@dataclass(slots=True)
class Subagent:
    lane: Lane
    name: str = "subagent"
    description: str | None = None
    parent: str | None = None
    """Its task's id, if another subagent started it."""
    call: str | None = None
    """Claude's id of the call that started it."""
    open: bool = False
    """The client knows that it is at work."""


class Tasks:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._subagents: dict[str, Subagent] = {}
        """By task."""
        self._by_call: dict[str, str] = {}
        self.background: set[str] = set()
        """Subagents at work in the background."""

    def forget(self) -> None:
        """The process is a new one: nothing of the old one's is at work any more."""
        self.background.clear()
        self.rest()

    def rest(self) -> None:
        """The turn is over, and all that was open in it was closed. Who goes on begins anew, under another id."""
        self._subagents = {task: one for task, one in self._subagents.items() if task in self.background}
        self._by_call = {call: task for call, task in self._by_call.items() if task in self._subagents}
        for one in self._subagents.values():
            one.open = False

    def park(self, whole_calls: bool) -> None:
        for one in self._subagents.values():
            one.lane.whole_calls = whole_calls

    # -- lines

    def lane(self, line: dict[str, Any]) -> tuple[Lane, list[Event]]:
        """Of a line that names who it is from, and what must be told before."""
        call, told = non_empty(line.get("parent_tool_use_id")), non_empty(line.get("agent_id"))
        task = told or self._by_call.get(call or "") or call or "subagent"
        one = self._find(task, call)
        one.name = non_empty(line.get("subagent_type")) or one.name
        one.description = non_empty(line.get("task_description")) or one.description
        return one.lane, self._begin(task, one)

    def tag(self, agent_id: Any) -> str | None:
        """The subagent that a notice belongs to, if it is at work."""
        one = self._subagents.get(agent_id) if isinstance(agent_id, str) else None
        return one.lane.subagent if one is not None and one.open else None

    def returned(self, claudes: str) -> list[Event]:
        """A call has its result: the subagent that it waited for is done, even where no notice says so."""
        task = self._by_call.get(claudes)
        one = self._subagents.get(task or "")
        if task is None or one is None or not one.open or task in self.background:
            return []
        one.open = False
        return [SubagentFinished(str(one.lane.subagent))]

    def _find(self, task: str, call: str | None) -> Subagent:
        if task not in self._subagents:
            self._subagents[task] = Subagent(Lane(None, self._calls))
        one = self._subagents[task]
        if call is not None:
            one.call = call
            self._by_call[call] = task
        return one

    def _begin(self, task: str, one: Subagent) -> list[Event]:
        if one.open:
            return []
        one.open = True
        above = self._subagents.get(one.parent or "")
        found = self._begin(str(one.parent), above) if above is not None else []
        one.lane.subagent = self._calls.fresh(f"agent:{task}")
        call = self._calls.find(one.call)
        parent = above.lane.subagent if above is not None else None
        start = SubagentStarted(one.lane.subagent, one.name, one.description, parent, call.id if call else None)
        return [*found, start]

    # -- notices

    def notice(self, subtype: str, line: dict[str, Any]) -> list[Event] | None:
        """None: it names no task."""
        task = non_empty(line.get("task_id"))
        if task is None:
            return None
        match subtype:
            case "task_started":
                return self._started(task, line)
            case "task_progress":
                return self._shown(task, line) if task in self._subagents else []
            case "task_updated":
                if obj(line.get("patch")).get("is_backgrounded") is True and task in self._subagents:
                    self.background.add(task)
                return []
            case _:
                return self._ended(task, line)

    def level(self, line: dict[str, Any]) -> None:
        """All that is in the background now."""
        told = [one for one in items(line.get("tasks")) if one.get("task_type") in AGENTS]
        at_work = [non_empty(one.get("task_id")) for one in told if one.get("ambient") is not True]
        self.background = {task for task in at_work if task is not None}

    def _started(self, task: str, line: dict[str, Any]) -> list[Event]:
        hidden = line.get("ambient") is True or line.get("skip_transcript") is True
        beside = line.get("is_backgrounded") is True
        if line.get("task_type") not in AGENTS:
            # A shell that its call waits for is told by the call.
            return self._shown(task, line | {"status": "running"}) if beside and not hidden else []
        if beside and not hidden:
            self.background.add(task)
        one = self._find(task, non_empty(line.get("tool_use_id")))
        one.name = non_empty(line.get("subagent_type")) or non_empty(line.get("workflow_name")) or one.name
        one.description = non_empty(line.get("description")) or one.description
        one.parent = non_empty(line.get("parent_task_id"))
        return self._begin(task, one)

    def _ended(self, task: str, line: dict[str, Any]) -> list[Event]:
        self.background.discard(task)
        one = self._subagents.get(task)
        if one is None:
            # Of a shell that its call waited for there is no file.
            return self._shown(task, line) if non_empty(line.get("output_file")) else []
        if not one.open:
            return []
        one.open = False
        subagent, summary = str(one.lane.subagent), text(line.get("summary"))
        match line.get("status"):
            case "failed":
                return [SubagentError(subagent, summary or "the subagent failed")]
            case "stopped":
                return [SubagentError(subagent, "the subagent was stopped", "CANCELLED")]
            case _:
                return [SubagentFinished(subagent, summary)]

    def _shown(self, task: str, line: dict[str, Any]) -> list[Event]:
        call = self._calls.find(non_empty(line.get("tool_use_id")))
        about = {"taskId": task, "toolCallId": call.id if call else None}
        shown = present(about | {ours: line.get(theirs) for theirs, ours in SHOWN.items()})
        return [Custom("claude.task", shown, self.tag(task))]
