"""JSON-RPC 2.0 in both directions over lines. Ids and correlation; nothing of any one protocol.

In: lines of bytes. Out: what the peer asks, tells and answers. Our own requests are remembered until they are
answered, so that an answer comes with its method. What is no JSON-RPC is handed on as `Noise`, never fatal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from gateway.errors import NotJson
from gateway.jsonio import dumps, loads
from gateway.wire.lines import TooLong

Id: TypeAlias = int | str | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

UNPARSED = object()
FEW = 3
"""So few lines are read one by one."""


@dataclass(frozen=True, slots=True)
class Request:
    """The peer asks; it must be answered with this id."""

    id: Id
    method: str
    params: Any


@dataclass(slots=True)
class Notification:
    """The peer tells. Not frozen: one is made for every token."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Fault:
    """The peer's error object."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request of ours."""

    id: Id
    method: str
    result: Any = None
    error: Fault | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is no JSON-RPC message, or an answer to nothing that was asked."""

    line: bytes
    why: str


Incoming: TypeAlias = Request | Notification | Response | Noise


class JsonRpc:
    """One connection's book-keeping."""

    def __init__(self) -> None:
        self._next = 0
        self._asked: dict[Id, str] = {}

    # -- what we send

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        number = self._next
        line = _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._next += 1
        self._asked[number] = method
        return number, line

    def notification(self, method: str, params: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "method": method, "params": params})

    def result(self, request_id: Id, result: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "id": request_id, "result": result})

    def error(self, request_id: Id, code: int, message: str, data: Any = None) -> bytes:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        return _line({"jsonrpc": "2.0", "id": request_id, "error": error})

    def forget(self, number: int) -> None:
        """Nobody waits for this answer any more; should it come, it is noise."""
        self._asked.pop(number, None)

    @property
    def waiting(self) -> int:
        return len(self._asked)

    # -- what comes

    def read(self, lines: Iterable[bytes | TooLong]) -> list[Incoming]:
        whole = list(lines)
        found: list[Incoming] = []
        for line, message in zip(whole, _parsed(whole), strict=True):
            # The one that comes for every token is recognised without further ado.
            if type(message) is dict and "id" not in message and type(message.get("method")) is str:
                found.append(Notification(message["method"], message.get("params")))
            elif isinstance(line, TooLong):
                found.append(Noise(line.start, f"a line of {line.size} bytes, longer than the limit"))
            elif message is UNPARSED:
                found.extend(self._by_hand(line))
            else:
                found.extend(self._message(message, line))
        return found

    def _by_hand(self, line: bytes) -> Iterator[Incoming]:
        try:
            message = loads(line)
        except NotJson:
            yield Noise(line, "not JSON")
            return
        yield from self._message(message, line)

    def _message(self, message: Any, line: bytes) -> Iterator[Incoming]:
        if isinstance(message, list) and message:  # a batch, which no peer should send: each element counts
            for element in message:
                yield self._one(element, line)
        else:
            yield self._one(message, line)

    def _one(self, message: Any, line: bytes) -> Incoming:
        match message:
            case {"method": str(method), "id": request_id} if _is_id(request_id):
                return Request(request_id, method, message.get("params"))
            case {"method": str(method)} if "id" not in message:
                return Notification(method, message.get("params"))
            case {"id": request_id} if "method" not in message and ("result" in message or "error" in message):
                return self._response(request_id, message, line)
            case _:
                return Noise(line, "neither a request nor an answer")

    def _response(self, request_id: Any, message: dict[str, Any], line: bytes) -> Incoming:
        method = self._asked.pop(request_id, None) if _is_id(request_id) else None
        if method is None:
            return Noise(line, "an answer to what was not asked, or is answered already")
        error = message.get("error")
        return Response(request_id, method, message.get("result"), None if error is None else _fault(error))


def _is_id(value: Any) -> bool:
    return value is None or type(value) in (int, str)  # a bool is an int to Python, and equal to one


def _parsed(lines: list[bytes | TooLong]) -> list[Any]:
    """Each line's value, or `UNPARSED`. A batch is read as one list, in one call, at half the cost; if that fails, or
    gives another number of values, some line was no JSON, and each is read by itself."""
    if len(lines) > FEW and not any(isinstance(line, TooLong) for line in lines):
        try:
            values: list[Any] = orjson.loads(b"[%b]" % b",".join(lines))  # type: ignore[arg-type]  # looked at above
        except orjson.JSONDecodeError:
            values = []
        if len(values) == len(lines):
            return values
    return [_value(line) for line in lines]


def _value(line: bytes | TooLong) -> Any:
    try:
        return UNPARSED if isinstance(line, TooLong) else orjson.loads(line)
    except orjson.JSONDecodeError:
        return UNPARSED


def _fault(error: Any) -> Fault:
    match error:
        case {"code": int(code)}:
            return Fault(code, _text(error.get("message")), error.get("data"))
        case {}:
            return Fault(INTERNAL_ERROR, _text(error.get("message")), error.get("data"))
        case _:
            return Fault(INTERNAL_ERROR, _text(error), error)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _line(message: dict[str, Any]) -> bytes:
    return dumps(message) + b"\n"
