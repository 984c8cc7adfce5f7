"""The client's own tools as an MCP server (https://modelcontextprotocol.io/specification/2025-11-25/server/tools).

In: the messages of one connection, and the client's tools. Out: replies, and the calls that the client has to answer
(`ToolCall`) or need not answer any more (`CallCancelled`). Several connections may serve the same tools: an agent
starts its server as often as it likes. Never: IO; a prompt, a resource or a task, which are refused as unknown methods.

`ToolServer` is a connection over JSON-RPC lines. A dialect whose agent wraps MCP messages in its own protocol uses
`result_of` and `call_result` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gateway.turn import Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description
from gateway.wire.fields import non_empty, obj
from gateway.wire.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Id,
    JsonRpc,
    Notification,
    Request,
    Response,
)
from gateway.wire.lines import TooLong

Json: TypeAlias = dict[str, Any]

SERVER = "agui"
"""The server's name. Agents put it before the names of its tools."""
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of MCP, the newest first. What is served here is the same in all of them."""
SERVER_INFO: Json = {
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": SERVER, "title": "The application", "version": "1"},
}
MAX_OPEN_CALLS = 64
"""Open calls of one connection."""
CALL_ID_KEYS = ("claudecode/toolUseId", "callId")
"""Where agents put their own id of a call into its `_meta`: claude, codex."""
PROGRESS_MESSAGE = "waiting for the application"
NOT_OFFERED_RESULT: Json = {"content": [{"type": "text", "text": NOT_OFFERED}], "isError": True}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent calls a tool, and waits until `ToolServer.answer`."""

    request_id: Id
    name: str
    """The name that the agent knows."""
    arguments: Json
    agent_call_id: str | None = None
    """The agent's own id of the call, in its conversation."""
    progress_token: Id = None
    """For notifications that the call is still open."""


@dataclass(frozen=True, slots=True)
class CallCancelled:
    """The agent no longer waits for this call."""

    request_id: Id


class Offer:
    """The tools of one session, for all its connections."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.edition = 0
        """Grows with every change."""

    def change(self, tools: Sequence[Tool]) -> bool:
        """Whether these tools are others than before."""
        before = self.tools
        self.tools = by_safe_name(tools)
        has_changed = before != self.tools
        self.edition += has_changed
        return has_changed

    def to_json(self) -> list[Json]:
        """The tools as `tools/list` has them."""
        # Agents that keep tools back until their model searches for them load these at once.
        meta = {"anthropic/alwaysLoad": True}
        return [
            {"name": name, "description": tool_description(tool), "inputSchema": input_schema(tool), "_meta": meta}
            for name, tool in self.tools.items()
        ]


def result_of(method: str, params: Any, offer: Offer) -> Json | None:
    """The result of a request that the server answers by itself. None: `tools/call`, or not served here."""
    match method:
        case "initialize":
            client_version = non_empty(obj(params).get("protocolVersion"))
            version = client_version if client_version in VERSIONS else VERSIONS[0]
            return {"protocolVersion": version, **SERVER_INFO}
        case "tools/list":
            return {"tools": offer.to_json()}
        case "ping":
            return {}
        case _:
            return None


def call_result(answer: Answer) -> Json:
    """The result of `tools/call`, from the client's answer."""
    content, is_error = result_blocks(answer)
    return {"content": content, "isError": is_error}


def agent_call_id(params: Any) -> str | None:
    """The agent's own id of a call, from the params of `tools/call`."""
    meta = obj(obj(params).get("_meta"))
    return next((call_id for key in CALL_ID_KEYS if (call_id := non_empty(meta.get(key)))), None)


