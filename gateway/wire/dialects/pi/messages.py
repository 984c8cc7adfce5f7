"""Messages and tool calls of the agent or one subagent as events.

In: the events that pi and omp send about a model's answers and about tools, in both versions of the format. Out: text
and reasoning token by token, tool calls, results, usage. With many providers the end of a content block comes late,
after the next block has started: the start of the next block ends it for the client. Older versions send a copy of the
whole message with every token; it is read for the name of a tool call only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gateway.events import ActivitySnapshot, Custom, Event, StepFinished, StepStarted
from gateway.wire.acp.content import to_part
from gateway.wire.dialects.pi.tool_calls import PiToolCalls
from gateway.wire.dialects.pi.usage import TurnUsage
from gateway.wire.fields import items, non_empty, obj, present, text
from gateway.wire.ids import UniqueIds
from gateway.wire.text_parts import Kind, Part, TextParts, missing_end

Json = dict[str, Any]

ECHOED_ROLES = frozenset(("user", "system", "developer"))
"""Messages of these roles repeat the prompt, or the agent's own instructions."""
DELTA_KINDS: dict[str, Kind] = {"text_delta": "text", "thinking_delta": "reasoning"}
BLOCK_FIELDS: dict[Kind, str] = {"text": "text", "reasoning": "thinking"}
"""Kind of part → the type of its content blocks, and the field with their text."""
IGNORED_EVENTS = frozenset(("start", "done", "error", "text_start", "thinking_start"))
"""Events inside an answer whose content the other events have."""


