"""One turn of Hermes as events: text, reasoning, tool calls, plans, subagents.

In: the payload of an event. Out: events, or None for a payload that cannot be read. Hermes names the arguments of a
call only with its result, so they are sent there; a command that needs approval is sent before, with the interrupt.
After a tool call Hermes puts two newlines before its text; the text starts a new message, which needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.events import ActivitySnapshot, Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.hermes.permissions import PermissionRequest
from gateway.wire.fields import items, json_text, non_empty, present, text
from gateway.wire.text_parts import TextParts
from gateway.wire.tool_calls import ToolCall, ToolCalls

Payload = dict[str, Any]

RESULT_FIELDS = ("summary", "inline_diff", "duration_s")
"""Fields of a completed call that go into the result's metadata."""
COMMAND_CHARS = 60
"""Hermes' description of a call has the beginning of its command."""
TERMINAL_TOOL = "terminal"
DELEGATE_TOOL = "delegate_task"
SUCCESS_STATUSES = ("completed", "complete", "success", "ok")


@dataclass(slots=True)
class HermesCall(ToolCall):
    context: str = ""
    """Hermes' description of what the call does."""
    arguments: Any = None
    """What was sent as its arguments."""

    def end_with(self, arguments: Any) -> list[Event]:
        """The arguments are complete: the call is over, or the user is asked about it."""
        if self.is_ended:
            return []
        self.arguments = {} if arguments is None else arguments
        return self.end(self.arguments)


