"""The tool calls of one turn: each started, ended and answered once.

In: an agent's id of a call, pieces of its arguments, what the tool printed and gave back, in whatever order the agent
reports them. Out: `ToolCallStart`, `ToolCallArgs`, `ToolCallEnd`, `ToolCallResult` and live output, in AG-UI's order,
none of them twice. What an agent never reported is closed by `close`. Never: the meaning of a result; a dialect reads
content and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gateway.events import Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.activities import LiveOutput, tool_output
from gateway.wire.fields import json_text, parse_json
from gateway.wire.ids import UniqueIds

Content = str | list[dict[str, Any]]
Metadata = dict[str, Any] | None

DEFAULT_NAME = "tool"


@dataclass(slots=True)
class ToolCall:
    """One call. A dialect that must remember more of it adds fields in a subclass; they need defaults."""

    id: str
    """AG-UI's."""
    agent_id: str
    name: str
    subagent: str | None = None
    is_started: bool = False
    is_ended: bool = False
    """Its arguments are complete."""
    is_answered: bool = False
    pieces: list[str] = field(default_factory=list)
    """Its arguments as they were streamed."""
    output: LiveOutput | None = None

    @property
    def is_open(self) -> bool:
        return not self.is_answered

    @property
    def streamed_arguments(self) -> str:
        return "".join(self.pieces)

    def start(self, metadata: Metadata = None) -> list[Event]:
        if self.is_started:
            return []
        self.is_started = True
        return [ToolCallStart(self.id, self.name, subagent=self.subagent, metadata=metadata)]

    def add_arguments(self, piece: str) -> list[Event]:
        """The next piece of the arguments' JSON; nothing once they are complete."""
        if self.is_ended or not piece:
            return []
        started = self.start()
        self.pieces.append(piece)
        return [*started, ToolCallArgs(self.id, piece)]

    def end(self, arguments: Any = None, metadata: Metadata = None) -> list[Event]:
        """The arguments are complete. `arguments`: all of them, sent if none were streamed; None: there is nothing to
        send. What was streamed cannot be taken back: see `has_streamed_other`."""
        if self.is_ended:
            return []
        events = self.start()
        if arguments is not None and not self.pieces:
            events += self.add_arguments(json_text(arguments))
        self.is_ended = True
        return [*events, ToolCallEnd(self.id, metadata)]

    def has_streamed_other(self, arguments: Any) -> bool:
        """Whether arguments were streamed, and others than these. A dialect then puts the true ones into metadata."""
        return bool(self.pieces) and parse_json(self.streamed_arguments) != arguments

    def answer(self, content: Content, metadata: Metadata = None, is_error: bool | None = None) -> list[Event]:
        """What the tool gave back; nothing if it is answered already. Arguments that are still open end here."""
        if self.is_answered:
            return []
        ended = self.end()
        self.is_answered = True
        self.output = None
        result = ToolCallResult(self.id, content, subagent=self.subagent, metadata=metadata, is_error=is_error)
        return [*ended, result]

    def append_output(self, piece: str) -> list[Event]:
        """More of what the tool prints while it runs."""
        return self._live_output().append(piece)

    def replace_output(self, output: str) -> list[Event]:
        """All that the tool has printed so far."""
        return self._live_output().replace(output)

    def _live_output(self) -> LiveOutput:
        if self.output is None:
            self.output = tool_output(self.id, self.subagent)
        return self.output

    def close(self, *, cancelled: bool, metadata: Metadata = None) -> list[Event]:
        """The turn is over, and the agent did not report what became of the call."""
        return self.answer(CANCELLED if cancelled else UNREPORTED, metadata)


Call = TypeVar("Call", bound=ToolCall)


class ToolCalls(Generic[Call]):
    """All calls of an agent and its subagents, by the agent's ids.

    `make_id` makes an agent's id unique in the thread (`Dialect.own`). `kind` is the class of a call. `reuses_ids`:
    this agent gives an id again after its call was answered, and means another call; otherwise it means the same one.
    """

    def __init__(self, make_id: Callable[[str], str] | UniqueIds, kind: type[Call], *, reuses_ids: bool = True) -> None:
        self._ids = make_id if isinstance(make_id, UniqueIds) else UniqueIds(make_id)
        self._kind = kind
        self._reuses_ids = reuses_ids
        self._calls: dict[str, Call] = {}
        self._client_tools: Mapping[str, str] = {}

    def __iter__(self) -> Iterator[Call]:
        return iter(list(self._calls.values()))

    def offer(self, client_tools: Mapping[str, str]) -> None:
        """The client's own tools: the agent's names for them → the client's. Calls are reported by the latter."""
        self._client_tools = client_tools

    @property
    def client_tools(self) -> Mapping[str, str]:
        return self._client_tools

    def begin_turn(self, *, keeps_open: bool = False) -> None:
        """`keeps_open`: calls without a result stay known, for an agent that reports it in a later turn."""
        self._ids.clear()
        self._calls = {key: call for key, call in self._calls.items() if keeps_open and call.is_open}

    def get(self, agent_id: Any) -> Call | None:
        """The newest call with this id."""
        return self._calls.get(agent_id) if isinstance(agent_id, str) else None

    def add(self, agent_id: str, name: str | None = None, subagent: str | None = None) -> Call:
        """The call with this id: the known one, or a new one that is not started yet."""
        known = self._calls.get(agent_id)
        if known is not None and (known.is_open or not self._reuses_ids):
            return known
        shown = name or DEFAULT_NAME
        call = self._kind(self._ids.new(agent_id), agent_id, self._client_tools.get(shown, shown), subagent)
        self._calls[agent_id] = call
        return call

    @property
    def open_calls(self) -> list[Call]:
        return [call for call in self._calls.values() if call.is_open]

    def end_all(self) -> list[Event]:
        """The run ends while the turn waits: arguments that are open at the client end now."""
        return [event for call in self._calls.values() if call.is_started for event in call.end()]

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over: every started call without a result gets one that says so."""
        return [event for call in self.open_calls if call.is_started for event in call.close(cancelled=cancelled)]
