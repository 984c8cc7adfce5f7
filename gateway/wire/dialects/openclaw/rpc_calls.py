"""Requests to OpenClaw's gateway and what came of them: ids, answers, tickets.

A run's request is answered twice, when it was accepted and when it is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import ActionResult, Dialect, SessionStart
from gateway.wire.dialects.openclaw.errors import rpc_fault
from gateway.wire.fields import obj

Then = Callable[[dict[str, Any], Any], list[Event]]
"""What to do with an answer: (payload, error), the latter None where it went well."""


class Calls(Dialect):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[str, Then] = {}
        self._sent = 0

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self._waiting.clear()

    def call(self, method: str, params: dict[str, Any], then: Then) -> None:
        self._sent += 1
        number = f"{self.session_start.tag}:{self._sent}"
        self._waiting[number] = then
        self.send({"type": "req", "id": number, "method": method, "params": params})

    def answered(self, answer: dict[str, Any]) -> list[Event]:
        number = answer.get("id")
        if not isinstance(number, str) or (then := self._waiting.get(number)) is None:
            return []  # to somebody else's request, or nobody waits for it any more
        payload = obj(answer.get("payload"))
        error = None if answer.get("ok") is True else obj(answer.get("error"))
        if error is not None or payload.get("status") != "accepted":
            del self._waiting[number]
        return then(payload, error)

    # -- tickets of `do`

    def ticket(self, action: str) -> str:
        self._sent += 1
        return f"{action}-{self._sent}"

    def replying(self, ticket: str, method: str, read: Callable[[Any], Any] = lambda _: None) -> Then:
        def then(payload: dict[str, Any], error: Any) -> list[Event]:
            value = rpc_fault(error, method) if error is not None else read(payload)
            self.action_results[ticket] = (
                ActionResult(error=value) if isinstance(value, AgentFault) else ActionResult(value)
            )
            return []

        return then


def nothing(payload: dict[str, Any], error: Any) -> list[Event]:
    """An answer that nobody waits for; one that came too late is nobody's error."""
    return []
