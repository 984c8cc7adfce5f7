"""A session of Hermes for tests that say themselves what Hermes says."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.hermes import Hermes

Json = dict[str, Any]
ASKED: Json = {"command": "rm -rf /x", "description": "delete", "choices": ["once", "session", "always", "deny"]}
DONE: Json = {"status": "complete", "text": "hi", "usage": {}}


class Live:
    """A session of Hermes that was begun."""

    def __init__(self, **begin: Any) -> None:
        self.dialect = Hermes()
        self.dialect.start_session(SessionStart("/workspace", tag="s", **begin))
        if not begin:
            self.answers(session_id="aa11", stored_session_id="stored")

    def calls(self) -> list[tuple[str, Json]]:
        sent = [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()
        self._last = sent[-1]["id"] if sent else None
        return [(call["method"], call["params"]) for call in sent]

    def answers(self, **result: Any) -> list[Event]:
        """To the last call."""
        return self._answer({"result": result})

    def refuses(self, code: int, message: str) -> list[Event]:
        return self._answer({"error": {"code": code, "message": message}})

    def _answer(self, answer: Json) -> list[Event]:
        if self.dialect.outbox:
            self.calls()
        return self.dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": self._last, **answer})])

    def event(self, kind: str, live: str = "aa11", **payload: Any) -> list[Event]:
        params = {"type": kind, "session_id": live, "payload": payload}
        return self.dialect.read([orjson.dumps({"jsonrpc": "2.0", "method": "event", "params": params})])

    def prompt(self, text: str = "go", key: str = "k", **wishes: Any) -> list[tuple[str, Json]]:
        blocks = wishes.pop("blocks", [{"type": "text", "text": text}])
        self.dialect.prompt(Prompt(blocks, key, **wishes))
        return self.calls()

    def working(self, **wishes: Any) -> Live:
        self.prompt(**wishes)
        self.answers(status="streaming")
        self.event("message.start")
        return self

    def question(self, kind: str = "approval", **payload: Any) -> Interrupt:
        [asked] = [
            event
            for event in self.event(f"{kind}.request", **(payload or ASKED))
            if isinstance(event, InterruptRequested)
        ]
        [question] = asked.interrupts
        return question

    def answer(self, question: Interrupt, payload: Any = None, *, cancelled: bool = False) -> list[tuple[str, Json]]:
        self.dialect.answer(question.id, Answer(question.id, "cancelled" if cancelled else "resolved", payload))
        return self.calls()
