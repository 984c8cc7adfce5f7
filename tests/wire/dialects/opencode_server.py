"""A scripted stand-in for `opencode serve`: one method for each thing that the server may answer or report."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event
from gateway.jsonio import dumps
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCode

Json = dict[str, Any]
SESSION = "ses_1"


class Server:
    """A server with one open session, and a prompt sent to it."""

    def __init__(self, **prompt: Any) -> None:
        self.dialect = start_dialect(SessionStart("/workspace", tag="s"))
        self.answer_last_call({"id": SESSION})
        self.prompt(**prompt)

    def prompt(self, **prompt: Any) -> None:
        self.dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k", **prompt))

    def take_calls(self) -> list[Json]:
        calls = [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()
        return calls

    def answer_last_call(self, body: Any, status: int = 200) -> list[Event]:
        """The answer to the last call."""
        return self.send_messages({"id": self.take_calls()[-1]["id"], "status": status, "body": body})

    def emit(self, kind: str, session: str = SESSION, **properties: Any) -> list[Event]:
        return self.send_messages({"id": "evt_1", "type": kind, "properties": {"sessionID": session, **properties}})

    def send_messages(self, *messages: Json) -> list[Event]:
        return self.dialect.read([dumps(message) for message in messages])

    def report_busy(self, session: str = SESSION) -> None:
        assert self.emit("session.status", session, status={"type": "busy"}) == []

    def update_message(self, message: str = "msg_1", session: str = SESSION, **info: Any) -> list[Event]:
        message_info = {"id": message, "role": "assistant", "providerID": "p", "modelID": "m", "time": {}, **info}
        return self.emit("message.updated", session, info=message_info)

    def complete_message(self, message: str = "msg_1", session: str = SESSION, **info: Any) -> list[Event]:
        return self.update_message(message, session, time={"completed": 2}, **info)

    def update_part(
        self, part: str, kind: str, message: str = "msg_1", session: str = SESSION, **fields: Any
    ) -> list[Event]:
        new_part = {"id": part, "type": kind, "messageID": message, **fields}
        return self.emit("message.part.updated", session, part=new_part)

    def update_tool(self, status: str, session: str = SESSION, **state: Any) -> list[Event]:
        new_state = {"status": status, **state}
        return self.update_part("prt_t", "tool", session=session, tool="bash", callID="call_1", state=new_state)

    def ask_permission(self, request: str = "per_1", session: str = SESSION, call: str = "call_1") -> list[Event]:
        tool = {"messageID": "msg_1", "callID": call}
        request_fields = {"permission": "bash", "patterns": ["ls"], "metadata": {"command": "ls"}, "always": ["ls *"]}
        return self.emit("permission.asked", session, id=request, tool=tool, **request_fields)

    def report_idle(self, session: str = SESSION) -> list[Event]:
        return self.emit("session.idle", session)


def working_server(**prompt: Any) -> Server:
    server = Server(**prompt)
    server.answer_last_call(None, 204)
    server.report_busy()
    server.update_message()
    return server


def start_dialect(start: SessionStart, agents: list[Json] | None = None) -> OpenCode:
    """`agents`: what the server lists as its agents; None: it is too old to list them."""
    dialect = OpenCode()
    dialect.start_session(start)
    call = orjson.loads(dialect.outbox.pop())
    dialect.read([orjson.dumps({"id": call["id"], "status": 404 if agents is None else 200, "body": agents})])
    return dialect


def answer_last_call(dialect: OpenCode, body: Any, status: int = 200) -> list[Event]:
    call = orjson.loads(dialect.outbox[-1])
    return dialect.read([orjson.dumps({"id": call["id"], "status": status, "body": body})])


def last_call(dialect: OpenCode) -> Json:
    call: Json = orjson.loads(dialect.outbox[-1])
    return {key: call[key] for key in ("method", "path", "body")}


def idle_dialect() -> OpenCode:
    dialect = start_dialect(SessionStart("/w"))
    answer_last_call(dialect, {"id": SESSION})
    dialect.outbox.clear()
    return dialect
