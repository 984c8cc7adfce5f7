"""Items of one Codex thread → messages, reasoning, tool calls, live output.

In: items as they start and complete, and the deltas between. Out: events; each message is sent once and each call
closed once, whichever of start, deltas and completion came. A subagent's thread has its own `ThreadItems`. A call that
is completed after its turn is reported as CUSTOM `codex.tool_call`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.events import (
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
)
from gateway.wire.activities import Plans
from gateway.wire.dialects.codex.tool_calls import (
    TOOL_KINDS,
    CodexToolCall,
    Item,
    describe_changes,
    read_metadata,
    read_result,
    read_status,
)
from gateway.wire.fields import count, non_empty, parse_json, present, text
from gateway.wire.text_parts import missing_end
from gateway.wire.tool_calls import ToolCalls

MESSAGES = ("agentMessage", "plan")
CUSTOM = {
    "hookPrompt": "codex.hook_prompt",
    "contextCompaction": "codex.compaction",
    "enteredReviewMode": "codex.review",
    "exitedReviewMode": "codex.review",
    "subAgentActivity": "codex.subagent",
}
"""Items that become CUSTOM events, and the names of these."""
IGNORED = ("userMessage",)
"""The gateway's own prompt, repeated."""


class ThreadItems:
    def __init__(self, id_prefix: str, subagent: str | None = None) -> None:
        self.subagent = subagent
        self._calls = ToolCalls(self._make_id, CodexToolCall, reuses_ids=False)
        self.start_turn(id_prefix)

    def start_turn(self, id_prefix: str) -> None:
        """A new turn has new ids. Calls that are still open stay known."""
        self._id_prefix = id_prefix
        self.last_text = ""
        """The newest complete message."""
        self._calls.begin_turn(keeps_open=True)
        for call in self._calls:
            call.forget_output()
        self._message_ids: dict[str, str] = {}
        self._pieces: dict[str, list[str]] = {}
        self._phases: dict[str, dict[str, Any]] = {}
        self.plans = Plans(id_prefix, self.subagent)

    def _make_id(self, item_id: str) -> str:
        return f"{self._id_prefix}:{item_id}"

    # -- messages and reasoning

    def add_text(self, item_id: str, delta: str) -> TextMessageContent:
        """A delta of a message. Called for every token, so it does no work twice."""
        pieces = self._pieces.get(item_id)
        if pieces is None:
            self._pieces[item_id] = [delta]
            message_id = self._message_ids[item_id] = self._make_id(item_id)
            return TextMessageContent(delta, message_id, self.subagent, None, self._phases.pop(item_id, None))
        pieces.append(delta)
        return TextMessageContent(delta, self._message_ids[item_id], self.subagent)

    def add_reasoning(self, item_id: str, part: str, delta: str) -> ReasoningMessageContent:
        """`part`: each part of a summary is a message of its own."""
        key = f"{item_id}:{part}"
        self._pieces.setdefault(key, []).append(delta)
        return ReasoningMessageContent(delta, self._make_id(key), self.subagent)

    def _complete_message(self, item: Item) -> list[Event]:
        """Sends the text that no delta had. A text that deltas had otherwise cannot be taken back."""
        item_id, content = item["id"], text(item.get("text")) or ""
        streamed = "".join(self._pieces.get(item_id, ()))
        self.last_text = content or streamed
        self._read_phase(item)
        rest = missing_end(streamed, content)
        events: list[Event] = [self.add_text(item_id, rest)] if rest else []
        if streamed or rest:
            events.append(TextMessageEnd(self._message_ids[item_id], self.subagent))
        if questions := item.get("questions"):
            events.append(Custom("codex.questions", {"questions": questions}, self.subagent))
        return events

    def _read_phase(self, item: Item) -> None:
        if (phase := non_empty(item.get("phase"))) is not None and item["id"] not in self._pieces:
            self._phases[item["id"]] = {"codex": {"phase": phase}}

    def _complete_reasoning(self, item: Item) -> list[Event]:
        events: list[Event] = []
        for prefix, key in (("s", "summary"), ("c", "content")):
            parts = item.get(key)
            for number, content in enumerate(parts if isinstance(parts, list) else ()):
                events += self._complete_reasoning_part(item["id"], f"{prefix}{number}", text(content) or "")
        return events

    def _complete_reasoning_part(self, item_id: str, part: str, content: str) -> list[Event]:
        key = f"{item_id}:{part}"
        streamed = "".join(self._pieces.get(key, ()))
        rest = missing_end(streamed, content)
        events: list[Event] = [self.add_reasoning(item_id, part, rest)] if rest else []
        return [*events, ReasoningMessageEnd(self._make_id(key), self.subagent)] if streamed or rest else events

    def structured_output(self, schema: Mapping[str, Any] | None) -> Any:
        """The answer to a turn with an output schema, parsed."""
        return None if schema is None else parse_json(self.last_text)

    # -- items

    def start_item(self, item: Item) -> list[Event] | None:
        """None: an unknown type of item."""
        kind = item.get("type")
        if kind in TOOL_KINDS:
            return self._start_call(item)
        if kind in MESSAGES:
            self._read_phase(item)
            return []
        return [] if kind == "reasoning" or kind in IGNORED else self._to_custom(item, "started")

    def complete_item(self, item: Item) -> list[Event] | None:
        kind = item.get("type")
        if kind in TOOL_KINDS:
            return self._complete_call(item)
        if kind in MESSAGES:
            return self._complete_message(item)
        if kind == "reasoning":
            return self._complete_reasoning(item)
        return [] if kind in IGNORED else self._to_custom(item, "completed")

    def _to_custom(self, item: Item, moment: str) -> list[Event] | None:
        name = CUSTOM.get(item["type"])
        return None if name is None else [Custom(name, {"moment": moment, **item}, self.subagent)]

    # -- tool calls

    def find_call_id(self, item_id: Any) -> str | None:
        """AG-UI's id of a call that the client has seen."""
        call = self._calls.get(item_id)
        return None if call is None else call.id

    def describe_changes(self, item_id: Any) -> list[str]:
        """The files that an open call would change."""
        call = self._calls.get(item_id)
        return [] if call is None or call.item is None else describe_changes(call.item)

    def find_mcp_call(self, server: Any, arguments: Any) -> str | None:
        """The call that an MCP server's question is about: one of that server, with these arguments if there is one."""
        calls = [
            (call.id, call.item.get("arguments"))
            for call in self._calls
            if call.item is not None and not call.is_answered
            if call.item["type"] == "mcpToolCall" and call.item.get("server") == server
        ]
        exact = [call_id for call_id, call_arguments in calls if call_arguments == arguments]
        return next(iter([*exact, *(call_id for call_id, _ in calls)]), None)

    def _start_call(self, item: Item) -> list[Event]:
        if self._calls.get(item["id"]) is not None:
            return []
        return self._calls.add(item["id"], TOOL_KINDS[item["type"]].name(item), self.subagent).begin(item)

    def _complete_call(self, item: Item) -> list[Event]:
        events = self._start_call(item)
        call = self._calls.add(item["id"])
        if not call.is_answered:
            return [*events, *self._complete_output(call, item), *call.complete(item)]
        if not call.is_open:
            return []  # a repetition
        call.complete_late()
        value = {"toolCallId": call.id, "status": read_status(item), "exitCode": count(item.get("exitCode"))}
        return [Custom("codex.tool_call", present(value | {"output": read_result(item)}), self.subagent)]

    def end_arguments(self) -> list[Event]:
        """The run ends with an interrupt, which closes all open arguments at the client."""
        return [event for call in self._calls if call.item for event in call.end_arguments(call.item)]

    def close(self, *, is_cancelled: bool) -> list[Event]:
        """The turn is over, and Codex did not report what became of the open calls."""
        events: list[Event] = []
        for call in self._calls:
            if call.item is not None:
                metadata = read_metadata(call.item)
                events += [*call.end_arguments(call.item), *call.close(cancelled=is_cancelled, metadata=metadata)]
        return events

    # -- live output

    def add_output(self, item_id: str, delta: str) -> list[Event] | None:
        """None: an unknown call."""
        call = self._calls.get(item_id)
        return None if call is None else call.open_terminal(self._make_id(f"terminal:{item_id}")).append(delta)

    def _complete_output(self, call: CodexToolCall, item: Item) -> list[Event]:
        """The end of a command with live output. If its first deltas were missed, the whole output is sent now."""
        if call.output is None or item["type"] != "commandExecution":
            return []
        output = text(item.get("aggregatedOutput")) or ""
        events = call.output.replace(output) if output.endswith(call.output.text) else []
        return [*events, *call.output.set_fields(exitCode=count(item.get("exitCode")))]

    def add_progress(self, item_id: str, message: str) -> list[Event] | None:
        call = self._calls.get(item_id)
        return None if call is None else call.append_output(f"{message}\n")
