"""Calls to Hermes and what came of them: ids, answers, tickets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.dialects.base import ActionResult, Dialect, SessionStart
from gateway.wire.dialects.hermes.errors import rpc_fault

Then = Callable[[Any, Any], list[Event]]
"""What to do with an answer: (result, error), one of them None."""


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
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def answered(self, answer: dict[str, Any]) -> list[Event]:
        """An answer to somebody else's call, or a second one to ours, means nothing."""
        number = answer.get("id")
        then = self._waiting.pop(number, None) if isinstance(number, str) else None
        return [] if then is None else then(answer.get("result"), answer.get("error"))

    # -- tickets of `do`

    def ticket(self, action: str) -> str:
        self._sent += 1
        return f"{action}-{self._sent}"

    def replying(self, ticket: str, method: str, read: Callable[[Any], Any] = lambda told: told) -> Then:
        def then(result: Any, error: Any) -> list[Event]:
            self.replied(ticket, rpc_fault(error, method) if error is not None else read(result))
            return []

        return then

    def replied(self, ticket: str, value: Any) -> None:
        self.action_results[ticket] = (
            ActionResult(error=value) if isinstance(value, AgentFault) else ActionResult(value)
        )


def nothing(result: Any, error: Any) -> list[Event]:
    """An answer that nobody waits for; one that came too late is nobody's error."""
    return []
