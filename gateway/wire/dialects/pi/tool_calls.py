"""Tool calls of one lane → start, arguments as they stream, end, live output, result; each once.

In: `toolcall_*` inside an assistant's message, `tool_execution_*`, results as messages. Out: events. Versions differ in
what a call's first event tells: pi 1.x gives id and name at once, pi 0.73 and omp's rpc have them in the copy of the
message beside it, omp's json not before the call is complete. Whichever names a call first starts it; what streamed by
then is told with it. `toolcall_end` is the authority on the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.events import Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.acp.content import to_part
from gateway.wire.activities import LiveOutput
from gateway.wire.dialects.pi.omp_intent import INTENT, WithoutIntent
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

DETAIL_CHARS = 4_000
"""What a tool tells beside its result is repeated up to this size."""


@dataclass(slots=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    """Once they are complete."""
    pieces: list[str] = field(default_factory=list)
    """…and as they were streamed."""
    ended: bool = False
    answered: bool = False
    asked: bool = False
    edited: dict[str, Any] | None = None
    """What the user made of the arguments."""
    live: LiveOutput | None = None


@dataclass(slots=True)
class Forming:
    """A call that the model is still writing."""

    call: Call | None = None
    waiting: list[str] = field(default_factory=list)
    strip: WithoutIntent | None = None


class Calls:
    """`own` makes an agent's id unique in the thread; `intent`: arguments carry omp's `i`."""

    def __init__(self, agent: str, own: Callable[[str], str], subagent: str | None, *, intent: bool) -> None:
        self._agent, self._own, self._subagent, self._intent = agent, own, subagent, intent
        self._calls: dict[str, Call] = {}
        self._forming: dict[int, Forming] = {}
        self._count = 0
        self.names: dict[str, str] = {}
        """The agent's names of the client's own tools → theirs."""

    def known(self, agents_id: Any) -> Call | None:
        return self._calls.get(agents_id) if isinstance(agents_id, str) else None

    @property
    def waiting(self) -> list[Call]:
        """Complete, without a result, and nobody was asked about them yet; in order."""
        return [call for call in self._calls.values() if call.ended and not call.answered and not call.asked]

    # -- while the model writes

    def new_message(self) -> None:
        self._forming.clear()

    def start(self, index: int, event: dict[str, Any], message: Any) -> Iterator[Event]:
        self._forming[index] = Forming(strip=WithoutIntent() if self._intent else None)
        yield from self._identify(index, event, message)

    def delta(self, index: int, event: dict[str, Any], message: Any) -> Iterator[Event]:
        if index not in self._forming:
            yield from self.start(index, event, message)
        forming = self._forming[index]
        piece = text(event.get("delta")) or ""
        if forming.strip is not None:
            piece = forming.strip.feed(piece)
        if piece:
            forming.waiting.append(piece)
        if forming.call is None:
            yield from self._identify(index, event, message)
        yield from self._flush(forming)

    def end(self, index: int, event: dict[str, Any], message: Any) -> Iterator[Event]:
        """`toolCall` has it all. Without one that has an id nothing can be said of it; the tool's start says it."""
        told = obj(event.get("toolCall"))
        forming = self._forming.pop(index, None) or Forming()
        if forming.call is None and non_empty(told.get("id")) is None:
            return
        yield from self._begun(forming, told)
        assert forming.call is not None
        self._calls.setdefault(non_empty(told.get("id")) or forming.call.id, forming.call)
        yield from self._flush(forming)
        yield from self._complete(forming.call, told.get("arguments"))

    def complete(self, block: dict[str, Any]) -> Iterator[Event]:
        """A `toolCall` in a message that is complete: for what no event told."""
        call = self._open(block.get("id"))
        if call is None and non_empty(block.get("id")) is not None:
            forming = Forming()
            yield from self._begun(forming, block)
            call = forming.call
        if call is not None:
            yield from self._complete(call, block.get("arguments"))

    def _identify(self, index: int, event: dict[str, Any], message: Any) -> Iterator[Event]:
        told: dict[str, Any] = {"id": event.get("id"), "name": event.get("toolName")}
        if non_empty(told["id"]) is None:
            content = obj(event.get("partial")).get("content") or obj(message).get("content")
            blocks = content if isinstance(content, list) else []
            told = obj(blocks[index]) if 0 <= index < len(blocks) else {}
        if non_empty(told.get("id")) is not None and non_empty(told.get("name")) is not None:
            yield from self._begun(self._forming[index], told)

    def _begun(self, forming: Forming, told: dict[str, Any]) -> Iterator[Event]:
        if forming.call is None:
            agents_id = told["id"]
            forming.call = self._open(agents_id)
            if forming.call is None:
                yield from self._new(agents_id, non_empty(told.get("name")) or "tool")
                forming.call = self._calls[agents_id]

    def _open(self, agents_id: Any) -> Call | None:
        """Some servers count their calls anew with every answer: an id that has its result is free again."""
        call = self.known(agents_id)
        return None if call is None or call.answered else call

    def _new(self, agents_id: str, name: str, about: dict[str, Any] | None = None) -> Iterator[Event]:
        again = f".{self._count}" if agents_id in self._calls else ""
        self._count += 1
        name = self.names.get(name, name)
        call = self._calls[agents_id] = Call(self._own(f"{agents_id}{again}"), name)
        yield ToolCallStart(call.id, name, subagent=self._subagent, metadata=self._metadata(about or {}))

    def _flush(self, forming: Forming) -> Iterator[Event]:
        call = forming.call
        if call is None or not forming.waiting:
            return
        pieces, forming.waiting = forming.waiting, []
        if not call.ended:
            call.pieces += pieces
            yield ToolCallArgs(call.id, "".join(pieces))

    def _complete(self, call: Call, arguments: Any) -> Iterator[Event]:
        if call.ended:
            return
        told = dict(obj(arguments))
        intent = text(told.pop(INTENT, None)) if self._intent else None
        call.ended, call.arguments = True, told
        written = "".join(call.pieces)
        if not written:
            yield ToolCallArgs(call.id, json_text(told))
        # What was streamed cannot be taken back; who wants what really runs finds it here.
        wrong = {"arguments": told} if written and _read(written) != told else {}
        yield ToolCallEnd(call.id, self._metadata(present({"intent": intent}) | wrong))

    # -- while the tool runs

    def runs(self, told: dict[str, Any]) -> Iterator[Event]:
        """`tool_execution_start`. A call that one tool makes of another is first seen here."""
        agents_id = non_empty(told.get("toolCallId"))
        if agents_id is None:
            return
        if self._open(agents_id) is None:
            parent = self.known(told.get("parentToolCallId"))
            about = {"parentToolCallId": parent.id} if parent else {}
            yield from self._new(agents_id, non_empty(told.get("toolName")) or "tool", about)
        yield from self._complete(self._calls[agents_id], told.get("args"))

    def prints(self, told: dict[str, Any]) -> Iterator[Event]:
        """`tool_execution_update`: all that it has printed so far."""
        call = self.known(told.get("toolCallId"))
        if call is None or call.answered:
            return
        words = _text(obj(told.get("partialResult")).get("content"))
        if call.live is None and words:
            call.live = LiveOutput(f"{call.id}:output", "tool_output", self._subagent, {"toolCallId": call.id})
        if call.live is not None:
            yield from call.live.replace(words)

    def gave(self, told: dict[str, Any], result: dict[str, Any]) -> Iterator[Event]:
        """`tool_execution_end`, or the result as a message, which says the same again."""
        if self.known(told.get("toolCallId")) is None:
            yield from self.runs(told)
        call = self._open(told.get("toolCallId"))
        if call is None:
            return
        yield from self._complete(call, told.get("args"))
        call.answered, call.live = True, None
        about = {
            "isError": True if told.get("isError") is True else None,
            "durationMs": told.get("durationMs"),
            "details": _small(result.get("details")),
            "editedArgs": call.edited,
        }
        metadata = self._metadata(present(about))
        yield ToolCallResult(call.id, _content(result.get("content")), subagent=self._subagent, metadata=metadata)

    def close(self, *, cancelled: bool) -> Iterator[Event]:
        """The turn is over. What became of a call that is still open, nobody said."""
        for call in self._calls.values():
            if not call.answered:
                yield from self._complete(call, _read("".join(call.pieces)))
                call.answered, call.live = True, None
                yield ToolCallResult(call.id, CANCELLED if cancelled else UNREPORTED, subagent=self._subagent)

    def _metadata(self, about: dict[str, Any]) -> dict[str, Any] | None:
        return {self._agent: about} if about else None


def _read(written: str) -> Any:
    try:
        return orjson.loads(written)
    except orjson.JSONDecodeError:
        return None


def _text(content: Any) -> str:
    return "\n".join(words for block in items(content) if (words := text(block.get("text"))) is not None)


def _content(content: Any) -> str | list[dict[str, Any]]:
    """Text, or parts where there is an image."""
    if all(block.get("type") == "text" for block in items(content)):
        return _text(content)
    parts = ((block, to_part(block)) for block in items(content))
    return [part or {"type": "text", "text": json_text(block)} for block, part in parts]


def _small(details: Any) -> Any:
    return details if details and len(json_text(details)) <= DETAIL_CHARS else None