class TurnEvents:
    """Reads the events of one turn. `qualify_id` makes an id of Hermes' unique in the thread."""

    def __init__(self, qualify_id: Callable[[str], str]) -> None:
        self._qualify_id = qualify_id
        self._parts = TextParts()
        self._calls = ToolCalls(qualify_id, HermesCall, reuses_ids=False)
        self._subagents: set[str] = set()
        self._is_after_call = False

    def begin_turn(self) -> None:
        self._parts.begin_turn()
        self._calls.begin_turn()
        self._subagents.clear()
        self._is_after_call = False

    # -- text and reasoning

    def read_text(self, payload: Payload) -> list[Event] | None:
        delta = text(payload.get("text"))
        if delta is None:
            return None
        if self._is_after_call and not self._parts.is_open("text"):
            delta = delta.lstrip("\n")
        return self._add_text(delta)

    def read_reasoning(self, payload: Payload) -> list[Event] | None:
        delta = text(payload.get("text"))
        return None if delta is None else self._parts.add_reasoning(delta)

    def read_interim(self, payload: Payload) -> list[Event] | None:
        """The text before a tool call, complete."""
        message = text(payload.get("text"))
        if message is None:
            return None
        is_streamed = self._parts.is_open("text") or payload.get("already_streamed") is True
        return [*([] if is_streamed else self._add_text(message)), *self.close_text()]

    def read_last(self, payload: Payload) -> list[Event]:
        """The whole answer, sent where it did not stream."""
        message = text(payload.get("text"))
        is_streamed = self._parts.is_open("text") or payload.get("response_previewed") is True
        return [*(self._add_text(message) if message and not is_streamed else []), *self.close_text()]

    def _add_text(self, delta: str) -> list[Event]:
        if delta:
            self._is_after_call = False
        return self._parts.add_text(delta)

    def close_text(self) -> list[Event]:
        """The text or reasoning that is open is complete."""
        return self._parts.close()

    # -- tool calls

    def read_call_start(self, payload: Payload) -> list[Event] | None:
        call = self._find_call(payload)
        if call is None:
            return None
        if call.is_started:
            return []
        call.context = text(payload.get("context")) or ""
        metadata = {"hermes": {"context": call.context}} if call.context else None
        return [*self.close_text(), *call.start(metadata)]

    @property
    def has_open_calls(self) -> bool:
        """A tool is at work, or waits for the user."""
        return any(call.is_started for call in self._calls.open_calls)

    def read_call_end(self, payload: Payload) -> list[Event] | None:
        started = self.read_call_start(payload)
        call = self._find_call(payload)
        if started is None or call is None:
            return None
        if call.is_answered:
            return []
        self._is_after_call = True
        arguments = payload.get("args")
        ended = call.end_with(arguments)
        metadata = present({name: payload.get(name) for name in RESULT_FIELDS})
        if call.arguments != arguments and arguments is not None:
            metadata["args"] = arguments  # the interrupt had the arguments with their secrets masked
        result = payload.get("result")
        content = result if isinstance(result, str) else json_text(result)
        answered = call.answer(content, {"hermes": metadata} if metadata else None)
        return [*started, *ended, *answered, *self._read_plan(payload)]

    def _find_call(self, payload: Payload) -> HermesCall | None:
        call_id = non_empty(payload.get("tool_id"))
        name = non_empty(payload.get("name"))
        return None if call_id is None or name is None else self._calls.add(call_id, name)

    def show_call(self, request: PermissionRequest) -> tuple[list[Event], str | None]:
        """The tool call that a permission request is about, with its arguments as far as they are known; and its id.
        The user sees what is to be approved."""
        call = self._find_requested(request)
        if call is None:
            return self.close_text(), None
        command = text(request.payload.get("command"))
        has_command = command is not None and call.name == TERMINAL_TOOL
        arguments = {"command": command} if has_command else request.known_arguments()
        return [*self.close_text(), *call.end_with(arguments)], call.id

    def _find_requested(self, request: PermissionRequest) -> HermesCall | None:
        """The call whose description has the command, or the only open one."""
        command = (text(request.payload.get("command")) or "").strip().split("\n")[0][:COMMAND_CHARS]
        open_calls = self._calls.open_calls
        matches = [call for call in open_calls if call.name == request.kind or (command and command in call.context)]
        candidates = matches or open_calls
        return candidates[0] if len(candidates) == 1 else None

    def _read_plan(self, payload: Payload) -> list[Event]:
        if "todos" not in payload:
            return []
        keys = ("id", "content", "status")
        entries = [present({key: text(entry.get(key)) for key in keys}) for entry in items(payload["todos"])]
        return [ActivitySnapshot(self._qualify_id("plan"), "plan", {"entries": entries})]

    # -- subagents

    def read_subagent(self, moment: str, payload: Payload) -> list[Event] | None:
        """None: no AG-UI event says it."""
        native_id = non_empty(payload.get("subagent_id"))
        if native_id is None:
            return None
        if moment == "start" and native_id not in self._subagents:
            self._subagents.add(native_id)
            return [*self.close_text(), self._start_subagent(native_id, payload)]
        if moment == "complete" and native_id in self._subagents:
            self._subagents.discard(native_id)
            return [_end_subagent(self._subagent_id(native_id), payload)]
        return None

    def _start_subagent(self, native_id: str, payload: Payload) -> SubagentStarted:
        parent = non_empty(payload.get("parent_id"))
        callers = [call for call in self._calls.open_calls if call.name == DELEGATE_TOOL]
        return SubagentStarted(
            self._subagent_id(native_id),
            name=non_empty(payload.get("model")) or "subagent",
            description=non_empty(payload.get("goal")),
            parent=self._subagent_id(parent) if parent in self._subagents and parent is not None else None,
            tool_call_id=callers[0].id if len(callers) == 1 else None,
        )

    def _subagent_id(self, native_id: str) -> str:
        return self._qualify_id(f"subagent:{native_id}")


def _end_subagent(subagent_id: str, payload: Payload) -> Event:
    summary = text(payload.get("summary")) or text(payload.get("text"))
    status = non_empty(payload.get("status")) or "completed"
    if status in SUCCESS_STATUSES:
        return SubagentFinished(subagent_id, summary)
    return SubagentError(subagent_id, summary or f"the subagent ended: {status}", status.upper())
