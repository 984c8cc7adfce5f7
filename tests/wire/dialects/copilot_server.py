"""A scripted stand-in for Copilot's SDK server: it answers and emits what a test says."""

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
    """Takes the dialect's requests, and sends it what a test says."""

    def __init__(self, start: SessionStart | None = None) -> None:
        self.dialect = CopilotDialect()
        self.dialect.start_session(start or SessionStart("/workspace", tag="s"))

    def take_requests(self) -> list[Json]:
        """The requests since the last time."""
        messages = list(self.dialect.outbox)
        self.dialect.outbox.clear()
        return [orjson.loads(message) for message in messages]

    def take_request(self, method: str) -> Json:
        return next(request for request in self.take_requests() if request.get("method") == method)

    def reply(self, request: Json, result: Any = None, error: Json | None = None) -> list[Event]:
        body = {"error": error} if error is not None else {"result": {} if result is None else result}
        return self.send_messages({"jsonrpc": "2.0", "id": request["id"], **body})

    def send_messages(self, *messages: Any) -> list[Event]:
        return self.dialect.read([orjson.dumps(message) for message in messages])

    def emit(self, kind: str, agent: str | None = None, session: str = SESSION, **data: Any) -> list[Event]:
        event: Json = {"type": kind, "data": data, **({"agentId": agent} if agent else {})}
        return self.send_messages(
            {"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": session, "event": event}}
        )

    def open_session(self, **result: Any) -> Server:
        self.reply(self.take_request("session.create"), {"sessionId": SESSION, "mode": "interactive", **result})
        return self

    def start_turn(self, text: str = "hello", approvals: Approvals = "prompt", **fields: Any) -> Json:
        """A prompt that the server has taken; the request that brought it."""
        prompt = Prompt([{"type": "text", "text": text}], "t1", approvals=approvals, **fields)
        self.dialect.prompt(prompt)
        request = self.take_request("session.send")
        self.reply(request, {"messageId": "m"})
        self.emit("user.message", content=text)
        return request


def ready_server() -> Server:
    return Server().open_session()


def server_in_turn(approvals: Approvals = "prompt") -> Server:
    server = ready_server()
    server.start_turn(approvals=approvals)
    return server