class ToolServer:
    """One connection. Its messages for the agent are in `outbox`, to be sent after every call of a method."""

    def __init__(self, offer: Offer, on_list: Callable[[], object] = lambda: None) -> None:
        """`on_list`: called when the agent asks for the tools."""
        self._offer = offer
        self._on_list = on_list
        self._rpc = JsonRpc()
        self._open: set[Id] = set()
        self.outbox: list[bytes] = []
        self.is_ready = False
        """The agent takes notifications of changes."""
        self._listed_edition = -1
        """The edition of the tools that the agent has asked for last."""
        self._read_edition = -1
        """The edition that it has certainly read."""
        self._pings: dict[Id, int] = {}
        """Pings sent behind a list of tools → its edition: an agent that answers one has read the list."""

    @property
    def has_listed_tools(self) -> bool:
        """The agent has asked for the tools as they are, or will before it uses any."""
        return not self.is_ready or self._listed_edition == self._offer.edition

    @property
    def has_read_tools(self) -> bool:
        """The agent has read the tools as they are, or will before it uses any."""
        return not self.is_ready or self._read_edition == self._offer.edition

    def read(self, lines: Iterable[bytes | TooLong]) -> list[ToolCall | CallCancelled]:
        read = (self._read(message) for message in self._rpc.read(lines))
        return [message for message in read if message is not None]

    def announce_change(self) -> None:
        """Notify the agent that the tools have changed."""
        if self.is_ready:
            self.outbox.append(self._rpc.notification("notifications/tools/list_changed", {}))

    def report_progress(self, call: ToolCall, count: int) -> None:
        """Notify the agent that the call is still open: agents with a time limit then start it again."""
        if call.progress_token is not None and call.request_id in self._open:
            params = {"progressToken": call.progress_token, "progress": count, "message": PROGRESS_MESSAGE}
            self.outbox.append(self._rpc.notification("notifications/progress", params))

    def answer(self, call: ToolCall, answer: Answer) -> None:
        """Send the client's result; nothing if the agent has cancelled the call."""
        if call.request_id in self._open:
            self._open.discard(call.request_id)
            self._reply(call.request_id, call_result(answer))

    def _read(self, message: object) -> ToolCall | CallCancelled | None:
        match message:
            case Request(request_id, "tools/call", params):
                return self._call(request_id, obj(params))
            case Request():
                self._answer(message)
            case Response(request_id) if request_id in self._pings:
                self._read_edition = self._pings.pop(request_id)
            case Notification("notifications/initialized"):
                self.is_ready = True
            case Notification("notifications/cancelled", {"requestId": int() | str() as request_id}) if (
                request_id in self._open
            ):
                self._open.discard(request_id)  # MCP forbids an answer to it
                return CallCancelled(request_id)
        return None

    def _answer(self, request: Request) -> None:
        result = result_of(request.method, request.params, self._offer)
        if result is None:
            self._refuse(request.id, METHOD_NOT_FOUND, f"{request.method} is not served here")
            return
        self._reply(request.id, result)
        if request.method == "tools/list":
            self._on_list()
            self._ping_behind_list()

    def _ping_behind_list(self) -> None:
        is_first = self._listed_edition < 0
        self._listed_edition = self._offer.edition
        if is_first:  # the agent knows no tools before it has read these
            self._read_edition = self._listed_edition
            return
        ping, line = self._rpc.request("ping", {})
        self._pings[ping] = self._listed_edition
        self.outbox.append(line)

    def _call(self, request_id: Id, params: Json) -> ToolCall | None:
        name = params.get("name")
        arguments = params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            self._refuse(request_id, INVALID_PARAMS, "a call has a name, and an object of arguments")
        elif request_id in self._open:
            self._refuse(request_id, INVALID_REQUEST, "a call with this id is open")
        elif len(self._open) >= MAX_OPEN_CALLS:
            self._refuse(request_id, INVALID_REQUEST, f"{MAX_OPEN_CALLS} calls are open")
        elif name not in self._offer.tools:
            self._reply(request_id, NOT_OFFERED_RESULT)
        else:
            self._open.add(request_id)
            token = obj(params.get("_meta")).get("progressToken")
            return ToolCall(request_id, name, arguments or {}, agent_call_id(params), _progress_token(token))
        return None

    def _reply(self, request_id: Id, result: Json) -> None:
        self.outbox.append(self._rpc.result(request_id, result))

    def _refuse(self, request_id: Id, code: int, message: str) -> None:
        self.outbox.append(self._rpc.error(request_id, code, message))


def _progress_token(token: Any) -> Id:
    return token if isinstance(token, int | str) and not isinstance(token, bool) else None
