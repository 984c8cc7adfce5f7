"""A session, with what the gateway itself learns of its tools: what its MCP servers list, and which it calls.

In: a session of any driver, and the servers that it was opened with. Out: the same session, whose layer has more. A
batch of events costs a look at their types; nobody waits for a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.capabilities.session_tools import LISTED_TOOLS, SERVERS
from gateway.capability_paths import SEEN_TOOLS, escape_key
from gateway.drivers import Controls, LiveTurn, Session
from gateway.drivers.mcp_client import Known, Using
from gateway.events import AguiEvent, Event, Layer, ToolCallStart
from gateway.runs.turn_wrapper import TurnWrapper
from gateway.turn import Turn

MOST_SEEN = 256
LONGEST = 128
"""Of a name, in characters."""
NATIVE = ("TOOL_CALL_START", "TOOL_CALL_CHUNK")


class ObservedSession:
    def __init__(self, session: Session, servers: Using) -> None:
        self._session, self._servers = session, servers
        self._seen = SeenTools()
        self._known: tuple[dict[str, Known], Layer] = ({}, {})

    @property
    def id(self) -> str | None:
        return self._session.id

    @property
    def kept(self) -> bool:
        return self._session.kept

    @property
    def alive(self) -> bool:
        return self._session.alive

    @property
    def controls(self) -> Controls | None:
        return self._session.controls

    @property
    def session_layer(self) -> Layer:
        known, layer = self._servers.known, self._known[1]
        if known != self._known[0]:
            layer = {path: value for name, one in known.items() for path, value in _leaves(name, one)}
            self._known = known, layer
        if not layer and not self._seen.any:
            return self._session.session_layer
        return {**self._session.session_layer, **layer, **({SEEN_TOOLS: [*self._seen.names]} if self._seen.any else {})}

    async def start(self, turn: Turn) -> LiveTurn:
        self._servers.again()
        return ToolObserver(await self._session.start(turn), self._seen, frozenset(tool["name"] for tool in turn.tools))

    def leave(self) -> None:
        """Its servers: also when the session is gone already. May be called twice."""
        self._servers.leave()

    async def aclose(self) -> None:
        await self._session.aclose()


def _leaves(name: str, known: Known) -> Iterator[tuple[str, Any]]:
    state, place = known.state, f"{SERVERS}{escape_key(name)}"
    yield f"{place}.status", state.status
    yield f"{place}.transport", known.transport
    if state.reason is not None:
        yield f"{place}.reason", state.reason
    if state.status == "connected":
        yield f"{place}.tools", len(state.listing.tools)
        yield f"{place}.complete", state.listing.complete
        yield f"{place}{LISTED_TOOLS}", state.listing.tools


@dataclass(slots=True)
class SeenTools:
    """A session's calls."""

    names: list[str] = field(default_factory=list)
    any: bool = False
    """There was one, whether it has a tool's name or not."""

    def note(self, name: str) -> None:
        if name not in self.names and len(self.names) < MOST_SEEN and 0 < len(name) <= LONGEST:
            self.names.append(name)


class ToolObserver(TurnWrapper):
    """A turn, whose calls are noted. The client's own tools are none of the session's, but a call is a call."""

    def __init__(self, live: LiveTurn, seen: SeenTools, clients: frozenset[str]) -> None:
        super().__init__(live)
        self._seen, self._clients = seen, clients

    async def next(self) -> list[Event]:
        batch = await self._live.next()
        kinds = {*map(type, batch)}
        if ToolCallStart in kinds or AguiEvent in kinds:
            self._note(batch)
        return batch

    def _note(self, batch: list[Event]) -> None:
        for event in batch:
            name = _called(event)
            if name is None:
                continue
            self._seen.any = True
            if name not in self._clients:
                self._seen.note(name)


def _called(event: Event) -> str | None:
    """The tool's name; None: it is no call. An ACP agent need not tell it: then the call has the name of its kind,
    which is no tool's, and the answer is empty."""
    match event:
        case ToolCallStart(name=name, metadata={"acp": dict(told)}):
            return name if told.get("name") == name else ""
        case ToolCallStart(name=name):
            return name
        case AguiEvent(event={"type": kind, "toolCallName": str(name)}) if kind in NATIVE:
            return name
        case AguiEvent(event=told) if getattr(told, "type", None) in NATIVE:
            called = getattr(told, "tool_call_name", None)
            return called if isinstance(called, str) else None
        case _:
            return None
