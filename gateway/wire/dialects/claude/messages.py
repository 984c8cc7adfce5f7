"""Messages of the agent or of one subagent → deltas.

In: stream events of the model API, which Claude Code passes on, and whole messages where it does not stream (subagents,
its own messages, an answer after a retry). Out: text, reasoning and tool calls. A streamed message is repeated as a
whole, one line for each block; of these only an unknown tool call is new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import (
    Custom,
    Event,
    ReasoningEncryptedValue,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
)
from gateway.wire.dialects.claude.content import result_content
from gateway.wire.dialects.claude.tool_calls import ClaudeToolCalls
from gateway.wire.fields import integer, items, non_empty, obj, text
from gateway.wire.tool_calls import ToolCall

TOOL_USE_BLOCKS = ("tool_use", "server_tool_use", "mcp_tool_use")
ABANDONED = "The model's answer broke off before this call was complete."
FAILED_METADATA = {"claude": {"isError": True}}

Json = dict[str, Any]


@dataclass(slots=True)
class StreamedBlock:
    """One block of the message that streams: text, thinking, or a tool call."""

    kind: str
    id: str
    """AG-UI's id of the message or the call."""
    call: ToolCall | None = None
    is_reported: bool = False
    """The client has seen its id; later deltas go without."""
    signature: str = ""
    buffer: list[str] | None = None
    """Arguments that are held back until the call is complete."""
    is_closed: bool = False


