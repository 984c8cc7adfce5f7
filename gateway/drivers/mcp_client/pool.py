"""The MCP servers of all sessions, each distinct one asked once for as long as a session has it.

In: the servers that a session was opened with. Out: what is known of each now. Nobody waits here: until something is
known of a server it is `connecting`. The number of servers is bounded. One that failed is not tried again by itself,
nor by a session that comes soon after; a run that begins later tries it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from gateway.background import Tasks
from gateway.drivers.mcp_client.server_config import Server, Unusable, read, transport
from gateway.drivers.mcp_client.watcher import Changed, ServerWatcher, State

AGAIN = 30.0
"""Seconds until a server that failed may be tried again."""
AT_ONCE = 8
"""Servers that start at the same time."""
MOST = 64
"""Distinct servers at the same time."""
MOST_EACH = 16
"""Of one session."""


@dataclass(frozen=True, slots=True)
class Known:
    transport: str
    state: State


class McpServers:
    def __init__(self, tasks: Tasks, *, private: bool, stdio: bool = True) -> None:
        """`private`: clients may name private addresses, and loopback. `stdio`: they may name commands."""
        self._tasks, self._private, self._stdio = tasks, private, stdio
        self._gate = anyio.Semaphore(AT_ONCE)
        self._asked: dict[Server, ServerWatcher] = {}

    def use(self, servers: Sequence[Mapping[str, Any]], cwd: Path, changed: Changed) -> Using:
        """For a session that was opened with these; `changed` is called when one of them is another."""
        return Using(self, servers, cwd, changed)

    def take(self, server: Server, changed: Changed) -> ServerWatcher:
        """Raises `Unusable` where the bounds are reached, or the operator does not want it."""
        if server.kind == "stdio" and not self._stdio:
            raise Unusable("the gateway starts no MCP servers (probe_mcp_stdio is off); the agent has it all the same")
        self._forget()
        asked = self._asked.get(server)
        if asked is None:
            if sum(one.state.status != "failed" for one in self._asked.values()) >= MOST:
                raise Unusable(f"{MOST} MCP servers are asked for their tools already; a later run tries again")
            asked = self._asked[server] = ServerWatcher(server, private=self._private)
            self._tasks.start_soon(asked.live, self._gate)
        asked.users.append(changed)
        return asked

    def leave(self, asked: ServerWatcher, changed: Changed) -> None:
        asked.users.remove(changed)
        if not asked.users and asked.state.status != "failed":
            asked.leave()
            if self._asked.get(asked.server) is asked:
                del self._asked[asked.server]

    def _forget(self) -> None:
        """Those that failed long enough ago."""
        for server, asked in list(self._asked.items()):
            if may_try_again(asked):
                del self._asked[server]


def may_try_again(asked: ServerWatcher) -> bool:
    return asked.state.status == "failed" and time.monotonic() > asked.since + AGAIN


class Using:
    """The servers of one session, by the names that it has for them."""

    def __init__(self, pool: McpServers, servers: Sequence[Mapping[str, Any]], cwd: Path, changed: Changed) -> None:
        self._pool, self._changed = pool, changed
        named = {str(server["name"]): server for server in reversed(servers) if server.get("name")}
        self._servers = {name: (server, cwd) for name, server in reversed(named.items())}
        self._asked: dict[str, ServerWatcher] = {}
        self._failed: dict[str, str] = {}
        for name in self._servers:
            self._ask(name)

    @property
    def known(self) -> dict[str, Known]:
        return {name: Known(transport(server), self._state(name)) for name, (server, _) in self._servers.items()}

    def again(self) -> None:
        """A run begins: what failed long enough ago is tried once more."""
        for name in self._servers:
            asked = self._asked.get(name)
            if asked is None or may_try_again(asked):
                self._let_go(name)
                self._ask(name)

    def leave(self) -> None:
        """The session is over. May be called twice."""
        for name in list(self._asked):
            self._let_go(name)

    def _ask(self, name: str) -> None:
        self._failed.pop(name, None)
        try:
            if len(self._asked) >= MOST_EACH:
                raise Unusable(f"only {MOST_EACH} MCP servers of a session are asked for their tools")
            self._asked[name] = self._pool.take(read(*self._servers[name]), self._changed)
        except Unusable as exc:
            self._failed[name] = str(exc)

    def _let_go(self, name: str) -> None:
        if (asked := self._asked.pop(name, None)) is not None:
            self._pool.leave(asked, self._changed)

    def _state(self, name: str) -> State:
        asked = self._asked.get(name)
        return State("failed", self._failed.get(name)) if asked is None else asked.state
