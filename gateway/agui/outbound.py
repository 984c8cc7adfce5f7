"""An agent's events as AG-UI events, in an order that every client accepts.

In: batches of `gateway.events`. Out: AG-UI events as JSON objects. It remembers only what is open, closes it before the
terminal event, and sends as RAW what AG-UI has no event for. Never: IO or a clock; ids count up from a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gateway.agui.attribution import tag_event
from gateway.agui.deltas import SurrogatePairs, merge, split
from gateway.agui.interrupts import check_client_calls, check_interrupts, count_native_interrupts
from gateway.agui.limits import MAX_DELTA_CHARS, check_size
from gateway.agui.ordering import Order
from gateway.agui.passthrough import Passthrough, decode_lines
from gateway.agui.translate import Translator, warning_event
from gateway.agui.usage import Usage
from gateway.agui.validate import validate
from gateway.errors import AgentFault
from gateway.events import (
    AguiEvent,
    ClientToolCall,
    ClientToolsCalled,
    EncodedText,
    Event,
    Interrupt,
    InterruptRequested,
    TextMessageContent,
    TokenUsage,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
    Wire,
)
from gateway.turn import UNREPORTED

PROTOCOL_VERSION = "1.0"

MAX_ERROR_MESSAGE_CHARS = 100_000
"""An exception's message may quote all of the data that the agent worked on."""

DELTAS = frozenset(("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"))


@dataclass(frozen=True, slots=True)
class Suspended:
    """What a run with a parked turn leaves to the run that continues the turn."""

    subagents: list[Wire] = field(default_factory=list)
    """SUBAGENT_STARTED of those that are active; they continue under the same ids."""
    calls: Mapping[str, str] = field(default_factory=dict)
    """Tool calls without a result → the subagent that made them."""
    answered: frozenset[str] = frozenset()
    """Calls of the client's own tools. The client has their results, so these are not sent to it."""


