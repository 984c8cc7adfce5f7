"""What an agent does → AG-UI events in an order every client accepts, whatever the agent does.

In: batches of `gateway.events`. Out: AG-UI events as JSON objects. It remembers only what is open, closes it before
any terminal event, and hands on as RAW what fits nowhere. No IO, no clock; ids count up from a given prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gateway.agui.attribution import tagged
from gateway.agui.deltas import merge, split
from gateway.agui.interrupts import calls_of, questions_of
from gateway.agui.limits import DELTA_CHARS, check_size
from gateway.agui.ordering import Order
from gateway.agui.passthrough import Passthrough, unfolded
from gateway.agui.surrogates import SurrogatePairs
from gateway.agui.translate import Translator, warning
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

MESSAGE_CHARS = 100_000
"""Of an error's message: an exception may quote all of what an agent worked on."""

DELTAS = frozenset(("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"))


@dataclass(frozen=True, slots=True)
class Suspended:
    """What a run whose turn is parked hands on to the run that goes on with it."""

    subagents: list[Wire] = field(default_factory=list)
    """Under way; they go on under the same ids."""
    calls: Mapping[str, str] = field(default_factory=dict)
    """Tool calls that have no result yet → the subagent that made them."""
    answered: frozenset[str] = frozenset()
    """Calls of the client's own tools: it has what came of them, and is not told."""


