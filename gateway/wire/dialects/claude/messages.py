"""One speaker's messages → deltas: the agent itself, or a subagent.

In: the model API's stream events, as Claude Code hands them on, and whole messages where it streams nothing (subagents,
its own words, an answer that was tried again). Out: text, thinking and tool calls. A message that was streamed comes
once more whole, a line for each block; of that only a call that nobody has heard of is news.
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
    ToolCallArgs,
)
from gateway.wire.dialects.claude.content import result_content
from gateway.wire.dialects.claude.tool_calls import Call, Calls
from gateway.wire.fields import items, non_empty, obj, text

CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
ABANDONED = "The model's answer broke off before this call was complete."


@dataclass(slots=True)
class Block:
    """One block of the message that streams: text, thinking, or a call."""

    kind: str
    id: str
    """AG-UI's, of the message or the call."""
    call: Call | None = None
    said: bool = False
    """Its first delta named it: the others go on without."""
    signature: str = ""
    held: list[str] | None = None
    """Arguments that are kept back, to be told whole."""
    over: bool = False


class Lane:
    def __init__(self, subagent: str | None, calls: Calls) -> None:
        self.subagent, self._calls = subagent, calls
        self._message = ""
        self._blocks: dict[int, Block] = {}
        self._streamed: set[str] = set()
        self._count = 0
        self.streaming = False
        """A message is on its way."""
        self.whole_calls = False
        """A run may end at any moment, with a question: a call must not be told half in one and half in the next."""
        self.speaking: int | None = None
        """The block that is open, if it is text that needs no more than to be handed on."""

    def rest(self) -> None:
        """The agent's turn is over."""
        self.streaming, self.speaking = False, None
        self._blocks.clear()
        self._streamed.clear()

    # -- a stream

    def stream(self, event: dict[str, Any], line: dict[str, Any]) -> list[Event] | None:
        """None: not understood."""
        index = event.get("index")
        at = index if isinstance(index, int) else -1
        match event.get("type"):
            case "content_block_delta":
                return self._delta(at, obj(event.get("delta")))
            case "content_block_start":
                return self._open(at, obj(event.get("content_block")))
            case "content_block_stop":
                self.speaking = None
                return self._close(self._blocks[at]) if at in self._blocks else []
            case "message_start":
                return self._start(obj(event.get("message")))
            case "message_delta":
                self.streaming = self.streaming and non_empty(obj(event.get("delta")).get("stop_reason")) is None
                return []
            case "message_stop":
                return self._stop(obj(line.get("abandoned_blocks")).get("from_block_index"))
            case "ping":
                return []
        return None

    def _start(self, message: dict[str, Any]) -> list[Event]:
        found = self._stop(None)
        self._message = self._named(message)
        self._streamed.add(self._message)
        self._blocks.clear()
        self.streaming = True
        return found

    def _stop(self, abandoned_from: Any) -> list[Event]:
        """A stream that broke takes back what it said from a block on: the answer comes once more, whole."""
        self.streaming, self.speaking = False, None
        found = [event for block in self._blocks.values() for event in self._close(block)]
        broke = isinstance(abandoned_from, int)
        lost = [block for at, block in self._blocks.items() if broke and at >= abandoned_from and block.said]
        if lost:
            found.append(Custom("claude.retracted", {"ids": [block.id for block in lost]}, self.subagent))
        calls = (block.call for block in lost)
        return found + [event for call in calls if call for event in call.answer(ABANDONED, FAILED)]

    def _open(self, at: int, told: dict[str, Any]) -> list[Event] | None:
        self.speaking = None
        place = f"{self._message}:{at}"
        match told.get("type"):
            case "text":
                self._blocks[at] = Block("text", self._calls.fresh(place))
                return self._delta(at, {"type": "text_delta", "text": told.get("text")})
            case "thinking":
                self._blocks[at] = Block("thinking", self._calls.fresh(place))
                return self._delta(at, {"type": "thinking_delta", "thinking": told.get("thinking")})
            case kind if kind in CALLS:
                return self._open_call(at, non_empty(told.get("id")) or place, non_empty(told.get("name")))
            case _:
                return self._whole_block(told, place, streamed=False)

    def _open_call(self, at: int, claudes: str, name: str | None) -> list[Event]:
        call = self._calls.new(claudes, name, self.subagent)
        if call is None:
            self._blocks.pop(at, None)
            return []
        self._blocks[at] = Block("call", call.id, call, said=True, held=[] if self.whole_calls else None)
        return [] if self.whole_calls else [call.start()]

    def _delta(self, at: int, delta: dict[str, Any]) -> list[Event] | None:
        block, kind = self._blocks.get(at), delta.get("type")
        if kind == "citations_delta":
            return [Custom("claude.citation", delta.get("citation"), self.subagent)]
        if block is None or block.over:
            return None
        match kind, block.kind:
            case "text_delta", "text":
                return self._say(at, block, text(delta.get("text")))
            case "thinking_delta", "thinking":
                words = text(delta.get("thinking"))
                return [ReasoningMessageContent(words, self._first(block), self.subagent)] if words else []
            case "signature_delta", "thinking":
                block.signature += text(delta.get("signature")) or ""
                return []
            case "input_json_delta", "call":
                return self._argue(block, text(delta.get("partial_json")) or "")
        return None

    def _say(self, at: int, block: Block, words: str | None) -> list[Event]:
        if not words:
            return []
        self.speaking = at
        return [TextMessageContent(words, self._first(block), self.subagent)]

    def _first(self, block: Block) -> str | None:
        """The message's name, with its first delta only: that makes the short way through the house."""
        named, block.said = None if block.said else block.id, True
        return named

    def _argue(self, block: Block, piece: str) -> list[Event]:
        if block.held is not None:
            block.held.append(piece)
            return []
        return [ToolCallArgs(block.id, piece)] if piece else []

    def _close(self, block: Block) -> list[Event]:
        if block.over:
            return []
        block.over = True
        if block.call is not None:
            kept = "".join(block.held or ())
            begun: list[Event] = [] if block.held is None else [block.call.start()]
            return [*begun, *([ToolCallArgs(block.id, kept)] if kept else []), *block.call.end()]
        if block.kind == "text":
            return [TextMessageEnd(block.id, self.subagent)] if block.said else []
        found: list[Event] = [ReasoningMessageEnd(block.id, self.subagent)] if block.said else []
        return [*found, *self._sealed(block.id, block.signature)]

    # -- whole messages

    def whole(self, message: dict[str, Any]) -> list[Event] | None:
        """None: a block that is not understood."""
        name = self._named(message)
        found: list[Event] = []
        for block in items(message.get("content")):
            told = self._whole_block(block, name, streamed=name in self._streamed)
            if told is None:
                return None
            found += told
        return found

    def _whole_block(self, block: dict[str, Any], place: str, *, streamed: bool) -> list[Event] | None:
        kind = text(block.get("type")) or ""
        if kind in CALLS:
            claudes, name = non_empty(block.get("id")) or place, non_empty(block.get("name"))
            return self._calls.whole(claudes, name, block.get("input"), self.subagent)
        if kind.endswith("_tool_result"):  # of a tool that the provider runs
            told = self.result(non_empty(block.get("tool_use_id")) or place, block.get("content"))
            return [] if told is None and streamed else told
        if streamed and kind in ("text", "thinking", "redacted_thinking"):
            return []
        name = self._calls.fresh(place)
        match kind:
            case "text":
                words = text(block.get("text"))
                return (
                    [TextMessageContent(words, name, self.subagent), TextMessageEnd(name, self.subagent)]
                    if words
                    else []
                )
            case "thinking":
                words, said = text(block.get("thinking")), list[Event]()
                if words:
                    said = [
                        ReasoningMessageContent(words, name, self.subagent),
                        ReasoningMessageEnd(name, self.subagent),
                    ]
                return [*said, *self._sealed(name, text(block.get("signature")))]
            case "redacted_thinking":
                return self._sealed(name, text(block.get("data")))
        return None

    def _sealed(self, name: str, value: str | None) -> list[Event]:
        return [ReasoningEncryptedValue("message", name, value, self.subagent)] if value else []

    def result(self, claudes: str, content: Any, metadata: dict[str, Any] | None = None) -> list[Event] | None:
        """What a tool gave back. None: the call has a result already."""
        found = self._calls.whole(claudes, None, {}, self.subagent)
        call = self._calls.find(claudes)
        if call is None or call.answered:
            return None
        return [*found, *call.answer(result_content(content), metadata)]

    def _named(self, message: dict[str, Any]) -> str:
        self._count += 1
        return non_empty(message.get("id")) or f"m{self._count}"


FAILED = {"claude": {"isError": True}}
