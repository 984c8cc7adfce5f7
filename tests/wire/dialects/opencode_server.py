"""`opencode serve` by hand: what it may answer and say, in one call each."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCode

Json = dict[str, Any]
SESSION = "ses_1"


class Server:
    """A session that is there, and what the server may say of it."""

    def __init__(self, **prompt: Any) -> None:
        self.dialect = OpenCode()
        self.dialect.start_session(SessionStart("/workspace", tag="s"))
        self.answer({"id": SESSION})
        self.prompt(**prompt)

    def prompt(self, **prompt: Any) -> None:
        self.dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k", **prompt))

    def sent(self) -> list[Json]:
        found = [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()
        return found

    def answer(self, body: Any, status: int = 200) -> list[Event]:
        """To the last call."""
        return self.read({"id": self.sent()[-1]["id"], "status": status, "body": body})

    def event(self, kind: str, session: str = SESSION, **properties: Any) -> list[Event]:
        return self.read({"id": "evt_1", "type": kind, "properties": {"sessionID": session, **properties}})

    def read(self, *told: Json) -> list[Event]:
        return self.dialect.read([orjson.dumps(each) for each in told])

    def busy(self, session: str = SESSION) -> None:
        assert self.event("session.status", session, status={"type": "busy"}) == []

    def writes(self, message: str = "msg_1", session: str = SESSION, **info: Any) -> list[Event]:
        told = {"id": message, "role": "assistant", "providerID": "p", "modelID": "m", "time": {}, **info}
        return self.event("message.updated", session, info=told)

    def done(self, message: str = "msg_1", session: str = SESSION, **info: Any) -> list[Event]:
        return self.writes(message, session, time={"completed": 2}, **info)

    def part(self, part: str, kind: str, message: str = "msg_1", session: str = SESSION, **fields: Any) -> list[Event]:
        told = {"id": part, "type": kind, "messageID": message, **fields}
        return self.event("message.part.updated", session, part=told)

    def tool(self, status: str, session: str = SESSION, **state: Any) -> list[Event]:
        told = {"status": status, **state}
        return self.part("prt_t", "tool", session=session, tool="bash", callID="call_1", state=told)

    def asks(self, request: str = "per_1", session: str = SESSION, call: str = "call_1") -> list[Event]:
        tool = {"messageID": "msg_1", "callID": call}
        asked = {"permission": "bash", "patterns": ["ls"], "metadata": {"command": "ls"}, "always": ["ls *"]}
        return self.event("permission.asked", session, id=request, tool=tool, **asked)

    def idle(self, session: str = SESSION) -> list[Event]:
        return self.event("session.idle", session)


def working(**prompt: Any) -> Server:
    server = Server(**prompt)
    server.answer(None, 204)
    server.busy()
    server.writes()
    return server


def begun(begin: SessionStart) -> OpenCode:
    dialect = OpenCode()
    dialect.start_session(begin)
    return dialect


def heard(dialect: OpenCode, body: Any, status: int = 200) -> list[Event]:
    call = orjson.loads(dialect.outbox[-1])
    return dialect.read([orjson.dumps({"id": call["id"], "status": status, "body": body})])


def last(dialect: OpenCode) -> Json:
    call: Json = orjson.loads(dialect.outbox[-1])
    return {key: call[key] for key in ("method", "path", "body")}


def idle() -> OpenCode:
    dialect = begun(SessionStart("/w"))
    heard(dialect, {"id": SESSION})
    dialect.outbox.clear()
    return dialect
