"""Subagents and other background tasks of a session.

In: Claude Code's `task_*` lines, and the lines of a subagent, which name the tool call that started it or its task.
Out: the start and end of subagents, a `MessageStream` for each, and the set of subagents at work in the background. The
agent's turn is not over before these are done. A shell in the background does not delay the end of the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Custom, Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.claude.messages import MessageStream
from gateway.wire.dialects.claude.tool_calls import ClaudeToolCalls
from gateway.wire.fields import items, non_empty, obj, present, text

SUBAGENT_TASKS = ("local_agent", "local_workflow", "remote_agent")
"""Types of tasks that are subagents; the others are shells."""
TASK_FIELDS = {
    "description": "description",
    "status": "status",
    "summary": "summary",
    "task_type": "type",
    "last_tool_name": "lastTool",
    "usage": "usage",
    "error": "error",
}
"""Claude's field of a task line → its name in the CUSTOM event."""


@dataclass(slots=True)
class Subagent:
    stream: MessageStream
    name: str = "subagent"
    description: str | None = None
    parent_task: str | None = None
    """The task of the subagent that started this one."""
    call_id: str | None = None
    """Claude's id of the tool call that started it."""
    is_open: bool = False
    """The client has seen it start, and not end."""


class Subagents:
    """All subagents of one session, by their task ids."""

    def __init__(self, calls: ClaudeToolCalls) -> None:
        self._calls = calls
        self._by_task: dict[str, Subagent] = {}
        self._task_by_call: dict[str, str] = {}
        self.background: set[str] = set()
        """Tasks of the subagents at work in the background."""

    def start_process(self) -> None:
        """No task of the previous process is at work any more."""
        self.background.clear()
        self.end_turn()

    def end_turn(self) -> None:
        """All that was open in the turn has been closed. A subagent that goes on starts again under another id."""
        self._by_task = {task: one for task, one in self._by_task.items() if task in self.background}
        self._task_by_call = {call: task for call, task in self._task_by_call.items() if task in self._by_task}
        for subagent in self._by_task.values():
            subagent.is_open = False

    def buffer_calls(self, is_buffering: bool) -> None:
        """See `MessageStream.buffer_calls`."""
        for subagent in self._by_task.values():
            subagent.stream.buffer_calls(is_buffering)

    # -- lines of a subagent

    def find_stream(self, line: dict[str, Any]) -> tuple[MessageStream, list[Event]]:
        """The stream of the subagent that a line is from, and the events that must come first."""
        call_id = non_empty(line.get("parent_tool_use_id"))
        task = non_empty(line.get("agent_id")) or self._task_by_call.get(call_id or "") or call_id or "subagent"
        subagent = self._find_or_add(task, call_id)
        subagent.name = non_empty(line.get("subagent_type")) or subagent.name
        subagent.description = non_empty(line.get("task_description")) or subagent.description
        return subagent.stream, self._start(task, subagent)

    def open_id(self, task: Any) -> str | None:
        """AG-UI's id of the subagent of a task, if it is open."""
        subagent = self._by_task.get(non_empty(task) or "")
        return subagent.stream.subagent if subagent is not None and subagent.is_open else None

    def end_call(self, call_id: str) -> list[Event]:
        """A tool call has its result: the subagent that it waited for is done, even if no task line reports it."""
        task = self._task_by_call.get(call_id, "")
        subagent = self._by_task.get(task)
        if subagent is None or not subagent.is_open or task in self.background:
            return []
        subagent.is_open = False
        return [SubagentFinished(str(subagent.stream.subagent))]

    def _find_or_add(self, task: str, call_id: str | None) -> Subagent:
        if task not in self._by_task:
            self._by_task[task] = Subagent(MessageStream(None, self._calls))
        subagent = self._by_task[task]
        if call_id is not None:
            subagent.call_id = call_id
            self._task_by_call[call_id] = task
        return subagent

    def _start(self, task: str, subagent: Subagent) -> list[Event]:
        if subagent.is_open:
            return []
        subagent.is_open = True
        parent = self._by_task.get(subagent.parent_task or "")
        events = self._start(str(subagent.parent_task), parent) if parent is not None else []
        subagent_id = self._calls.ids.new(f"agent:{task}")
        subagent.stream.set_subagent(subagent_id)
        parent_id = parent.stream.subagent if parent is not None else None
        call_id = self._calls.find_id(subagent.call_id)
        return [*events, SubagentStarted(subagent_id, subagent.name, subagent.description, parent_id, call_id)]

    # -- task lines

    def read_task(self, line: dict[str, Any]) -> list[Event] | None:
        """None: the line names no task."""
        task = non_empty(line.get("task_id"))
        if task is None:
            return None
        match line.get("subtype"):
            case "task_started":
                return self._task_started(task, line)
            case "task_progress":
                return self._report_task(task, line) if task in self._by_task else []
            case "task_updated":
                if obj(line.get("patch")).get("is_backgrounded") is True and task in self._by_task:
                    self.background.add(task)
                return []
            case _:
                return self._task_ended(task, line)

    def read_background(self, line: dict[str, Any]) -> list[Event]:
        """The line lists all tasks that are in the background now."""
        tasks = [task for task in items(line.get("tasks")) if task.get("task_type") in SUBAGENT_TASKS]
        task_ids = [non_empty(task.get("task_id")) for task in tasks if task.get("ambient") is not True]
        self.background = {task_id for task_id in task_ids if task_id is not None}
        return []

    def _task_started(self, task: str, line: dict[str, Any]) -> list[Event]:
        is_hidden = line.get("ambient") is True or line.get("skip_transcript") is True
        in_background = line.get("is_backgrounded") is True and not is_hidden
        if line.get("task_type") not in SUBAGENT_TASKS:
            # A shell in the foreground is reported by its tool call.
            return self._report_task(task, line | {"status": "running"}) if in_background else []
        if in_background:
            self.background.add(task)
        subagent = self._find_or_add(task, non_empty(line.get("tool_use_id")))
        subagent.name = non_empty(line.get("subagent_type")) or non_empty(line.get("workflow_name")) or subagent.name
        subagent.description = non_empty(line.get("description")) or subagent.description
        subagent.parent_task = non_empty(line.get("parent_task_id"))
        return self._start(task, subagent)

    def _task_ended(self, task: str, line: dict[str, Any]) -> list[Event]:
        self.background.discard(task)
        subagent = self._by_task.get(task)
        if subagent is None:
            # Only a shell in the background has an output file; one in the foreground is reported by its tool call.
            return self._report_task(task, line) if non_empty(line.get("output_file")) else []
        if not subagent.is_open:
            return []
        subagent.is_open = False
        subagent_id, summary = str(subagent.stream.subagent), text(line.get("summary"))
        match line.get("status"):
            case "failed":
                return [SubagentError(subagent_id, summary or "the subagent failed")]
            case "stopped":
                return [SubagentError(subagent_id, "the subagent was stopped", "CANCELLED")]
            case _:
                return [SubagentFinished(subagent_id, summary)]

    def _report_task(self, task: str, line: dict[str, Any]) -> list[Event]:
        value = {"taskId": task, "toolCallId": self._calls.find_id(non_empty(line.get("tool_use_id")))}
        value |= {name: line.get(field) for field, name in TASK_FIELDS.items()}
        return [Custom("claude.task", present(value), self.open_id(task))]
