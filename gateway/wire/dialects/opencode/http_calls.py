"""Calls to `opencode serve`, each with whoever reads its answer.

Out: `{"id": "<tag>-1", "method", "path", "body"}`. In: `{"id", "status", "body"}`; status 0 with an `error` where there
was no answer at all. Calls that are made together are answered in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Event
from gateway.wire.dialects.base import Dialect, parse_message
from gateway.wire.dialects.opencode.requests import located
from gateway.wire.fields import non_empty, obj

Heard = Callable[[dict[str, Any]], list[Event]]
"""Reads the answer to a call."""


class Calling(Dialect):
    def __init__(self) -> None:
        super().__init__()
        self._called = 0
        self._waiting: dict[str, Heard] = {}

    def call(self, method: str, path: str, body: Any, heard: Heard) -> str:
        self._called += 1
        call_id = f"{self.session_start.tag}-{self._called}"
        self._waiting[call_id] = heard
        self.send({"id": call_id, "method": method, "path": located(path, self.session_start.cwd), "body": body})
        return call_id

    def forget_calls(self) -> None:
        self._waiting.clear()

    def answered(self, answer: dict[str, Any]) -> list[Event]:
        heard = self._waiting.pop(answer["id"], None)
        return [] if heard is None else heard(answer)  # None: it was made to a process before this one

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        told = obj(parse_message(message))
        if "type" not in told:
            return (non_empty(told.get("id")) or "").rpartition("-")[0] or None
        properties = obj(told.get("properties"))
        places = (properties, obj(properties.get("info")), obj(properties.get("part")))
        return next((found for place in places if (found := non_empty(place.get("sessionID")))), None)