class Outbound:
    """One run's way out. After `ended` is set the agent has nothing more to say in this run."""

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        prefix: str,
        *,
        merging: bool = True,
        client_tools: Iterable[str] = (),
        max_event_bytes: int = 10_000_000,
    ) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._merging, self._event_bytes = merging, max_event_bytes
        self._client_tools = frozenset(client_tools)
        self._translator = Translator(prefix)
        self._order = Order()
        self._natives = Passthrough(self._order)
        self._pairs = SurrogatePairs()
        self._usage = Usage()
        self._calls: dict[str, Wire] = {}
        self._subagents: dict[str, Wire] = {}
        self._suspect = False
        self._streaming: str | None = None
        self._passing: Mapping[str, None] = {}
        """Messages whose plain text goes on as it comes."""
        self.ended: TurnEnded | TurnFailed | None = None
        self.asked: list[Interrupt] = []
        self.called: list[ClientToolCall] = []
        self._theirs: set[str] = set()
        """Calls that the client has answered itself."""

    def started(self, parent_run_id: str | None = None, suspended: Suspended | None = None) -> list[Wire]:
        """`suspended`: what the interrupted run that is answered left waiting."""
        suspended = suspended or Suspended()
        self._translator.calls.update(suspended.calls)
        self._theirs.update(suspended.answered)
        event: Wire = {"type": "RUN_STARTED", **self._ids, "protocolVersion": PROTOCOL_VERSION}
        if parent_run_id is not None:
            event["parentRunId"] = parent_run_id
        out: list[Wire] = []
        for opening in (event, *suspended.subagents):
            self._emit(opening, out)
        return out

    def feed(self, batch: Sequence[Event]) -> list[Wire]:
        """The batch as AG-UI events. An event that cannot be sent ends the run; those before it are kept."""
        out: list[Wire] = []
        words: list[str] = []
        streaming, passing = self._streaming, self._passing
        try:
            for event in batch:
                # Nearly every event of a run is this one, so it has a short way: its message is open, nothing moves.
                if (
                    streaming is not None
                    and type(event) is TextMessageContent
                    and (event.message_id is None or event.message_id == streaming)
                    and event.subagent is None
                    and event.metadata is None
                    and event.role is None
                    and type(event.text) is str
                ):
                    words.append(event.text)
                # And so has the same from an agent that speaks AG-UI itself: checked as `validate` does, and in order.
                elif (
                    passing
                    and type(event) is AguiEvent
                    and type(wire := event.event) is dict
                    and len(wire) == 3
                    and wire.get("type") == "TEXT_MESSAGE_CONTENT"
                    and type(message_id := wire.get("messageId")) is str
                    and message_id in passing
                    and type(text := wire.get("delta")) is str
                    and text
                ):
                    if words:
                        words = self._say(streaming, words, out)
                    out.append({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text})
                    if not text.isascii() or len(text) > DELTA_CHARS:
                        self._suspect = True
                elif self.ended is None:
                    words = self._say(streaming, words, out)
                    self._read(event, out)
                    streaming, passing = self._short_way(), self._natives.passing(self.ended is not None)
            self._say(streaming, words, out)
        except AgentFault as exc:
            self.ended, streaming, passing = TurnFailed(exc.detail, exc.code), None, {}
        self._streaming, self._passing = streaming, passing
        return self._pack(out)

    def passes(self, batch: Sequence[Event]) -> list[bytes] | None:
        """The batch as lines, where all of it goes on as it was written; None: it must be fed."""
        lines: list[bytes] = []
        for event in batch:
            if type(event) is not EncodedText or event.message_id not in self._passing:
                return None
            lines += event.lines
        return None if self._pairs.holding or (self._merging and len(lines) > 1) else lines

    def _say(self, message_id: str | None, words: list[str], out: list[Wire]) -> list[str]:
        """Deltas of the message that is streaming, as events. Returns an empty list, to collect the next."""
        if words:
            whole = "".join(words)
            deltas = [whole] if self._merging else words
            out.extend([{"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text} for text in deltas])
            if not whole.isascii() or len(whole) > DELTA_CHARS:
                self._suspect = True
        return []

    def _short_way(self) -> str | None:
        """The message that plain text goes on with, if no rule can be broken by it."""
        message_id = self._translator.main.text
        if message_id is None or self.ended is not None:
            return None
        return message_id if self._order.open_text_messages.get(message_id, "") is None else None

    @property
    def waits(self) -> bool:
        """The turn goes on only when the client has answered."""
        return bool(self.asked or self.called)

    def finished(
        self,
        interrupts: Sequence[dict[str, Any]] = (),
        *,
        pending: Sequence[ClientToolCall] = (),
        cancelled: bool = False,
    ) -> list[Wire]:
        """Closes what is open, then `RUN_FINISHED`. `pending`: the calls of the client's own tools that the turn, which
        is parked, waits for."""
        out = [*self._pairs.flush(), *([] if interrupts else self._show_again(pending))]
        out += self._close_all(interrupts, parked=bool(interrupts or pending))
        event: Wire = {"type": "RUN_FINISHED", **self._ids}
        if (result := _result(self.ended)) is not None:
            event["result"] = result
        if outcome := self._outcome(interrupts, pending, cancelled):
            event["outcome"] = outcome
        if usage := self._usage.entries():
            event["usage"] = usage
        try:
            check_size(event, self._event_bytes)
        except AgentFault as exc:
            event.pop("result", None)
            self._emit(warning(exc.code, f"the run's result was left out: {exc.detail}"), out)
        self._emit(event, out)
        return out

    def failed(self, message: str, code: str) -> list[Wire]:
        """Closes what is open, so that no client shows it as still streaming, then `RUN_ERROR`."""
        out = self._close_all((), parked=False)
        event: Wire = {"type": "RUN_ERROR", "message": shortened(str(message)), "code": str(code)}
        if usage := self._usage.entries():
            event["usage"] = usage
        self._emit(event, out)
        return out

    def interrupts(self, asked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The questions as they may be sent. Raises `AgentFault` for what no client could read or answer."""
        outcome = {"type": "interrupt", "interrupts": list(asked)}
        event = validate({"type": "RUN_FINISHED", **self._ids, "outcome": outcome})
        check_size(event, self._event_bytes)
        found: list[dict[str, Any]] = event["outcome"]["interrupts"]
        if len({interrupt["id"] for interrupt in found}) < len(found):
            raise AgentFault("the agent asks two questions under one id")
        return found

    def suspended(self) -> Suspended:
        """For `started` of the run that goes on; to be asked before `finished`."""
        unanswered = set(self._order.unanswered())
        calls = {call: owner for call, owner in self._translator.calls.items() if owner and call in unanswered}
        return Suspended(self._under_way(), calls, frozenset(self._theirs.union(call.id for call in self.called)))

    def _under_way(self) -> list[Wire]:
        active = set(self._order.open_subagents)
        known = [dict(wire) for name, wire in self._subagents.items() if name in active]
        for event in known:
            # Whoever is not announced again in the next run cannot be named there.
            if event.get("parentSubagentRunId") not in active:
                event.pop("parentSubagentRunId", None)
        return known

    def _read(self, event: Event, out: list[Wire]) -> None:
        self._suspect = True
        match event:
            case AguiEvent():
                for wire in self._natives.read(event.event):
                    self._native(wire, out)
            case EncodedText() if event.message_id in self._natives.passing(ended=False):
                out.extend(unfolded(event))
            case EncodedText():
                for wire in unfolded(event):
                    self._read(AguiEvent(wire), out)
            case InterruptRequested():
                self.asked.extend(questions_of(event.interrupts))
            case ClientToolsCalled():
                self.called.extend(calls_of(event.calls))
            case ToolCallResult() if event.id in self._theirs:
                self._theirs.discard(event.id)
            case TokenUsage():
                self._usage.add({USAGE_KEYS.get(name, name): value for name, value in asdict(event).items()})
            case TurnEnded() | TurnFailed():
                self.ended = event
            case _:
                for wire in self._translator.read(event):
                    self._emit(wire, out)

    def _native(self, wire: Wire, out: list[Wire]) -> None:
        """The run's own events are the gateway's to send: it knows the ids, and what must be closed first."""
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
        """What cannot be sent is refused before the order knows of it: what it knows of, it closes."""
        kind = event["type"]
        if kind not in DELTAS:
            check_size(event, self._event_bytes)
        elif len(event) > 3:
            check_size({**event, "delta": ""}, self._event_bytes)  # a long delta is cut
        ordered = self._natives.put_in_order(event)
        if ordered and ordered[-1] is event:
            if kind == "TOOL_CALL_START":
                self._calls[event["toolCallId"]] = event
            elif kind == "SUBAGENT_STARTED":
                self._subagents[event["subagentRunId"]] = event
        elif ordered:
            check_size(ordered[-1], self._event_bytes)  # inside a RAW event a delta is not cut any more
        out.extend(ordered)

    def _pack(self, out: list[Wire]) -> list[Wire]:
        if self._merging:
            out = merge(out)
        if self._suspect or self._pairs.holding:
            out = [piece for event in self._pairs.feed(out) for piece in split(event, DELTA_CHARS)]
            self._suspect = False
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
        if unanswered := self._order.unanswered():
            return {"type": "success", "pendingToolCallIds": unanswered}
        return None

    def _close_all(self, interrupts: Sequence[dict[str, Any]], *, parked: bool) -> list[Wire]:
        out = self._pairs.flush()
        for event in self._order.closing():
            if parked and event["type"] == "SUBAGENT_FINISHED":
                event["outcome"] = _suspension(event["subagentRunId"], interrupts)
            self._emit(event, out)
        if not parked:
            self._answer_own_calls(out)
        return out

    def _show_again(self, pending: Sequence[ClientToolCall]) -> list[Wire]:
        """What a run leaves pending it must have started: a call of an earlier run is started once more. Without
        arguments, for a client would add them to those it has."""
        here, out = set(self._order.unanswered()), list[Wire]()
        for call in pending:
            if call.id not in here:
                for event in (ToolCallStart(call.id, call.name, subagent=call.subagent), ToolCallEnd(call.id)):
                    self._read(event, out)
        return out

    def _answer_own_calls(self, out: list[Wire]) -> None:
        """A call of the agent's own tool that got no result would look to the client like one of *its* tools."""
        for call in self._order.unanswered():
            if self._calls[call]["toolCallName"] not in self._client_tools:
                result = {"toolCallId": call, "content": UNREPORTED}
                event = {"type": "TOOL_CALL_RESULT", "messageId": self._translator.new_id(), **result}
                self._emit(tagged(event, self._calls[call].get("subagentRunId")), out)


def shortened(message: str) -> str:
    return message if len(message) <= MESSAGE_CHARS else message[:MESSAGE_CHARS] + "…"


def _result(ended: TurnEnded | TurnFailed | None) -> Any:
    """What the agent gave; else why it stopped, where that is not the usual end."""
    if not isinstance(ended, TurnEnded):
        return None
    usual = ended.stop_reason in ("end_turn", "cancelled") or ended.result is not None
    return ended.result if usual else {"stopReason": ended.stop_reason}


def _suspension(subagent: str, interrupts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of a subagent that waits, or whose descendant does: only the former names what it waits for."""
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
