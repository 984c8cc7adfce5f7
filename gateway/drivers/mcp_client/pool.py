"""The MCP servers of all sessions. Each distinct one is connected to once, for as long as a session has it.

In: the servers that a session was opened with. Out: the state of each now. No caller waits here: until a server is
connected its state is `connecting`. The number of servers is bounded. A server that failed is not retried on its own,
nor for a session that is opened soon after; a later run retries it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from gateway.background import Tasks
from gateway.drivers.mcp_client.server_config import ServerConfig, ServerUnusable, read_server, transport_name
from gateway.drivers.mcp_client.watcher import OnChange, ServerState, ServerWatcher
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.errors import LimitReached
from gateway.identity import LOCAL
from gateway.limits import MCP_SERVERS, Hold, PrincipalLimits
from gateway.settings import Settings

RETRY_SECONDS = 30.0
"""Until a server that failed may be retried."""
MAX_STARTING = 8
"""Servers that start at the same time."""
MAX_SERVERS_PER_SESSION = 16


@dataclass(frozen=True, slots=True)
class KnownServer:
    transport: str
    state: ServerState


@dataclass(slots=True)
class Place:
    """One of a principal's places, and how many sessions use it."""

    hold: Hold
    users: int = 0

    def add_user(self) -> None:
        self.users += 1

    def remove_user(self) -> bool:
        """True: it was the last one, and the place is free."""
        self.users -= 1
        if not self.users:
            self.hold.release()
        return not self.users


class McpServers:
    def __init__(
        self,
        tasks: Tasks,
        *,
        private: bool,
        stdio: bool = True,
        max_servers: int = Settings.model_fields["max_mcp_servers"].default,
        limits: PrincipalLimits | None = None,
    ) -> None:
        """`private`: clients may name private addresses, loopback included. `stdio`: clients may name commands.
        `max_servers`: distinct servers at the same time."""
        self._tasks = tasks
        self._private = private
        self._stdio = stdio
        self._max_servers = max_servers
        self._limits = limits or PrincipalLimits(Settings())
        self._places: dict[tuple[str, ServerConfig], Place] = {}
        """Principal and server → the principal's place for it, however many of its sessions have the server."""
        self._start_slots = anyio.Semaphore(MAX_STARTING)
        self._watchers: dict[ServerConfig, ServerWatcher] = {}

    def use(
        self,
        servers: Sequence[Mapping[str, Any]],
        cwd: Path,
        on_change: OnChange,
        principal: str = LOCAL,
        sandbox: SandboxPolicy | None = None,
    ) -> SessionServers:
        """For a session that was opened with these servers. `on_change`: called when the state of one changes.
        `sandbox`: the session's."""
        return SessionServers(self, servers, cwd, on_change, principal, sandbox)

    def acquire(self, server: ServerConfig, on_change: OnChange, principal: str) -> ServerWatcher:
        """Raises `ServerUnusable` where a bound is reached, or the operator does not permit it."""
        if server.kind == "stdio" and not self._stdio:
            raise ServerUnusable(
                "the gateway starts no MCP servers (probe_mcp_stdio is off); the agent has it all the same"
            )
        self._drop_retryable()
        self._take_place(server, principal)
        watcher = self._watchers.get(server)
        if watcher is None:
            if sum(each.state.status != "failed" for each in self._watchers.values()) >= self._max_servers:
                self._leave_place(server, principal)
                count = f"{self._max_servers} MCP servers already (max_mcp_servers)"
                raise ServerUnusable(f"the gateway lists the tools of {count}; a later run retries")
            watcher = self._watchers[server] = ServerWatcher(server, private=self._private)
            self._tasks.start_soon(watcher.run, self._start_slots)
        watcher.add_user(on_change)
        return watcher

    def release(self, watcher: ServerWatcher, on_change: OnChange, principal: str) -> None:
        self._leave_place(watcher.server, principal)
        watcher.remove_user(on_change)
        if not watcher.has_users and watcher.state.status != "failed":
            watcher.stop()
            if self._watchers.get(watcher.server) is watcher:
                del self._watchers[watcher.server]

    def _take_place(self, server: ServerConfig, principal: str) -> None:
        """Raises `ServerUnusable` if the principal has as many servers as it may."""
        place = self._places.get((principal, server))
        if place is None:
            try:
                place = Place(self._limits.acquire(MCP_SERVERS, principal))
            except LimitReached as exc:
                raise ServerUnusable(exc.detail) from None
            self._places[principal, server] = place
        place.add_user()

    def _leave_place(self, server: ServerConfig, principal: str) -> None:
        if self._places[principal, server].remove_user():
            del self._places[principal, server]

    def _drop_retryable(self) -> None:
        for server, watcher in list(self._watchers.items()):
            if is_retryable(watcher):
                del self._watchers[server]


def is_retryable(watcher: ServerWatcher) -> bool:
    """It failed long enough ago."""
    return watcher.state.status == "failed" and time.monotonic() > watcher.since + RETRY_SECONDS


class SessionServers:
    """The servers of one session, by the names that the session has for them."""

    def __init__(
        self,
        pool: McpServers,
        servers: Sequence[Mapping[str, Any]],
        cwd: Path,
        on_change: OnChange,
        principal: str,
        sandbox: SandboxPolicy | None = None,
    ) -> None:
        self._pool = pool
        self._sandbox = sandbox
        self._on_change = on_change
        self._principal = principal
        by_name = {str(server["name"]): server for server in reversed(servers) if server.get("name")}
        self._servers = {name: (server, cwd) for name, server in reversed(by_name.items())}
        self._watchers: dict[str, ServerWatcher] = {}
        self._failures: dict[str, str] = {}
        """Name → why the server is not even connected to."""
        for name in self._servers:
            self._acquire(name)

    @property
    def known(self) -> dict[str, KnownServer]:
        return {
            name: KnownServer(transport_name(server), self._state(name)) for name, (server, _) in self._servers.items()
        }

    def retry_failed(self) -> None:
        """A run begins: servers that failed long enough ago are retried."""
        for name in self._servers:
            watcher = self._watchers.get(name)
            if watcher is None or is_retryable(watcher):
                self._release(name)
                self._acquire(name)

    def release(self) -> None:
        """The session is over. May be called twice."""
        for name in list(self._watchers):
            self._release(name)

    def _acquire(self, name: str) -> None:
        self._failures.pop(name, None)
        try:
            if len(self._watchers) >= MAX_SERVERS_PER_SESSION:
                raise ServerUnusable(
                    f"the gateway lists the tools of only {MAX_SERVERS_PER_SESSION} MCP servers of a session"
                )
            server = read_server(*self._servers[name], self._sandbox)
            self._watchers[name] = self._pool.acquire(server, self._on_change, self._principal)
        except ServerUnusable as exc:
            self._failures[name] = str(exc)

    def _release(self, name: str) -> None:
        if (watcher := self._watchers.pop(name, None)) is not None:
            self._pool.release(watcher, self._on_change, self._principal)

    def _state(self, name: str) -> ServerState:
        watcher = self._watchers.get(name)
        return ServerState("failed", self._failures.get(name)) if watcher is None else watcher.state
