"""Message parts of one opencode session in one turn → events. What `serve` streams and `run` prints are the same parts.

In: parts as they grow (`pending`, `running` and `completed` of a tool, a text with and without its end), deltas of
them, and what is known of their messages. Out: events, each part begun and ended once. A part is known by its own id:
the ids of calls are the model's, and come again. Parts of messages that are not the assistant's are not for here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.events import (
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TokenUsage,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import count, items, json_text, non_empty, obj, present, text

SILENT = {
    "snapshot": "a commit in opencode's own store",
    "retry": "`session.status` has told it",
    "agent": "part of a prompt",
    "subtask": "part of a prompt",
    "compaction": "part of a prompt; `session.compacted` tells of it",
}
"""Kinds of parts that are not told, and why."""
DETAIL_CHARS = 200_000
"""Of a diff in a result's metadata."""


@dataclass(slots=True)
class Said:
    """A part that is text or reasoning."""

    id: str
    text: bool
    chars: int = 0
    """So much of it was told."""
    ended: bool = False


@dataclass(slots=True)
class Call:
    """A part that is a tool call."""

    id: str
    name: str
    given: bool = False
    """Its arguments were told, and are complete."""
    answered: bool = False
    printed: str = ""
    live: LiveOutput | None = None
    child: str | None = None
    """The session of the subagent that it began."""


class Parts:
    """`own` makes an agent's id unique in the thread; `subagent` is whose parts these are; `model` (`provider/model`)
    writes the messages of which nobody says so."""

    def __init__(self, own: Callable[[str], str], subagent: str | None = None, model: str | None = None) -> None:
        self._own, self.subagent = own, subagent
        provider, _, name = (model or "").partition("/")
        self._by = (provider or None, name or None)
        self._said: dict[str, Said] = {}
        self._calls: dict[str, Call] = {}
        self._named: dict[tuple[str, str], Call] = {}
        self._models: dict[str, tuple[str | None, str | None]] = {}
        self._steps = 0
        self._stepping: str | None = None
        self.cost = 0.0
        self.finish: str | None = None
        """Why the model ended its last step."""

    def message(self, message_id: str, provider: str | None, model: str | None) -> None:
        """Who writes this message."""
        self._models[message_id] = (provider, model)

    def call(self, message_id: Any, call_id: Any) -> Call | None:
        known = isinstance(message_id, str) and isinstance(call_id, str)
        return self._named.get((message_id, call_id)) if known else None

    @property
    def working(self) -> bool:
        """A call has no result yet."""
        return not all(call.answered for call in self._calls.values())

    def delta(self, part_id: Any, words: str) -> Event | None:
        """None: nothing is known of the part."""
        part = self._said.get(part_id)
        if part is None:
            return None
        part.chars += len(words)
        if part.text:
            return TextMessageContent(words, part.id, self.subagent)
        return ReasoningMessageContent(words, part.id, self.subagent)

    def part(self, part: dict[str, Any]) -> list[Event] | None:
        """The part as it is now. None: it is of no kind that is known."""
        part_id = non_empty(part.get("id"))
        match part.get("type"):
            case _ if part_id is None:
                return None
            case "text" | "reasoning" as kind:
                return self._words(part_id, part, kind == "text")
            case "tool":
                return self._tool(part_id, part)
            case "step-start":
                return self._begin_step()
            case "step-finish":
                return [*self._used(part), *self._end_step()]
            case "patch":
                files = strings(part.get("files"))
                return [Custom("opencode.patch", {"files": files}, subagent=self.subagent)] if files else []
            case "file":
                told = {key: text(part.get(key)) for key in ("mime", "filename", "url")}
                return [Custom("opencode.file", present(told), subagent=self.subagent)]
            case str(kind) if kind in SILENT:
                return []
            case _:
                return None

    def park(self) -> list[Event]:
        """A human is asked: the run ends, and whatever is open is closed for the client, so it is closed here too."""
        open_ = [part for part in self._said.values() if not part.ended and part.chars]
        return [self._closed(part) for part in open_]

    # -- words

    def _words(self, part_id: str, part: dict[str, Any], is_text: bool) -> list[Event]:
        known = self._said.get(part_id)
        if known is None:
            known = self._said[part_id] = Said(self._own(part_id), is_text)
        words = text(part.get("text")) or ""
        found: list[Event] = []
        # The whole text comes again at the end, and there may be more in it than the deltas told.
        if len(words) > known.chars and (more := self.delta(part_id, words[known.chars :])) is not None:
            found.append(more)
        if obj(part.get("time")).get("end") is not None and not known.ended and known.chars:
            found.append(self._closed(known))
        return found

    def _closed(self, part: Said) -> Event:
        part.ended = True
        return TextMessageEnd(part.id, self.subagent) if part.text else ReasoningMessageEnd(part.id, self.subagent)

    # -- tools

    def _tool(self, part_id: str, part: dict[str, Any]) -> list[Event]:
        state, found = obj(part.get("state")), list[Event]()
        call = self._calls.get(part_id)
        if call is None:
            call = self._begin_call(part_id, part)
            found.append(ToolCallStart(call.id, call.name, subagent=self.subagent))
        if call.answered:
            return found
        match state.get("status"):
            case "running":
                found += self._given(call, state)
                found += self._live(call, obj(state.get("metadata")).get("output"))
            case "completed" | "error" as status:
                found += self._given(call, state, last=True)
                call.answered = True
                found.append(self._result(call, state, failed=status == "error"))
        return found

    def _begin_call(self, part_id: str, part: dict[str, Any]) -> Call:
        call = self._calls[part_id] = Call(self._own(part_id), non_empty(part.get("tool")) or "tool")
        message_id, call_id = non_empty(part.get("messageID")), non_empty(part.get("callID"))
        if message_id is not None and call_id is not None:
            self._named[message_id, call_id] = call
        return call

    def _given(self, call: Call, state: dict[str, Any], *, last: bool = False) -> list[Event]:
        arguments = state.get("input")
        if call.given or not (isinstance(arguments, dict) or last):
            return []
        return self.settle(call, obj(arguments))

    def settle(self, call: Call, arguments: dict[str, Any]) -> list[Event]:
        """These are the call's arguments."""
        if call.given:
            return []
        call.given = True
        return [ToolCallArgs(call.id, json_text(arguments)), ToolCallEnd(call.id)]

    def _live(self, call: Call, printed: Any) -> list[Event]:
        """All that the command has printed so far comes every time."""
        if not isinstance(printed, str) or printed == call.printed:
            return []
        call.printed = printed
        if call.live is None:
            call.live = LiveOutput(f"{call.id}:output", "tool_output", self.subagent, {"toolCallId": call.id})
        return call.live.replace(printed)

    def _result(self, call: Call, state: dict[str, Any], *, failed: bool) -> ToolCallResult:
        words = text(state.get("error" if failed else "output")) or ""
        metadata = obj(state.get("metadata"))
        diff = text(metadata.get("diff"))
        told = {
            "status": "error" if failed else "completed",
            "title": text(state.get("title")),
            "exitCode": metadata.get("exit") if isinstance(metadata.get("exit"), int) else None,
            "diff": diff if diff is not None and len(diff) <= DETAIL_CHARS else None,
        }
        shown = {"opencode": present(told)}
        return ToolCallResult(call.id, _content(words, state), subagent=self.subagent, metadata=shown)

    # -- steps

    def _begin_step(self) -> list[Event]:
        found = self._end_step()
        self._steps += 1
        self._stepping = f"step {self._steps}"
        return [*found, StepStarted(self._stepping, self.subagent)]

    def _end_step(self) -> list[Event]:
        name, self._stepping = self._stepping, None
        return [] if name is None else [StepFinished(name, self.subagent)]

    def _used(self, part: dict[str, Any]) -> list[Event]:
        self.finish = non_empty(part.get("reason")) or self.finish
        cost = part.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 < cost < float("inf"):
            self.cost += cost
        used = _tokens(obj(part.get("tokens")), self._models.get(non_empty(part.get("messageID")) or "", self._by))
        return [used] if used.input_tokens or used.output_tokens else []


