"""A session of OpenClaw's gateway whose messages a test writes itself."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.openclaw import OpenClaw

Json = dict[str, Any]
KEY = "agent:main:x"
RUN = f"{KEY}:k"
APPROVAL: Json = {"command": "rm x", "allowedDecisions": ["allow-once", "allow-always", "deny"], "toolCallId": "c1"}


class OpenClawSession:
    """An open session; with arguments, one that is still being opened."""

    def __init__(self, **start: Any) -> None:
        self.dialect = OpenClaw()
        self._last: str | None = None
        params = {"connected": True, **start.pop("params", {})}
        self.dialect.start_session(SessionStart("/workspace", tag="s", params=params, **start))
        if not start:
            self.answers(key=KEY, entry={"permissionMode": "guarded"})

    def calls(self) -> list[tuple[str, Json]]:
        sent = [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()
        self._last = sent[-1]["id"] if sent else self._last
        return [(call["method"], call["params"]) for call in sent]

    def answers(self, **payload: Any) -> list[Event]:
        """The response to the last request."""
        return self._answer({"ok": True, "payload": payload})

    def refuses(self, message: str, **payload: Any) -> list[Event]:
        return self._answer({"ok": False, "payload": payload, "error": {"code": "UNAVAILABLE", "message": message}})

    def _answer(self, answer: Json) -> list[Event]:
        if self.dialect.outbox:
            self.calls()
        return self.read({"type": "res", "id": self._last, **answer})

    def read(self, message: Json) -> list[Event]:
        return self.dialect.read([orjson.dumps(message)])

    def event(self, name: str, **payload: Any) -> list[Event]:
        return self.read({"type": "event", "event": name, "payload": payload})

    def agent_event(self, stream: str, run: str = RUN, key: str = KEY, **data: Any) -> list[Event]:
        return self.event("agent", runId=run, sessionKey=key, stream=stream, data=data)

    def prompt(self, text: str = "go", **options: Any) -> list[tuple[str, Json]]:
        blocks = options.pop("blocks", [{"type": "text", "text": text}])
        self.dialect.prompt(Prompt(blocks, "k", **options))
        return self.calls()

    def working(self, **options: Any) -> OpenClawSession:
        self.prompt(**options)
        self.answers(status="accepted", runId=RUN)
        self.agent_event("lifecycle", phase="start")
        return self

    def request_approval(self, event: str = "exec.approval.requested", run: str = RUN, **more: Any) -> list[Event]:
        request = {**APPROVAL, **more, "sessionKey": KEY, "runId": run}
        return self.event(event, id="q1", createdAtMs=1000, expiresAtMs=31000, request=request)

    def question(self, **more: Any) -> Interrupt:
        [requested] = [event for event in self.request_approval(**more) if isinstance(event, InterruptRequested)]
        [question] = requested.interrupts
        return question

    def answer(self, question: Interrupt, payload: Any = None, *, cancelled: bool = False) -> list[tuple[str, Json]]:
        self.dialect.answer(question.id, Answer(question.id, "cancelled" if cancelled else "resolved", payload))
        return self.calls()
