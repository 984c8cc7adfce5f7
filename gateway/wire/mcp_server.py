"""The client's own tools as an MCP server: an agent's messages in, replies out, no IO.

In: lines of one connection, and the client's tools as AG-UI writes them. Out: the replies, and the calls that somebody
else has to answer (`ToolCall`), or no longer (`GaveUp`). Several connections may serve the same tools: an agent starts
its server as often as it likes. Never: a prompt, a resource, a task; an agent that asks for one is told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from gateway.turn import Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, blocks, by_safe_name, described, schema
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
"""What agents know the server by, and put before the names of its tools."""
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of MCP, the newest first. What is served here is the same in all of them."""
ABOUT: Json = {
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": SERVER, "title": "The application", "version": "1"},
}
OPEN_CALLS = 64
"""Of one connection at once."""
CALL_IDS = ("claudecode/toolUseId", "callId")
"""Where agents put their own id of a call into its `_meta`: claude, codex."""
WAITING = "waiting for the application"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent calls a tool, and waits until `ToolServer.result`."""

    number: Id
    name: str
    """As the agent was told it."""
    arguments: Json
    agents_id: str | None = None
    """Its own id of the call, in its own conversation."""
    progress: Id = None
    """The token to tell it by that the call is still waited for."""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The agent no longer waits for this call."""

    number: Id


class Offer:
    """The tools of one session, whoever is connected."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.edition = 0
        """Grows with every change."""

    def change(self, tools: Sequence[Tool]) -> bool:
        """Whether these are others than before."""
        before, self.tools = self.tools, by_safe_name(tools)
        changed = before != self.tools
        self.edition += changed
        return changed

    def listed(self) -> list[Json]:
        # Agents that hold tools back until their model searches for them take this for "show it at once".
        always = {"anthropic/alwaysLoad": True}
        return [
            {"name": name, "description": described(tool), "inputSchema": schema(tool), "_meta": always}
            for name, tool in self.tools.items()
        ]


class ToolServer:
    """One connection. What it has to say is in `outbox`, to be sent after every call of a method."""

    def __init__(self, offer: Offer) -> None:
        self._offer, self._rpc = offer, JsonRpc()
        self._open: set[Id] = set()
        self.outbox: list[bytes] = []
        self.ready = False
        """The agent may be told of changes."""
        self._listed = -1
        """The edition of the tools that it has asked for last."""
        self._known = -1
        """…that it has certainly read."""
        self._pings: dict[Id, int] = {}
        """Sent behind a list of tools → which edition that was: who answers has read the list."""

    @property
    def asked(self) -> bool:
        """The agent has asked for the tools as they are, or will before it uses any."""
        return not self.ready or self._listed == self._offer.edition

    @property
    def knows(self) -> bool:
        """…and has read the answer."""
        return not self.ready or self._known == self._offer.edition

    def read(self, lines: Iterable[bytes | TooLong]) -> list[ToolCall | GaveUp]:
        found = (self._read(message) for message in self._rpc.read(lines))
        return [one for one in found if one is not None]

    def changed(self) -> None:
        """Tells the agent that the tools are others."""
        if self.ready:
            self.outbox.append(self._rpc.notification("notifications/tools/list_changed", {}))

    def waiting(self, call: ToolCall, count: int) -> None:
        """Tells it that the call is still waited for: agents that would give it up by the clock begin anew."""
        if call.progress is not None and call.number in self._open:
            told = {"progressToken": call.progress, "progress": count, "message": WAITING}
            self.outbox.append(self._rpc.notification("notifications/progress", told))

    def result(self, call: ToolCall, answer: Answer) -> None:
        if call.number in self._open:
            self._open.discard(call.number)
            content, failed = blocks(answer)
            self._reply(call.number, {"content": content, "isError": failed})

    def _read(self, message: object) -> ToolCall | GaveUp | None:
        match message:
            case Request(number, "tools/call", params):
                return self._call(number, obj(params))
            case Request():
                self._answer(message)
            case Response(number) if number in self._pings:
                self._known = self._pings.pop(number)
            case Notification("notifications/initialized"):
                self.ready = True
            case Notification("notifications/cancelled", {"requestId": int() | str() as number}) if (
                number in self._open
            ):
                self._open.discard(number)  # MCP wants no answer to it any more
                return GaveUp(number)
        return None

    def _given_up(self, number: Id) -> GaveUp | None:
        """MCP wants no answer to it any more."""
        known = number in self._open
        self._open.discard(number)
        return GaveUp(number) if known else None

    def _answer(self, request: Request) -> None:
        match request.method:
            case "initialize":
                asked = non_empty(obj(request.params).get("protocolVersion"))
                version = asked if asked in VERSIONS else VERSIONS[0]
                self._reply(request.id, {"protocolVersion": version, **ABOUT})
            case "tools/list":
                self._list(request.id)
            case "ping":
                self._reply(request.id, {})
            case method:
                self._refuse(request.id, METHOD_NOT_FOUND, f"{method} is not served here")

    def _list(self, number: Id) -> None:
        first, self._listed = self._listed < 0, self._offer.edition
        self._reply(number, {"tools": self._offer.listed()})
        if first:  # it has none before it has read these
            self._known = self._listed
            return
        ping, line = self._rpc.request("ping", {})
        self._pings[ping] = self._listed
        self.outbox.append(line)

    def _call(self, number: Id, params: Json) -> ToolCall | None:
        name, arguments, meta = params.get("name"), params.get("arguments"), obj(params.get("_meta"))
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            self._refuse(number, INVALID_PARAMS, "a call has a name, and an object of arguments")
        elif number in self._open or len(self._open) >= OPEN_CALLS:
            why = "a call with this id is open" if number in self._open else f"{OPEN_CALLS} calls are open"
            self._refuse(number, INVALID_REQUEST, why)
        elif name not in self._offer.tools:
            self._reply(number, {"content": [{"type": "text", "text": NOT_OFFERED}], "isError": True})
        else:
            self._open.add(number)
            own = next((told for key in CALL_IDS if (told := non_empty(meta.get(key)))), None)
            return ToolCall(number, name, arguments or {}, own, _token(meta.get("progressToken")))
        return None

    def _reply(self, number: Id, result: Json) -> None:
        self.outbox.append(self._rpc.result(number, result))

    def _refuse(self, number: Id, code: int, message: str) -> None:
        self.outbox.append(self._rpc.error(number, code, message))


def _token(told: Any) -> Id:
    return told if isinstance(told, int | str) and not isinstance(told, bool) else None