def strings(value: Any) -> list[str]:
    """The strings in a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _tokens(told: dict[str, Any], by: tuple[str | None, str | None]) -> TokenUsage:
    """opencode counts each token once: its `input` leaves out what was cached, its `output` what was thought."""
    cache = obj(told.get("cache"))
    read, written, thought = count(cache.get("read")), count(cache.get("write")), count(told.get("reasoning"))
    taken = (count(told.get("input")) or 0) + (read or 0) + (written or 0)
    given = (count(told.get("output")) or 0) + (thought or 0)
    return TokenUsage(
        provider=by[0],
        model=by[1],
        input_tokens=taken,
        output_tokens=given,
        total_tokens=taken + given,
        reasoning_tokens=thought or None,
        cached_input_tokens=read or None,
        cache_write_input_tokens=written or None,
    )


def _content(words: str, state: dict[str, Any]) -> str | list[dict[str, Any]]:
    """Text, or parts where the tool gave pictures or files, too."""
    files = [part for file in items(state.get("attachments")) if (part := _file(file)) is not None]
    return [*([{"type": "text", "text": words}] if words else []), *files] if files else words


def _file(file: dict[str, Any]) -> dict[str, Any] | None:
    url, mime = non_empty(file.get("url")), non_empty(file.get("mime"))
    if url is None or mime is None:
        return None
    head, _, data = url.partition(";base64,")
    source = {"type": "data", "value": data} if data and head.startswith("data:") else {"type": "url", "value": url}
    kind = mime.partition("/")[0]
    return {"type": kind if kind in ("image", "audio", "video") else "document", "source": {**source, "mimeType": mime}}
