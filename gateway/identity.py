"""Whose thread it is: the key by which runs, sessions, deliveries and events of one conversation belong together.

In: an agent's id, a thread's id as the client chose it, and the principal that the request was authenticated as.
Out: one hashable key. Two principals that choose the same thread id never share a thread.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

LOCAL = "local"
"""The principal of a request without a token, where the gateway asks for none."""

DIGEST_CHARS = 12


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
