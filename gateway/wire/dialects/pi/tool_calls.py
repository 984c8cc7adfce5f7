"""Tool calls of the agent or a subagent: start, arguments as they stream, end, live output, result.

In: `toolcall_*` inside an assistant's message, `tool_execution_*`, results as messages. Out: events, each once.
Versions differ in what the first event of a call has: pi 1.x has id and name, pi 0.73 and omp's rpc mode have them in
the copy of the message beside it, omp's json mode not before the call is complete. The first event that has both starts
the call; arguments that streamed before are sent then. `toolcall_end` has the final arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.events import Event
from gateway.wire.acp.content import to_part
from gateway.wire.dialects.pi.omp_intent import INTENT, IntentFilter
from gateway.wire.fields import flag, if_small, items, json_text, non_empty, number, obj, parse_json, present, text
from gateway.wire.tool_calls import ToolCall, ToolCalls

MAX_DETAILS_CHARS = 4_000
"""`details` of a result go into its metadata up to this size."""

Json = dict[str, Any]


@dataclass(slots=True)
class PiCall(ToolCall):
    arguments: Json = field(default_factory=dict)
    """The final arguments."""
    has_permission_request: bool = False
    edited_arguments: Json | None = None
    """The arguments that the user made of them."""

    def note_permission_request(self) -> None:
        self.has_permission_request = True

    def note_edit(self, arguments: Json | None) -> None:
        self.edited_arguments = arguments


@dataclass(slots=True)
class CallDraft:
    """A tool call that the model is still writing."""

    intent_filter: IntentFilter | None = None
    call: PiCall | None = None
    pending: list[str] = field(default_factory=list)
    """Pieces of arguments that came before the call's id."""

    def add(self, piece: str) -> None:
        filtered = piece if self.intent_filter is None else self.intent_filter.feed(piece)
        if filtered:
            self.pending.append(filtered)

    def flush(self) -> list[Event]:
        if self.call is None:
            return []
        piece = "".join(self.pending)
        self.pending = []
        return self.call.add_arguments(piece)


