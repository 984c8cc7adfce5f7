"""A session, with what the gateway itself knows of it: what its MCP servers list, which tools it calls, its sandbox.

In: a session of any driver, the MCP servers it was opened with, the sandbox of its process. Out: the same session with
a longer layer; a warning at the start of a turn without the sandbox that it should have. A batch of events costs a look
at the types in it. Never: a wait for a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.capabilities.session_tools import LISTED_TOOLS, SERVERS
from gateway.capability_paths import SEEN_TOOLS, escape_key
from gateway.drivers import Controls, LiveTurn, Session
from gateway.drivers.mcp_client import KnownServer, SessionServers
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.events import AguiEvent, Event, Layer, ToolCallStart, Warning
from gateway.runs.session_secrets import SessionSecrets
from gateway.runs.turn_wrapper import TurnWrapper
from gateway.turn import Turn

MAX_TOOLS = 256
MAX_NAME_CHARS = 128
AGUI_CALL_TYPES = ("TOOL_CALL_START", "TOOL_CALL_CHUNK")


class ObservedSession:
    def __init__(
        self,
        session: Session,
        servers: SessionServers | None = None,
        secrets: SessionSecrets | None = None,
        stated: Layer | None = None,
        sandbox: SandboxPolicy | None = None,
    ) -> None:
        """`secrets`: of the servers. `stated`: what the gateway itself states of the session."""
        self._session = session
        self._secrets = secrets or SessionSecrets(())
        self._sandbox = sandbox
        self._stated: Layer = {**(stated or {}), **({} if sandbox is None else sandbox.to_layer())}
        self._servers = servers
        self._called = CalledTools()
        self._known_servers: dict[str, KnownServer] = {}
        self._servers_layer: Layer = {}

    @property
    def id(self) -> str | None:
        return self._session.id

    @property
    def reusable(self) -> bool:
        return self._session.reusable

    @property
    def is_alive(self) -> bool:
        return self._session.is_alive

    @property
    def controls(self) -> Controls | None:
        return self._session.controls

    @property
    def session_layer(self) -> Layer:
        servers = self._read_servers()
        if not servers and not self._called.any and not self._stated:
            return self._session.session_layer
        called = {SEEN_TOOLS: [*self._called.names]} if self._called.any else {}
        return {**self._session.session_layer, **self._stated, **servers, **called}

    def _read_servers(self) -> Layer:
        known = {} if self._servers is None else self._servers.known
        if known != self._known_servers:
            self._known_servers = known
            self._servers_layer = {path: value for name, each in known.items() for path, value in _layer_of(name, each)}
        return self._servers_layer

    async def start(self, turn: Turn) -> LiveTurn:
        if self._servers is not None:
            self._servers.retry_failed()
        client_tools = frozenset(tool["name"] for tool in turn.tools)
        warnings = [] if self._sandbox is None or self._sandbox.warning is None else [self._sandbox.warning]
        live = await self._secrets.start_masked(self._session, turn)
        return ToolObserver(live, self._called, client_tools, warnings)

    def leave_servers(self) -> None:
        """Also when the session itself is gone already. May be called twice."""
        self._secrets.remove_files()
        if self._servers is not None:
            self._servers.release()

    async def aclose(self) -> None:
        await self._session.aclose()


def _layer_of(name: str, known: KnownServer) -> Iterator[tuple[str, Any]]:
    state = known.state
    path = f"{SERVERS}{escape_key(name)}"
    yield f"{path}.status", state.status
    yield f"{path}.transport", known.transport
    if state.reason is not None:
        yield f"{path}.reason", state.reason
    if state.status == "connected":
        yield f"{path}.tools", len(state.listing.tools)
        yield f"{path}.complete", state.listing.complete
        yield f"{path}{LISTED_TOOLS}", state.listing.tools


@dataclass(slots=True)
class CalledTools:
    """The tools that a session has called."""

    names: list[str] = field(default_factory=list)
    any: bool = False
    """There was a call, whether it names a tool or not."""

    def add(self, name: str) -> None:
        if name not in self.names and len(self.names) < MAX_TOOLS and 0 < len(name) <= MAX_NAME_CHARS:
            self.names.append(name)

    def add_call(self, name: str, client_tools: frozenset[str]) -> None:
        """The client's own tools are not the session's, but a call of one is a call."""
        self.any = True
        if name not in client_tools:
            self.add(name)


class ToolObserver(TurnWrapper):
    """A turn whose tool calls are recorded."""

    def __init__(
        self, live: LiveTurn, called: CalledTools, client_tools: frozenset[str], warnings: Sequence[str] = ()
    ) -> None:
        """`warnings`: of the sandbox, for the beginning of the turn."""
        super().__init__(live)
        self._warnings: list[Event] = [Warning("NOT_SANDBOXED", text) for text in warnings]
        self._called = called
        self._client_tools = client_tools

    async def next(self) -> list[Event]:
        batch = await self._live.next()
        if self._warnings:
            batch = [*self._warnings, *batch]
            self._warnings = []
        kinds = {*map(type, batch)}
        if ToolCallStart in kinds or AguiEvent in kinds:
            for event in batch:
                if (name := _tool_name(event)) is not None:
                    self._called.add_call(name, self._client_tools)
        return batch


def _tool_name(event: Event) -> str | None:
    """None: the event is no tool call. An ACP agent need not name the tool: then the call is named after its kind,
    which is no tool's name, and the result is empty."""
    match event:
        case ToolCallStart(name=name, metadata={"acp": dict(metadata)}):
            return name if metadata.get("name") == name else ""
        case ToolCallStart(name=name):
            return name
        case AguiEvent(event={"type": kind, "toolCallName": str(name)}) if kind in AGUI_CALL_TYPES:
            return name
        case AguiEvent(event=model) if getattr(model, "type", None) in AGUI_CALL_TYPES:
            tool_name = getattr(model, "tool_call_name", None)
            return tool_name if isinstance(tool_name, str) else None
        case _:
            return None