class MessageReader:
    """Reads the messages of the agent or one subagent. `qualify_id` makes an id of the agent's unique in the thread.
    `subagent` is the subagent's id at the client; None: the agent itself."""

    def __init__(
        self,
        agent: str,
        qualify_id: Callable[[str], str],
        usage: TurnUsage,
        subagent: str | None = None,
        *,
        has_intent: bool,
        client_tools: Mapping[str, str],
    ) -> None:
        self._agent = agent
        self._qualify_id = qualify_id
        self._usage = usage
        self._subagent = subagent
        self.calls = PiToolCalls(agent, qualify_id, subagent, has_intent=has_intent, client_tools=client_tools)
        self._ids = UniqueIds(qualify_id)
        self._parts = TextParts(self._new_message_id, subagent, sends_ends=False)
        self._message_count = 0
        self._step_count = 0
        self._image_count = 0
        self._sent: dict[Kind, list[str]] = {"text": [], "reasoning": []}
        """Pieces of the message that is being written."""
        self.stop_reason: str | None = None
        """Why the latest answer ended; with `error`, `failed_message` says how."""
        self.failed_message: Json = {}

    def read(self, line: Json) -> Iterable[Event] | None:
        """None: not understood, or not about messages and tools."""
        reader = MESSAGE_READERS.get(non_empty(line.get("type")) or "")
        return None if reader is None else reader(self, line)

    def break_off(self) -> None:
        """The run ended, or something else came between: the text goes on in a new message."""
        self._parts.break_off()

    def forget_stop(self) -> None:
        """A new run of the agent's loop: an earlier failure no longer counts."""
        self.stop_reason = None

    # -- what the model writes

    def _read_message_start(self, line: Json) -> list[Event] | None:
        role = obj(line.get("message")).get("role")
        if role != "assistant":
            return [] if non_empty(role) else None
        self._message_count += 1
        self._sent = {"text": [], "reasoning": []}
        self._parts.break_off()
        self.calls.start_message()
        return []

    def read_update(self, line: Json) -> Iterable[Event] | None:
        event = line.get("assistantMessageEvent")
        if not isinstance(event, dict):
            return None
        event_type = event.get("type")
        index = event.get("contentIndex")
        if not isinstance(event_type, str):
            return None
        if (kind := DELTA_KINDS.get(event_type)) is not None:
            return self.add_delta(kind, index, event.get("delta"))
        if event_type in IGNORED_EVENTS:
            return []
        reader = BLOCK_READERS.get(event_type)
        return reader(self, index, event, line.get("message")) if reader and type(index) is int else None

    def add_delta(self, kind: Kind, index: Any, delta: Any) -> list[Event] | None:
        if type(delta) is not str or type(index) is not int:
            return None
        if not delta:
            return []
        self._sent[kind].append(delta)
        return self._parts.add_text(delta, index) if kind == "text" else self._parts.add_reasoning(delta, index)

    def _new_message_id(self, part: Part) -> str:
        """A block that goes on after another one came between is a second message."""
        return self._ids.new(f"m{self._message_count}.{part.key}")

    def _read_block_end(self, index: int, event: Json, message: Any) -> list[Event]:
        part = self._parts.open_part
        return self._parts.close() if part is not None and part.key == index else []

    def _read_image(self, index: int, event: Json, message: Any) -> list[Event] | None:
        """AG-UI's messages hold no image; an activity can."""
        part = to_part(event.get("content"))
        if part is None:
            return None
        self._image_count += 1
        activity_id = self._qualify_id(f"content{self._message_count}.{self._image_count}")
        return [ActivitySnapshot(activity_id, "content", {"parts": [part]}, subagent=self._subagent)]

    def _read_call_start(self, index: int, event: Json, message: Any) -> list[Event]:
        self._parts.break_off()
        return self.calls.start_draft(index, event, message)

    def _read_call_delta(self, index: int, event: Json, message: Any) -> list[Event]:
        return self.calls.add_to_draft(index, event, message)

    def _read_call_end(self, index: int, event: Json, message: Any) -> list[Event]:
        return self.calls.end_draft(index, event)

    def _read_message_end(self, line: Json) -> list[Event] | None:
        message = obj(line.get("message"))
        match message.get("role"):
            case "assistant":
                return self._read_answer(message)
            case "toolResult":
                return [*self.calls.read_result(message, message), *self._usage.read(message.get("usage"), {})]
            case "custom" | "hookMessage":
                return self._read_custom(message)
            case str(role) if role in ECHOED_ROLES:
                return []
            case _:
                return None

    def _read_answer(self, message: Json) -> list[Event]:
        """The complete message, for what was not reported before."""
        blocks = items(message.get("content"))
        events = [*self._read_rest("reasoning", blocks), *self._read_rest("text", blocks)]
        for block in blocks:
            if block.get("type") == "toolCall":
                events += self.calls.read_block(block)
        self.calls.start_message()
        self.stop_reason = non_empty(message.get("stopReason"))
        self.failed_message = message
        return [*events, *self._usage.read(message.get("usage"), message)]

    def _read_rest(self, kind: Kind, blocks: list[Json]) -> list[Event]:
        name = BLOCK_FIELDS[kind]
        whole = "".join(text(block.get(name)) or "" for block in blocks if block.get("type") == name)
        part = self._parts.open_part
        index = part.key if part is not None and part.kind == kind else 0
        return self.add_delta(kind, index, missing_end("".join(self._sent[kind]), whole)) or []

    def _read_custom(self, message: Json) -> list[Event]:
        """A message of an extension's. One that is not displayed is for the model only."""
        if message.get("display") is False:
            return []
        content = message.get("content")
        body = content if isinstance(content, str) else _join_text(content)
        value = present({"type": non_empty(message.get("customType")), "text": body})
        return [Custom(f"{self._agent}.message", value, self._subagent)] if body else []

    # -- steps and tools

    def _read_turn_start(self, line: Json) -> list[Event]:
        self._step_count += 1
        return [StepStarted(f"turn {self._step_count}", self._subagent)]

    def _read_turn_end(self, line: Json) -> list[Event]:
        return [StepFinished(f"turn {self._step_count}", self._subagent)] if self._step_count else []

    def _read_tool_start(self, line: Json) -> list[Event] | None:
        self._parts.break_off()
        return self.calls.read_start(line) if non_empty(line.get("toolCallId")) else None

    def _read_tool_output(self, line: Json) -> list[Event] | None:
        return self.calls.read_output(line) if non_empty(line.get("toolCallId")) else None

    def _read_tool_end(self, line: Json) -> list[Event] | None:
        self._parts.break_off()
        return self.calls.read_result(line, obj(line.get("result"))) if non_empty(line.get("toolCallId")) else None


def _join_text(content: Any) -> str:
    return "\n".join(text(block.get("text")) or "" for block in items(content)).strip()


BLOCK_READERS: dict[str, Callable[[MessageReader, int, Json, Any], list[Event] | None]] = {
    "text_end": MessageReader._read_block_end,
    "thinking_end": MessageReader._read_block_end,
    "image_end": MessageReader._read_image,
    "toolcall_start": MessageReader._read_call_start,
    "toolcall_delta": MessageReader._read_call_delta,
    "toolcall_end": MessageReader._read_call_end,
}

MESSAGE_READERS: dict[str, Callable[[MessageReader, Json], Iterable[Event] | None]] = {
    "message_update": MessageReader.read_update,
    "message_start": MessageReader._read_message_start,
    "message_end": MessageReader._read_message_end,
    "turn_start": MessageReader._read_turn_start,
    "turn_end": MessageReader._read_turn_end,
    "tool_execution_start": MessageReader._read_tool_start,
    "tool_execution_update": MessageReader._read_tool_output,
    "tool_execution_end": MessageReader._read_tool_end,
}
