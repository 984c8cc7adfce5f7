"""The other side of the dialect for Copilot's SDK server, in a test's hands."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event
from gateway.turn import Approvals
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect

Json = dict[str, Any]
SESSION = "5e551017-0000-4000-8000-000000000000"


class Server:
    """The other side: takes the dialect's requests, and says what a test lets it say."""

    def __init__(self, begin: SessionStart | None = None) -> None:
        self.dialect = CopilotDialect()
        self.dialect.start_session(begin or SessionStart("/workspace", tag="s"))

    def asked(self) -> list[Json]:
        """The requests since the last time."""
        messages, self.dialect.outbox = self.dialect.outbox, []
        return [orjson.loads(message) for message in messages]

    def request(self, method: str) -> Json:
        return next(request for request in self.asked() if request.get("method") == method)

    def reply(self, request: Json, result: Any = None, error: Json | None = None) -> list[Event]:
        body = {"error": error} if error is not None else {"result": {} if result is None else result}
        return self.say({"jsonrpc": "2.0", "id": request["id"], **body})

    def say(self, *messages: Any) -> list[Event]:
        return self.dialect.read([orjson.dumps(message) for message in messages])

    def tell(self, kind: str, agent: str | None = None, session: str = SESSION, **data: Any) -> list[Event]:
        event: Json = {"type": kind, "data": data, **({"agentId": agent} if agent else {})}
        return self.say({"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": session, "event": event}})

    def open(self, **told: Any) -> Server:
        self.reply(self.request("session.create"), {"sessionId": SESSION, "mode": "interactive", **told})
        return self

    def turn(self, words: str = "hello", approvals: Approvals = "prompt", **fields: Any) -> Json:
        """A prompt that the server has taken; the request that brought it."""
        prompt = Prompt([{"type": "text", "text": words}], "t1", approvals=approvals, **fields)
        self.dialect.prompt(prompt)
        request = self.request("session.send")
        self.reply(request, {"messageId": "m"})
        self.tell("user.message", content=words)
        return request


def ready() -> Server:
    return Server().open()


def in_turn(approvals: Approvals = "prompt") -> Server:
    server = ready()
    server.turn(approvals=approvals)
    return server