class Outbound:
    """The AG-UI events of one run. Once `ended` is set, further events of the agent are ignored."""

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        prefix: str,
        *,
        merging: bool = True,
        client_tools: Iterable[str] = (),
        max_event_bytes: int = 10_000_000,
        max_interrupts: int = 100,
    ) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._merging = merging
        self._max_event_bytes = max_event_bytes
        self._max_interrupts = max_interrupts
        self._client_tools = frozenset(client_tools)
        self._translator = Translator(prefix)
        self._order = Order()
        self._passthrough = Passthrough(self._order)
        self._pairs = SurrogatePairs()
        self._usage = Usage()
        self._calls: dict[str, Wire] = {}
        self._subagents: dict[str, Wire] = {}
        self._needs_packing = False
        self._streaming: str | None = None
        self._unchecked: Mapping[str, None] = {}
        """Messages whose plain text needs no check."""
        self.ended: TurnEnded | TurnFailed | None = None
        self.open_interrupts: list[Interrupt] = []
        self.client_calls: list[ClientToolCall] = []
        self._answered_calls: set[str] = set()
        """Calls that the client has answered itself: the agent's report of their results is not sent."""

    def started(self, parent_run_id: str | None = None, suspended: Suspended | None = None) -> list[Wire]:
        """RUN_STARTED, and what `suspended`, of the interrupted run that this one continues, adds to it."""
        suspended = suspended or Suspended()
        self._translator.calls.update(suspended.calls)
        self._answered_calls.update(suspended.answered)
        event: Wire = {"type": "RUN_STARTED", **self._ids, "protocolVersion": PROTOCOL_VERSION}
        if parent_run_id is not None:
            event["parentRunId"] = parent_run_id
        out: list[Wire] = []
        for opening in (event, *suspended.subagents):
            self._emit(opening, out)
        return out

    def feed(self, batch: Sequence[Event]) -> list[Wire]:
        """The batch as AG-UI events. An event that cannot be sent ends the run; the events before it are returned."""
        out: list[Wire] = []
        texts: list[str] = []
        streaming = self._streaming
        unchecked = self._unchecked
        try:
            for event in batch:
                # Fast path for nearly all events of a run: text of the message that is open already.
                if (
                    streaming is not None
                    and type(event) is TextMessageContent
                    and (event.message_id is None or event.message_id == streaming)
                    and event.subagent is None
                    and event.metadata is None
                    and event.role is None
                    and type(event.text) is str
                ):
                    texts.append(event.text)
                # The same for an agent that emits AG-UI events: as strict as `validate`, and in order.
                elif (
                    unchecked
                    and type(event) is AguiEvent
                    and type(wire := event.event) is dict
                    and len(wire) == 3
                    and wire.get("type") == "TEXT_MESSAGE_CONTENT"
                    and type(message_id := wire.get("messageId")) is str
                    and message_id in unchecked
                    and type(text := wire.get("delta")) is str
                    and text
                ):
                    if texts:
                        texts = self._emit_texts(streaming, texts, out)
                    out.append({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text})
                    if not text.isascii() or len(text) > MAX_DELTA_CHARS:
                        self._needs_packing = True
                elif self.ended is None:
                    texts = self._emit_texts(streaming, texts, out)
                    self._read(event, out)
                    streaming = self._find_streaming()
                    unchecked = self._passthrough.unchecked_messages(self.ended is not None)
            self._emit_texts(streaming, texts, out)
        except AgentFault as exc:
            self.ended = TurnFailed(exc.detail, exc.code)
            streaming = None
            unchecked = {}
        self._streaming = streaming
        self._unchecked = unchecked
        return self._pack(out)

    def encoded_lines(self, batch: Sequence[Event]) -> list[bytes] | None:
        """The batch as lines of JSON, if all of it can be sent as it was encoded; None if it must be fed."""
        lines: list[bytes] = []
        for event in batch:
            if type(event) is not EncodedText or event.message_id not in self._unchecked:
                return None
            lines += event.lines
        return None if self._pairs.has_half or (self._merging and len(lines) > 1) else lines

    def _emit_texts(self, message_id: str | None, texts: list[str], out: list[Wire]) -> list[str]:
        """Emits texts of the message that is streaming. Returns an empty list, to collect the next ones."""
        if texts:
            joined = "".join(texts)
            deltas = [joined] if self._merging else texts
            out.extend([{"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text} for text in deltas])
            if not joined.isascii() or len(joined) > MAX_DELTA_CHARS:
                self._needs_packing = True
        return []

    def _find_streaming(self) -> str | None:
        """The message that plain text continues, if that can break no rule."""
        message_id = self._translator.main.text
        if message_id is None or self.ended is not None:
            return None
        return message_id if self._order.open_text_messages.get(message_id, "") is None else None

    @property
    def is_waiting(self) -> bool:
        """The turn continues only after the client's answer."""
        return bool(self.open_interrupts or self.client_calls)

    def finished(
        self,
        interrupts: Sequence[dict[str, Any]] = (),
        *,
        pending: Sequence[ClientToolCall] = (),
        cancelled: bool = False,
    ) -> list[Wire]:
        """Closes what is open, then `RUN_FINISHED`. `pending`: the calls of the client's own tools that the parked turn
        waits for."""
        out = [*self._pairs.flush(), *([] if interrupts else self._restart_calls(pending))]
        out += self._close_all(interrupts, parked=bool(interrupts or pending))
        event: Wire = {"type": "RUN_FINISHED", **self._ids}
        if (result := _read_result(self.ended)) is not None:
            event["result"] = result
        if outcome := self._outcome(interrupts, pending, cancelled):
            event["outcome"] = outcome
        if usage := self._usage.entries():
            event["usage"] = usage
        try:
            check_size(event, self._max_event_bytes)
        except AgentFault as exc:
            event.pop("result", None)
            self._emit(warning_event(exc.code, f"the run's result was left out: {exc.detail}"), out)
        self._emit(event, out)
        return out

    def failed(self, message: str, code: str) -> list[Wire]:
        """Closes what is open, because clients would show it as still streaming, then `RUN_ERROR`."""
        out = self._close_all((), parked=False)
        event: Wire = {"type": "RUN_ERROR", "message": truncate_message(str(message)), "code": str(code)}
        if usage := self._usage.entries():
            event["usage"] = usage
        self._emit(event, out)
        return out

    def check_interrupts(self, interrupts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The interrupts as they may be sent. Raises `AgentFault` for one that no client could read or answer."""
        self._check_count(len(interrupts))
        outcome = {"type": "interrupt", "interrupts": list(interrupts)}
        event = validate({"type": "RUN_FINISHED", **self._ids, "outcome": outcome})
        check_size(event, self._max_event_bytes)
        checked: list[dict[str, Any]] = event["outcome"]["interrupts"]
        if len({interrupt["id"] for interrupt in checked}) < len(checked):
            raise AgentFault("the agent has two interrupts with one id")
        return checked

    def _check_count(self, interrupts: int) -> None:
        """Before they are validated: validating 100,000 takes seconds, and no user can answer so many."""
        if interrupts > self._max_interrupts:
            detail = f"the agent requests {interrupts} interrupts at once; it may request {self._max_interrupts}"
            raise AgentFault(f"{detail} (max_interrupts)", code="TOO_MANY_INTERRUPTS")

    def suspended(self) -> Suspended:
        """For `started` of the run that continues the turn. Must be called before `finished`."""
        unanswered = set(self._order.unanswered_calls())
        answered = frozenset(self._answered_calls.union(call.id for call in self.client_calls))
        calls = {call: owner for call, owner in self._translator.calls.items() if owner and call in unanswered}
        return Suspended(self._active_subagents(), calls, answered)

    def _active_subagents(self) -> list[Wire]:
        active = set(self._order.open_subagents)
        known = [dict(wire) for name, wire in self._subagents.items() if name in active]
        for event in known:
            # A subagent that the next run does not start again cannot be named there.
            if event.get("parentSubagentRunId") not in active:
                event.pop("parentSubagentRunId", None)
        return known

    def _read(self, event: Event, out: list[Wire]) -> None:
        self._needs_packing = True
        match event:
            case AguiEvent():
                self._check_count(count_native_interrupts(event.event))
                for wire in self._passthrough.read(event.event):
                    self._emit_native(wire, out)
            case EncodedText() if event.message_id in self._passthrough.unchecked_messages(ended=False):
                out.extend(decode_lines(event))
            case EncodedText():
                for wire in decode_lines(event):
                    self._read(AguiEvent(wire), out)
            case InterruptRequested():
                self.open_interrupts.extend(check_interrupts(event.interrupts))
                self._check_count(len(self.open_interrupts))
            case ClientToolsCalled():
                self.client_calls.extend(check_client_calls(event.calls))
            case ToolCallResult() if event.id in self._answered_calls:
                self._answered_calls.discard(event.id)
            case TokenUsage():
                self._usage.add({USAGE_KEYS.get(name, name): value for name, value in asdict(event).items()})
            case TurnEnded() | TurnFailed():
                self.ended = event
            case _:
                for wire in self._translator.read(event):
                    self._emit(wire, out)

    def _emit_native(self, wire: Wire, out: list[Wire]) -> None:
        """Emits an event of an agent that speaks AG-UI. The gateway sends the run's own start and end itself: it knows
        the ids, and what must be closed first."""
        match wire["type"]:
            case "RUN_STARTED":
                pass
            case "RUN_FINISHED":
                outcome = wire.get("outcome", {"type": "success"})
                reason = "cancelled" if outcome["type"] == "cancelled" else "end_turn"
                self.ended = TurnEnded(reason, wire.get("result"), outcome.get("interrupts", ()))
            case "RUN_ERROR":
                self.ended = TurnFailed(wire["message"], wire.get("code", "AGENT_ERROR"))
            case _:
                self._emit(wire, out)
        if wire["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            for entry in wire.get("usage", ()):
                self._usage.add(entry)

    def _emit(self, event: Wire, out: list[Wire]) -> None:
        """Checks the size before the order accepts the event: what the order has accepted, it closes later."""
        kind = event["type"]
        if kind not in DELTAS:
            check_size(event, self._max_event_bytes)
        elif len(event) > 3:
            check_size({**event, "delta": ""}, self._max_event_bytes)  # A long delta is split.
        ordered = self._passthrough.put_in_order(event)
        if ordered and ordered[-1] is event:
            if kind == "TOOL_CALL_START":
                self._calls[event["toolCallId"]] = event
            elif kind == "SUBAGENT_STARTED":
                self._subagents[event["subagentRunId"]] = event
        elif ordered:
            check_size(ordered[-1], self._max_event_bytes)  # Inside a RAW event a delta is not split.
        out.extend(ordered)

    def _pack(self, out: list[Wire]) -> list[Wire]:
        if self._merging:
            out = merge(out)
        if self._needs_packing or self._pairs.has_half:
            out = [piece for event in self._pairs.feed(out) for piece in split(event, MAX_DELTA_CHARS)]
            self._needs_packing = False
        return out

    def _outcome(
        self, interrupts: Sequence[dict[str, Any]], pending: Sequence[ClientToolCall], cancelled: bool
    ) -> dict[str, Any] | None:
        if interrupts:
            return {"type": "interrupt", "interrupts": list(interrupts)}
        if pending:
            return {"type": "success", "pendingToolCallIds": [call.id for call in pending]}
        if cancelled:
            return {"type": "cancelled"}
        if unanswered := self._order.unanswered_calls():
            return {"type": "success", "pendingToolCallIds": unanswered}
        return None

    def _close_all(self, interrupts: Sequence[dict[str, Any]], *, parked: bool) -> list[Wire]:
        out = self._pairs.flush()
        for event in self._order.close_events():
            if parked and event["type"] == "SUBAGENT_FINISHED":
                event["outcome"] = _suspended_outcome(event["subagentRunId"], interrupts)
            self._emit(event, out)
        if not parked:
            self._answer_own_calls(out)
        return out

    def _restart_calls(self, pending: Sequence[ClientToolCall]) -> list[Wire]:
        """Starts the pending calls of earlier runs again, because a run may leave pending only what it started. Without
        arguments: the client would append them to those that it has."""
        started = set(self._order.unanswered_calls())
        out: list[Wire] = []
        for call in pending:
            if call.id not in started:
                for event in (ToolCallStart(call.id, call.name, subagent=call.subagent), ToolCallEnd(call.id)):
                    self._read(event, out)
        return out

    def _answer_own_calls(self, out: list[Wire]) -> None:
        """Gives a result to each call of the agent's own tools that has none: the client would take the call for one of
        its own tools."""
        for call in self._order.unanswered_calls():
            if self._calls[call]["toolCallName"] not in self._client_tools:
                result = {"toolCallId": call, "content": UNREPORTED}
                event = {"type": "TOOL_CALL_RESULT", "messageId": self._translator.new_id(), **result}
                self._emit(tag_event(event, self._calls[call].get("subagentRunId")), out)


def truncate_message(message: str) -> str:
    return message if len(message) <= MAX_ERROR_MESSAGE_CHARS else message[:MAX_ERROR_MESSAGE_CHARS] + "…"


def _read_result(ended: TurnEnded | TurnFailed | None) -> Any:
    """The turn's result; without one, the stop reason if it is not the usual one."""
    if not isinstance(ended, TurnEnded):
        return None
    is_usual = ended.stop_reason in ("end_turn", "cancelled") or ended.result is not None
    return ended.result if is_usual else {"stopReason": ended.stop_reason}


def _suspended_outcome(subagent: str, interrupts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The outcome of a subagent that waits, or whose descendant waits. Only the former names its interrupts."""
    own = [interrupt["id"] for interrupt in interrupts if interrupt.get("subagentRunId") == subagent]
    return {"type": "suspended", "interruptIds": own} if own else {"type": "suspended"}


USAGE_KEYS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}