class MessageStream:
    """The messages of one sender: the agent itself, or one subagent."""

    def __init__(self, subagent: str | None, calls: ClaudeToolCalls) -> None:
        self.subagent = subagent
        self._calls = calls
        self._message_id = ""
        self._blocks: dict[int, StreamedBlock] = {}
        self._streamed_ids: set[str] = set()
        self._message_count = 0
        self.is_streaming = False
        """A message is incomplete."""
        self._buffers_calls = False
        self.open_text: int | None = None
        """Index of the open block if it is text: its deltas are passed on unchanged."""

    def set_subagent(self, subagent: str) -> None:
        """The subagent starts again, under another id."""
        self.subagent = subagent

    def end_turn(self) -> None:
        self.is_streaming = False
        self.open_text = None
        self._blocks.clear()
        self._streamed_ids.clear()

    def buffer_calls(self, is_buffering: bool) -> None:
        """While the run may end with an interrupt, a call is sent whole, so that it is not split between two runs."""
        self._buffers_calls = is_buffering

    # -- stream events

    def read_event(self, event: Json, line: Json) -> list[Event] | None:
        """None: not understood."""
        index = integer(event.get("index"))
        at = -1 if index is None else index
        match event.get("type"):
            case "content_block_delta":
                return self._read_delta(at, obj(event.get("delta")))
            case "content_block_start":
                return self._open_block(at, obj(event.get("content_block")))
            case "content_block_stop":
                self.open_text = None
                return self._close_block(self._blocks[at]) if at in self._blocks else []
            case "message_start":
                return self._start_message(obj(event.get("message")))
            case "message_delta":
                has_stopped = non_empty(obj(event.get("delta")).get("stop_reason")) is not None
                self.is_streaming = self.is_streaming and not has_stopped
                return []
            case "message_stop":
                return self._stop_message(obj(line.get("abandoned_blocks")).get("from_block_index"))
            case "ping":
                return []
        return None

    def _start_message(self, message: Json) -> list[Event]:
        events = self._stop_message(None)
        self._message_id = self._read_message_id(message)
        self._streamed_ids.add(self._message_id)
        self._blocks.clear()
        self.is_streaming = True
        return events

    def _stop_message(self, abandoned_from: Any) -> list[Event]:
        """`abandoned_from`: the stream broke and its blocks from this index on are void: the answer is repeated."""
        self.is_streaming = False
        self.open_text = None
        events = [event for block in self._blocks.values() for event in self._close_block(block)]
        if not isinstance(abandoned_from, int):
            return events
        void = [block for at, block in self._blocks.items() if at >= abandoned_from and block.is_reported]
        if void:
            events.append(Custom("claude.retracted", {"ids": [block.id for block in void]}, self.subagent))
        for block in void:
            events += block.call.answer(ABANDONED, FAILED_METADATA, is_error=True) if block.call else []
        return events

    def _open_block(self, at: int, content: Json) -> list[Event] | None:
        self.open_text = None
        name = f"{self._message_id}:{at}"
        match content.get("type"):
            case "text" | "thinking" as kind:
                self._blocks[at] = StreamedBlock(kind, self._calls.ids.new(name))
                return self._read_delta(at, {"type": f"{kind}_delta", kind: content.get(kind)})
            case kind if kind in TOOL_USE_BLOCKS:
                return self._open_call(at, non_empty(content.get("id")) or name, non_empty(content.get("name")))
            case _:
                return self._read_block(content, name, is_streamed=False)

    def _open_call(self, at: int, call_id: str, name: str | None) -> list[Event]:
        if self._calls.get(call_id) is not None:
            self._blocks.pop(at, None)
            return []
        call = self._calls.add(call_id, name, self.subagent)
        buffer: list[str] | None = [] if self._buffers_calls else None
        self._blocks[at] = StreamedBlock("call", call.id, call, is_reported=True, buffer=buffer)
        return [] if self._buffers_calls else call.start()

    def _read_delta(self, at: int, delta: Json) -> list[Event] | None:
        block, kind = self._blocks.get(at), delta.get("type")
        if kind == "citations_delta":
            return [Custom("claude.citation", delta.get("citation"), self.subagent)]
        if block is None or block.is_closed:
            return None
        match kind, block.kind:
            case "text_delta", "text":
                events = self._add_content(block, delta.get("text"))
                self.open_text = at if events else self.open_text
                return events
            case "thinking_delta", "thinking":
                return self._add_content(block, delta.get("thinking"))
            case "signature_delta", "thinking":
                block.signature += text(delta.get("signature")) or ""
                return []
            case "input_json_delta", "call":
                return self._add_arguments(block, text(delta.get("partial_json")) or "")
        return None

    def _add_content(self, block: StreamedBlock, content: Any) -> list[Event]:
        if not isinstance(content, str) or not content:
            return []
        make_event = TextMessageContent if block.kind == "text" else ReasoningMessageContent
        return [make_event(content, self._first_id(block), self.subagent)]

    def _first_id(self, block: StreamedBlock) -> str | None:
        """The message id for the first delta only: deltas without an id are cheaper to pass on."""
        message_id = None if block.is_reported else block.id
        block.is_reported = True
        return message_id

    def _add_arguments(self, block: StreamedBlock, delta: str) -> list[Event]:
        if block.buffer is not None:
            block.buffer.append(delta)
            return []
        return [] if block.call is None else block.call.add_arguments(delta)

    def _close_block(self, block: StreamedBlock) -> list[Event]:
        if block.is_closed:
            return []
        block.is_closed = True
        if block.call is not None:
            return [*block.call.add_arguments("".join(block.buffer or ())), *block.call.end()]
        if block.kind == "text":
            return [TextMessageEnd(block.id, self.subagent)] if block.is_reported else []
        events: list[Event] = [ReasoningMessageEnd(block.id, self.subagent)] if block.is_reported else []
        if block.signature:
            events.append(ReasoningEncryptedValue("message", block.id, block.signature, self.subagent))
        return events

    # -- whole messages

    def read_message(self, message: Json) -> list[Event] | None:
        """None: a block is not understood."""
        message_id = self._read_message_id(message)
        events: list[Event] = []
        for block in items(message.get("content")):
            block_events = self._read_block(block, message_id, is_streamed=message_id in self._streamed_ids)
            if block_events is None:
                return None
            events += block_events
        return events

    def _read_block(self, block: Json, name: str, *, is_streamed: bool) -> list[Event] | None:
        kind = text(block.get("type")) or ""
        if kind in TOOL_USE_BLOCKS:
            call_id, tool = non_empty(block.get("id")) or name, non_empty(block.get("name"))
            return self._calls.add_whole(call_id, tool, block.get("input"), self.subagent)
        if kind.endswith("_tool_result"):  # of a tool that the model provider runs
            events = self.read_result(non_empty(block.get("tool_use_id")) or name, block)
            return [] if events is None and is_streamed else events
        if kind not in ("text", "thinking", "redacted_thinking"):
            return None
        if is_streamed:
            return []
        signature = block.get("data") if kind == "redacted_thinking" else block.get("signature")
        whole = StreamedBlock(kind, self._calls.ids.new(name), signature=text(signature) or "")
        return [*self._add_content(whole, block.get(kind)), *self._close_block(whole)]

    def read_result(self, call_id: str, block: Json, metadata: Json | None = None) -> list[Event] | None:
        """The result of a tool call. None: the call has a result already."""
        events = self._calls.add_whole(call_id, None, {}, self.subagent)
        call = self._calls.add(call_id)
        if call.is_answered:
            return None
        is_error = block.get("is_error") is True
        return [*events, *call.answer(result_content(block.get("content")), metadata, is_error)]

    def _read_message_id(self, message: Json) -> str:
        self._message_count += 1
        return non_empty(message.get("id")) or f"m{self._message_count}"
