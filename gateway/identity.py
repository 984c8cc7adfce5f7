"""Who calls, and whose thread it is.

In: the principal that a request was authenticated as, and what it may do; an agent's id, a thread's id as the client
chose it. Out: a `Caller`, and a `ThreadKey`: the key by which runs, sessions, deliveries and events of one conversation
belong together. Two principals that choose the same thread id never share a thread.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

from gateway.errors import Forbidden

LOCAL = "local"
"""The principal of a request without a token, where the gateway asks for none."""

SCOPES = frozenset(("read", "run", "approve", "programs", "admin"))
"""`read`: GET requests. `run`: start and stop runs, set up and delete threads. `approve`: runs whose tool calls are
approved without a question (`approvals: "auto"`). `programs`: runs that name programs to start (stdio MCP servers,
skills outside the workspace). `admin`: everything else."""

DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request, and what it may do."""

    principal: str = LOCAL
    scopes: frozenset[str] = SCOPES
    agents: frozenset[str] | None = None
    """The agents that it may use; None: all."""

    def require(self, scope: str) -> None:
        """Raises `Forbidden` when the caller does not have the scope."""
        if scope not in self.scopes:
            names = ", ".join(sorted(self.scopes)) or "none"
            detail = f"this needs the scope {scope!r}; the token {self.principal!r} has {names}"
            raise Forbidden(detail, code="SCOPE_MISSING", scope=scope)


class ThreadKey(NamedTuple):
    agent: str
    thread_id: str
    principal: str

    @property
    def remote_id(self) -> str:
        """The thread's id at another endpoint, which sees all clients of this gateway as one client. Threads of two
        principals that have the same id here must not be one conversation there."""
        if self.principal == LOCAL:
            return self.thread_id
        return f"{self.thread_id}~{hashlib.sha256(self.principal.encode()).hexdigest()[:DIGEST_CHARS]}"
