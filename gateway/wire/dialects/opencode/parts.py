"""Message parts of one opencode session in one turn → events. `serve` streams and `run` prints the same parts.

In: parts as they grow (a tool that is `pending`, `running`, `completed`; a text without and with its end), text deltas,
and which model writes a message. Out: events; each part is started and ended once. A part is identified by its own id:
tool call ids come from the model and repeat. Never reads parts of messages that the agent did not write.
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
)
from gateway.wire.fields import amount, count, integer, items, non_empty, obj, present, strings, text, value_at
from gateway.wire.tool_calls import ToolCall, ToolCalls

IGNORED_PARTS = {
    "snapshot": "a commit in opencode's own store",
    "retry": "reported by `session.status`",
    "agent": "part of a prompt",
    "subtask": "part of a prompt",
    "compaction": "part of a prompt; reported by `session.compacted`",
}
"""Kinds of parts that produce no event, and why."""
MAX_DIFF_CHARS = 200_000
"""A longer diff is left out of a result's metadata."""


@dataclass(slots=True)
class TextPart:
    """A part that is text or reasoning."""

    id: str
    is_text: bool
    sent_chars: int = 0
    is_ended: bool = False


@dataclass(slots=True)
class ToolPart(ToolCall):
    """A part that is a tool call."""

    output_text: str = ""
    child_session_id: str | None = None
    """The session of the subagent that the call started."""


class MessageParts:
    """`qualify_id` makes an agent's id unique in the thread; `subagent` owns the parts; `model` (`provider/model`)
    is the model of messages that do not name theirs."""

    def __init__(self, qualify_id: Callable[[str], str], subagent: str | None = None, model: str | None = None) -> None:
        self._qualify_id = qualify_id
        self.subagent = subagent
        provider, _, name = (model or "").partition("/")
        self._default_model = (provider or None, name or None)
        self._texts: dict[str, TextPart] = {}
        self._tools = ToolCalls(qualify_id, ToolPart, reuses_ids=False)
        """By part id."""
        self._tools_by_call: dict[tuple[str, str], ToolPart] = {}
        self._models: dict[str, tuple[str | None, str | None]] = {}
        self._step_count = 0
        self._open_step: str | None = None
        self.cost = 0.0
        self.finish_reason: str | None = None
        """Why the model ended its last step."""

    def set_model(self, message_id: str, provider: str | None, model: str | None) -> None:
        self._models[message_id] = (provider, model)

    def find_tool(self, message_id: Any, call_id: Any) -> ToolPart | None:
        are_ids = isinstance(message_id, str) and isinstance(call_id, str)
        return self._tools_by_call.get((message_id, call_id)) if are_ids else None

    @property
    def has_open_tool_calls(self) -> bool:
        return bool(self._tools.open_calls)

    def append_text(self, part_id: str, delta: str) -> Event | None:
        """None: the part is unknown."""
        part = self._texts.get(part_id)
        if part is None:
            return None
        part.sent_chars += len(delta)
        if part.is_text:
            return TextMessageContent(delta, part.id, self.subagent)
        return ReasoningMessageContent(delta, part.id, self.subagent)

    def read_part(self, part: dict[str, Any]) -> list[Event] | None:
        """The part in its current state. None: it is of an unknown kind."""
        part_id = non_empty(part.get("id"))
        match part.get("type"):
            case _ if part_id is None:
                return None
            case "text" | "reasoning" as kind:
                return self._read_text(part_id, part, is_text=kind == "text")
            case "tool":
                return self._read_tool(part_id, part)
            case "step-start":
                return self._start_step()
            case "step-finish":
                return [*self._read_usage(part), *self._finish_step()]
            case "patch":
                files = strings(part.get("files"))
                return [Custom("opencode.patch", {"files": files}, subagent=self.subagent)] if files else []
            case "file":
                file = {key: text(part.get(key)) for key in ("mime", "filename", "url")}
                return [Custom("opencode.file", present(file), subagent=self.subagent)]
            case str(kind) if kind in IGNORED_PARTS:
                return []
            case _:
                return None

    def close_texts(self) -> list[Event]:
        """End every open text: an interrupt ends the run, and the client sees open messages closed."""
        return [self._end_text(part) for part in self._texts.values() if not part.is_ended and part.sent_chars]

    # -- text and reasoning

    def _read_text(self, part_id: str, part: dict[str, Any], *, is_text: bool) -> list[Event]:
        known = self._texts.get(part_id)
        if known is None:
            known = self._texts[part_id] = TextPart(self._qualify_id(part_id), is_text)
        content = text(part.get("text")) or ""
        events: list[Event] = []
        # The whole text comes again at the end, and may hold more than the deltas did.
        if len(content) > known.sent_chars:
            rest = self.append_text(part_id, content[known.sent_chars :])
            events += [] if rest is None else [rest]
        if obj(part.get("time")).get("end") is not None and not known.is_ended and known.sent_chars:
            events.append(self._end_text(known))
        return events

    def _end_text(self, part: TextPart) -> Event:
        part.is_ended = True
        return TextMessageEnd(part.id, self.subagent) if part.is_text else ReasoningMessageEnd(part.id, self.subagent)

    # -- tool calls

    def _read_tool(self, part_id: str, part: dict[str, Any]) -> list[Event]:
        tool = self._tools.add(part_id, non_empty(part.get("tool")), self.subagent)
        message_id = non_empty(part.get("messageID"))
        call_id = non_empty(part.get("callID"))
        if not tool.is_started and message_id is not None and call_id is not None:
            self._tools_by_call[message_id, call_id] = tool
        events = tool.start()
        if tool.is_answered:
            return events
        state = obj(part.get("state"))
        match state.get("status"):
            case "running":
                if isinstance(arguments := state.get("input"), dict):
                    events += tool.end(arguments)
                events += _read_output(tool, value_at(state, "metadata", "output"))
            case "completed" | "error" as status:
                events += tool.end(obj(state.get("input")))
                is_error = status == "error"
                content = _result_content(text(state.get("error" if is_error else "output")) or "", state)
                events += tool.answer(content, _result_metadata(status, state), is_error)
        return events

    # -- steps

    def _start_step(self) -> list[Event]:
        events = self._finish_step()
        self._step_count += 1
        self._open_step = f"step {self._step_count}"
        return [*events, StepStarted(self._open_step, self.subagent)]

    def _finish_step(self) -> list[Event]:
        name = self._open_step
        self._open_step = None
        return [] if name is None else [StepFinished(name, self.subagent)]

    def _read_usage(self, part: dict[str, Any]) -> list[Event]:
        self.finish_reason = non_empty(part.get("reason")) or self.finish_reason
        self.cost += amount(part.get("cost")) or 0
        model = self._models.get(non_empty(part.get("messageID")) or "", self._default_model)
        usage = _to_usage(obj(part.get("tokens")), *model)
        return [usage] if usage.input_tokens or usage.output_tokens else []


