"""A session of Hermes whose messages a test writes itself."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.hermes import Hermes

Json = dict[str, Any]
APPROVAL: Json = {"command": "rm -rf /x", "description": "delete", "choices": ["once", "session", "always", "deny"]}
DONE: Json = {"status": "complete", "text": "hi", "usage": {}}


class HermesSession:
    """An open session; with arguments, one that is still being opened."""

    def __init__(self, **start: Any) -> None:
        self.dialect = Hermes()
        self.dialect.start_session(SessionStart("/workspace", tag="s", **start))
        if not start:
            self.answers(session_id="aa11", stored_session_id="stored")

    def calls(self) -> list[tuple[str, Json]]:
        sent = [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()
        self._last = sent[-1]["id"] if sent else None
        return [(call["method"], call["params"]) for call in sent]

    def answers(self, **result: Any) -> list[Event]:
        """The response to the last request."""
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

    def prompt(self, text: str = "go", key: str = "k", **options: Any) -> list[tuple[str, Json]]:
        blocks = options.pop("blocks", [{"type": "text", "text": text}])
        self.dialect.prompt(Prompt(blocks, key, **options))
        return self.calls()

    def working(self, **options: Any) -> HermesSession:
        self.prompt(**options)
        self.answers(status="streaming")
        self.event("message.start")
        return self

    def question(self, kind: str = "approval", **payload: Any) -> Interrupt:
        [requested] = [
            event
            for event in self.event(f"{kind}.request", **(payload or APPROVAL))
            if isinstance(event, InterruptRequested)
        ]
        [question] = requested.interrupts
        return question

    def answer(self, question: Interrupt, payload: Any = None, *, cancelled: bool = False) -> list[tuple[str, Json]]:
        self.dialect.answer(question.id, Answer(question.id, "cancelled" if cancelled else "resolved", payload))
        return self.calls()
