"""Who calls, and whose thread it is.

In: the principal that a request was authenticated as, and what it may do; an agent's id, a thread's id as the client
chose it. Out: a `Caller`, and a `ThreadKey`: the key by which runs, sessions, deliveries and events of one conversation
belong together. Two principals that choose the same thread id never share a thread.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gateway.errors import Forbidden, GatewayError, NotFound

LOCAL = "local"
"""The principal of the person at the machine, who needs no token of a token file."""
OIDC_PREFIX = "oidc:"
"""Of principals that an identity provider names. A token's name has no colon, so the two never meet."""
PROXY_PREFIX = "proxy:"
"""Of principals that a named proxy names."""

SCOPES = frozenset(("read", "run", "approve", "programs", "admin"))
"""`read`: GET requests. `run`: start and stop runs, set up and delete threads. `approve`: runs whose tool calls are
approved without a question (`approvals: "auto"`, and modes that amount to it). `programs`: runs that name programs to
start (stdio MCP servers, skills outside the workspace). `admin`: everything else."""
DEFAULT_SCOPES = frozenset(("read", "run"))
"""Of a principal for whom the operator names none."""

Credential = Literal["none", "user", "token", "oidc", "proxy"]
"""By what the gateway knows a caller: not at all, by the user of its process, a token, an identity provider's token, a
proxy's header."""

DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request, and what it may do."""

    principal: str = LOCAL
    scopes: frozenset[str] = SCOPES
    agents: frozenset[str] | None = None
    """The agents that it may use; None: all."""
    credential: Credential = "user"
    credential_id: str = ""
    """Of several credentials that a principal has one after the other, which one."""
    expires: float | None = None
    """When the credential ends, in seconds since the epoch; None: never."""
    refusal: GatewayError | None = None
    """Why the caller is not known. It may use only what is open to everybody."""

    def require(self, scope: str) -> None:
        """Raises the refusal of a caller that is not known, `Forbidden` for one that does not have the scope."""
        if self.refusal is not None:
            raise self.refusal
        if scope not in self.scopes:
            names = ", ".join(sorted(self.scopes)) or "none"
            detail = f"this needs the scope {scope!r}; the token {self.principal!r} has {names}"
            raise Forbidden(detail, code="SCOPE_MISSING", scope=scope)

    def may_use(self, agent: str) -> bool:
        return self.agents is None or agent in self.agents

    def require_agent(self, agent: str) -> None:
        """Raises `NotFound` for an agent that the caller may not use: for this caller there is no such agent."""
        if not self.may_use(agent):
            known = ", ".join(sorted(self.agents or ())) or "none"
            raise NotFound(f"there is no agent {agent!r} for this token. It may use: {known}.", code="UNKNOWN_AGENT")


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