def _read_output(tool: ToolPart, output: Any) -> list[Event]:
    """The server repeats everything the command has printed so far."""
    if not isinstance(output, str) or output == tool.output_text:
        return []
    tool.output_text = output
    return tool.replace_output(output)


def _result_metadata(status: str, state: dict[str, Any]) -> dict[str, Any]:
    metadata = obj(state.get("metadata"))
    diff = text(metadata.get("diff"))
    details = {
        "status": status,
        "title": text(state.get("title")),
        "exitCode": integer(metadata.get("exit")),
        "diff": diff if diff is not None and len(diff) <= MAX_DIFF_CHARS else None,
    }
    return {"opencode": present(details)}


def _to_usage(tokens: dict[str, Any], provider: str | None, model: str | None) -> TokenUsage:
    """opencode counts each token once: `input` excludes cached tokens, `output` excludes reasoning tokens."""
    cache = obj(tokens.get("cache"))
    cache_read = count(cache.get("read")) or 0
    cache_write = count(cache.get("write")) or 0
    reasoning = count(tokens.get("reasoning")) or 0
    input_tokens = (count(tokens.get("input")) or 0) + cache_read + cache_write
    output_tokens = (count(tokens.get("output")) or 0) + reasoning
    return TokenUsage(
        provider=provider,
        model=model,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
        reasoning_tokens=reasoning or None,
        cached_input_tokens=cache_read or None,
        cache_write_input_tokens=cache_write or None,
    )


def _result_content(content: str, state: dict[str, Any]) -> str | list[dict[str, Any]]:
    """Text; content parts if the tool also returned images or files."""
    files = [part for file in items(state.get("attachments")) if (part := _to_file_part(file)) is not None]
    return [*([{"type": "text", "text": content}] if content else []), *files] if files else content


def _to_file_part(file: dict[str, Any]) -> dict[str, Any] | None:
    url = non_empty(file.get("url"))
    mime = non_empty(file.get("mime"))
    if url is None or mime is None:
        return None
    head, _, data = url.partition(";base64,")
    source = {"type": "data", "value": data} if data and head.startswith("data:") else {"type": "url", "value": url}
    kind = mime.partition("/")[0]
    return {"type": kind if kind in ("image", "audio", "video") else "document", "source": {**source, "mimeType": mime}}