class PiToolCalls:
    """`qualify_id` makes an id of the agent's unique in the thread. `has_intent`: arguments carry omp's `i`.
    `client_tools`: the agent's names of the client's tools → the client's."""

    def __init__(
        self,
        agent: str,
        qualify_id: Callable[[str], str],
        subagent: str | None,
        *,
        has_intent: bool,
        client_tools: Mapping[str, str],
    ) -> None:
        self._agent = agent
        self._subagent = subagent
        self._has_intent = has_intent
        self._calls = ToolCalls(qualify_id, PiCall)
        self._calls.offer(client_tools)
        self._drafts: dict[int, CallDraft] = {}

    def get(self, native_id: Any) -> PiCall | None:
        return self._calls.get(native_id)

    @property
    def unapproved(self) -> list[PiCall]:
        """Complete calls without a result and without a permission request, in order."""
        return [call for call in self._calls.open_calls if call.is_ended and not call.has_permission_request]

    # -- while the model writes

    def start_message(self) -> None:
        """The drafts of the message before are over."""
        self._drafts.clear()

    def start_draft(self, index: int, event: Json, message: Any) -> list[Event]:
        draft = CallDraft(IntentFilter() if self._has_intent else None)
        self._drafts[index] = draft
        return self._identify(draft, index, event, message)

    def add_to_draft(self, index: int, event: Json, message: Any) -> list[Event]:
        events = [] if index in self._drafts else self.start_draft(index, event, message)
        draft = self._drafts[index]
        draft.add(text(event.get("delta")) or "")
        if draft.call is None:
            events += self._identify(draft, index, event, message)
        return [*events, *draft.flush()]

    def end_draft(self, index: int, event: Json) -> list[Event]:
        """`toolcall_end`. Without an id no event can be sent; `tool_execution_start` starts the call then."""
        block = obj(event.get("toolCall"))
        draft = self._drafts.pop(index, None) or CallDraft()
        events = self._start_call(draft, block)
        if draft.call is None:
            return []
        return [*events, *draft.flush(), *self._end_call(draft.call, block.get("arguments"))]

    def read_block(self, block: Json) -> list[Event]:
        """A `toolCall` in a complete message, for a call that was not reported before."""
        draft = CallDraft()
        events = self._start_call(draft, block)
        return [*events, *self._end_call(draft.call, block.get("arguments"))] if draft.call is not None else []

    def _identify(self, draft: CallDraft, index: int, event: Json, message: Any) -> list[Event]:
        block: Json = {"id": event.get("id"), "name": event.get("toolName")}
        if non_empty(block["id"]) is None:
            content = obj(event.get("partial")).get("content") or obj(message).get("content")
            blocks = content if isinstance(content, list) else []
            block = obj(blocks[index]) if 0 <= index < len(blocks) else {}
        return self._start_call(draft, block) if non_empty(block.get("name")) is not None else []

    def _start_call(self, draft: CallDraft, block: Json) -> list[Event]:
        native_id = non_empty(block.get("id"))
        if draft.call is not None or native_id is None:
            return []
        draft.call = self._calls.add(native_id, non_empty(block.get("name")), self._subagent)
        return draft.call.start()

    def _end_call(self, call: PiCall, arguments: Any) -> list[Event]:
        if call.is_ended:
            return []
        final = dict(obj(arguments))
        intent = text(final.pop(INTENT, None)) if self._has_intent else None
        call.arguments = final
        metadata = present({"intent": intent})
        if call.has_streamed_other(final):
            metadata["arguments"] = final  # what was streamed cannot be taken back
        return call.end(final, self._to_metadata(metadata))

    # -- while the tool runs

    def read_start(self, line: Json) -> list[Event]:
        """`tool_execution_start`. A call that one tool makes of another is reported here first."""
        native_id = non_empty(line.get("toolCallId"))
        if native_id is None:
            return []
        call = self._calls.add(native_id, non_empty(line.get("toolName")), self._subagent)
        parent = self.get(line.get("parentToolCallId"))
        metadata = {"parentToolCallId": parent.id} if parent is not None else {}
        return [*call.start(self._to_metadata(metadata)), *self._end_call(call, line.get("args"))]

    def read_output(self, line: Json) -> list[Event]:
        """`tool_execution_update`: all that the tool has printed so far."""
        call = self.get(line.get("toolCallId"))
        if call is None or call.is_answered:
            return []
        output = _join_text(obj(line.get("partialResult")).get("content"))
        return call.replace_output(output) if output or call.output is not None else []

    def read_result(self, line: Json, result: Json) -> list[Event]:
        """`tool_execution_end`, or the result as a message, which repeats it."""
        events = self.read_start(line) if self.get(line.get("toolCallId")) is None else []
        call = self.get(line.get("toolCallId"))
        if call is None or call.is_answered:
            return events
        is_error = flag(line.get("isError"))
        metadata = {
            "isError": is_error or None,
            "durationMs": number(line.get("durationMs")),
            "details": if_small(result.get("details") or None, MAX_DETAILS_CHARS),
            "editedArgs": call.edited_arguments,
        }
        ended = self._end_call(call, line.get("args"))
        content = _to_content(result.get("content"))
        return [*events, *ended, *call.answer(content, self._to_metadata(present(metadata)), is_error)]

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over: calls without a result get one that says so."""
        events: list[Event] = []
        for call in self._calls.open_calls:
            events += self._end_call(call, parse_json(call.streamed_arguments))
            events += call.close(cancelled=cancelled)
        return events

    def _to_metadata(self, fields: Json) -> Json | None:
        return {self._agent: fields} if fields else None


def _join_text(content: Any) -> str:
    return "\n".join(part for block in items(content) if (part := text(block.get("text"))) is not None)


def _to_content(content: Any) -> str | list[Json]:
    """Text, or AG-UI content parts where there is an image."""
    blocks = items(content)
    if all(block.get("type") == "text" for block in blocks):
        return _join_text(content)
    return [to_part(block) or {"type": "text", "text": json_text(block)} for block in blocks]
