"""What an agent does → AG-UI events in an order every client accepts, whatever the agent does.

In: batches of `gateway.events`. Out: AG-UI events as JSON objects. It remembers only what is open, closes it before
any terminal event, and hands on as RAW what fits nowhere. No IO, no clock; ids count up from a given prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gateway.agui.limits import DELTA_CHARS, check_size
from gateway.agui.merging import merge, split
from gateway.agui.native import Natives
from gateway.agui.order import Order
from gateway.agui.pairs import Pairs
from gateway.agui.translate import Translator, warning
from gateway.agui.usage import Usage
from gateway.errors import AgentFault
from gateway.events import Asked, Broke, Ended, Event, Native, Question, TextDelta, Used, Wire

PROTOCOL_VERSION = "1.0"

BOUNDED = frozenset(
    ("TOOL_CALL_RESULT", "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    + ("RAW", "CUSTOM", "SUBAGENT_FINISHED", "REASONING_ENCRYPTED_VALUE")
)
"""Events that carry open data or long text and cannot be split: each is held against the size limit."""


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
        event_bytes: int = 10_000_000,
    ) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._merging, self._event_bytes = merging, event_bytes
        self._client_tools = frozenset(client_tools)
        self._translator = Translator(prefix)
        self._order = Order()
        self._natives = Natives(self._order)
        self._pairs = Pairs()
        self._usage = Usage()
        self._tool_names: dict[str, str] = {}
        self._subagents: dict[str, Wire] = {}
        self._suspect = False
        self._streaming: str | None = None
        self.ended: Ended | Broke | None = None
        self.asked: list[Question] = []

    def started(self, parent_run_id: str | None = None, suspended: Sequence[Wire] = ()) -> list[Wire]:
        """`suspended`: the subagents that the interrupted run left waiting; they go on under the same ids."""
        event: Wire = {"type": "RUN_STARTED", **self._ids, "protocolVersion": PROTOCOL_VERSION}
        if parent_run_id is not None:
            event["parentRunId"] = parent_run_id
        out: list[Wire] = []
        for opening in (event, *suspended):
            self._emit(opening, out)
        return out

    def feed(self, batch: Sequence[Event]) -> list[Wire]:
        """The batch as AG-UI events. An event that cannot be sent ends the run; those before it are kept."""
        out: list[Wire] = []
        try:
            for event in batch:
                # Nearly every event of a run is this one, so it has a short way: its message is open, nothing moves.
                if self._streaming is not None and type(event) is TextDelta and _plain(event):
                    text = event.text
                    out.append({"type": "TEXT_MESSAGE_CONTENT", "messageId": self._streaming, "delta": text})
                    if not text.isascii() or len(text) > DELTA_CHARS:
                        self._suspect = True
                elif self.ended is None:
                    self._read(event, out)
                    self._streaming = self._short_way()
        except AgentFault as exc:
            self.ended = Broke(exc.detail, exc.code)
        return self._pack(out)

    def _short_way(self) -> str | None:
        """The message that plain text goes on with, if no rule can be broken by it."""
        message_id = self._translator.main.text
        if message_id is None or self.ended is not None:
            return None
        return message_id if self._order.open_text_messages.get(message_id, "") is None else None

    def finished(self, interrupts: Sequence[dict[str, Any]] = (), *, cancelled: bool = False) -> list[Wire]:
        """Closes what is open, then `RUN_FINISHED`."""
        out = self._close_all(interrupts)
        event: Wire = {"type": "RUN_FINISHED", **self._ids}
        if (result := _result(self.ended)) is not None:
            event["result"] = result
        if outcome := self._outcome(interrupts, cancelled):
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
        out = self._close_all(())
        event: Wire = {"type": "RUN_ERROR", "message": message, "code": code}
        if usage := self._usage.entries():
            event["usage"] = usage
        self._emit(event, out)
        return out

    def suspended(self) -> list[Wire]:
        """The subagents under way, for `started` of the run that goes on; to be asked before `finished`."""
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
            case Native():
                for wire in self._natives.read(event.event):
                    self._native(wire, out)
            case Asked():
                self.asked.extend(event.questions)
            case Used():
                self._usage.add({USAGE_KEYS.get(name, name): value for name, value in asdict(event).items()})
            case Ended() | Broke():
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
                self.ended = Ended(reason, wire.get("result"), outcome.get("interrupts", ()))
            case "RUN_ERROR":
                self.ended = Broke(wire["message"], wire.get("code", "AGENT_ERROR"))
            case _:
                self._emit(wire, out)
        if wire["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            for entry in wire.get("usage", ()):
                self._usage.add(entry)

    def _emit(self, event: Wire, out: list[Wire]) -> None:
        kind = event["type"]
        if kind in BOUNDED:
            check_size(event, self._event_bytes)
        elif kind == "TOOL_CALL_START":
            self._tool_names[event["toolCallId"]] = event["toolCallName"]
        elif kind == "SUBAGENT_STARTED":
            self._subagents[event["subagentRunId"]] = event
        out.extend(self._natives.put_in_order(event))

    def _pack(self, out: list[Wire]) -> list[Wire]:
        if self._merging:
            out = merge(out)
        if self._suspect or self._merging or self._pairs.holding:
            out = [piece for event in self._pairs.feed(out) for piece in split(event, DELTA_CHARS)]
            self._suspect = False
        return out

    def _outcome(self, interrupts: Sequence[dict[str, Any]], cancelled: bool) -> dict[str, Any] | None:
        if interrupts:
            return {"type": "interrupt", "interrupts": list(interrupts)}
        if cancelled:
            return {"type": "cancelled"}
        if pending := self._order.unanswered():
            return {"type": "success", "pendingToolCallIds": pending}
        return None

    def _close_all(self, interrupts: Sequence[dict[str, Any]]) -> list[Wire]:
        out = self._pairs.flush()
        for event in self._order.closing():
            if interrupts and event["type"] == "SUBAGENT_FINISHED":
                event["outcome"] = _suspension(event["subagentRunId"], interrupts)
            self._emit(event, out)
        if not interrupts:
            self._answer_own_calls(out)
        return out

    def _answer_own_calls(self, out: list[Wire]) -> None:
        """A call of the agent's own tool that got no result would look to the client like one of *its* tools."""
        for call in self._order.unanswered():
            if self._tool_names.get(call) not in self._client_tools:
                result = {"toolCallId": call, "content": "The agent ended its turn without a result for this call."}
                self._emit({"type": "TOOL_CALL_RESULT", "messageId": self._translator.new_id(), **result}, out)


def _plain(event: TextDelta) -> bool:
    return event.message_id is None and event.subagent is None and event.metadata is None and event.role is None


def _result(ended: Ended | Broke | None) -> Any:
    """What the agent gave; else why it stopped, where that is not the usual end."""
    if not isinstance(ended, Ended):
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
