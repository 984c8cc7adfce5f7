"""JSON-RPC 2.0 (https://www.jsonrpc.org/specification) in both directions over lines.

In: lines of bytes. Out: the peer's requests, notifications and responses. The gateway's own requests are remembered
until they are answered, so that a response comes with its method. A line that is no JSON-RPC becomes `Noise`. Never:
the methods of any one protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from gateway.errors import NotJson
from gateway.jsonio import dumps, is_deeper, loads
from gateway.wire.fields import MESSAGE_MAX_DEPTH
from gateway.wire.lines import TooLong

Id: TypeAlias = int | str | None

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

UNPARSED = object()
MIN_BATCH_LINES = 4
"""Fewer lines than this are parsed one by one."""


@dataclass(frozen=True, slots=True)
class Request:
    """The peer's request; it must be answered with this id."""

    id: Id
    method: str
    params: Any


@dataclass(slots=True)
class Notification:
    """The peer's notification. Not frozen: one is made for every token."""

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
    """The answer to one of our requests."""

    id: Id
    method: str
    result: Any = None
    error: Fault | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is no JSON-RPC message, or answers no open request."""

    line: bytes
    why: str


Incoming: TypeAlias = Request | Notification | Response | Noise


class JsonRpc:
    """The state of one connection: our open requests."""

    def __init__(self) -> None:
        self._next = 0
        self._methods: dict[Id, str] = {}

    # -- what we send

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        number = self._next
        line = _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._next += 1
        self._methods[number] = method
        return number, line

    def notification(self, method: str, params: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "method": method, "params": params})

    def result(self, request_id: Id, result: Any) -> bytes:
        return _line({"jsonrpc": "2.0", "id": request_id, "result": result})

    def error(self, request_id: Id, code: int, message: str, data: Any = None) -> bytes:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        return _line({"jsonrpc": "2.0", "id": request_id, "error": error})

    def forget(self, number: int) -> None:
        """The answer to this request is not needed any more; if it comes, it is noise."""
        self._methods.pop(number, None)

    @property
    def waiting(self) -> int:
        return len(self._methods)

    # -- what comes

    def read(self, lines: Iterable[bytes | TooLong]) -> list[Incoming]:
        whole = list(lines)
        incoming: list[Incoming] = []
        for line, message in zip(whole, _parse_lines(whole), strict=True):
            # Fast path for the notification that comes for every token.
            if type(message) is dict and "id" not in message and type(message.get("method")) is str:
                incoming.append(Notification(message["method"], message.get("params")))
            elif isinstance(line, TooLong):
                incoming.append(Noise(line.start, f"a line of {line.size} bytes, longer than the limit"))
            elif message is UNPARSED:
                incoming.extend(self._read_line(line))
            else:
                incoming.extend(self._message(message, line))
        return incoming

    def _read_line(self, line: bytes) -> Iterator[Incoming]:
        try:
            message = loads(line, MESSAGE_MAX_DEPTH)
        except NotJson:
            yield Noise(line, "not JSON, or nested too deep")
            return
        yield from self._message(message, line)

    def _message(self, message: Any, line: bytes) -> Iterator[Incoming]:
        if isinstance(message, list) and message:  # a batch: no peer should send one, but each element counts
            for element in message:
                yield self._classify(element, line)
        else:
            yield self._classify(message, line)

    def _classify(self, message: Any, line: bytes) -> Incoming:
        match message:
            case {"method": str(method), "id": request_id} if _is_request_id(request_id):
                return Request(request_id, method, message.get("params"))
            case {"method": str(method)} if "id" not in message:
                return Notification(method, message.get("params"))
            case {"id": request_id} if "method" not in message and ("result" in message or "error" in message):
                return self._response(request_id, message, line)
            case _:
                return Noise(line, "neither a request nor an answer")

    def _response(self, request_id: Any, message: dict[str, Any], line: bytes) -> Incoming:
        method = self._methods.pop(request_id, None) if _is_request_id(request_id) else None
        if method is None:
            return Noise(line, "an answer to a request that was not sent, or is answered already")
        error = message.get("error")
        return Response(request_id, method, message.get("result"), None if error is None else _fault(error))


def _is_request_id(value: Any) -> bool:
    return value is None or type(value) in (int, str)  # a bool is an int to Python, and equal to one


def _parse_lines(lines: list[bytes | TooLong]) -> list[Any]:
    """Each line's value, or `UNPARSED`. Many lines are parsed as one list, in one call, at half the cost. If that
    fails, or gives another number of values, some line is no JSON, and each is parsed by itself."""
    whole = [line for line in lines if not isinstance(line, TooLong) and not is_deeper(line, MESSAGE_MAX_DEPTH)]
    if len(lines) >= MIN_BATCH_LINES and len(whole) == len(lines):
        try:
            values: list[Any] = orjson.loads(b"[%b]" % b",".join(whole))
        except orjson.JSONDecodeError:
            values = []
        if len(values) == len(lines):
            return values
    return [_parse_line(line) for line in lines]


def _parse_line(line: bytes | TooLong) -> Any:
    try:
        if isinstance(line, TooLong) or is_deeper(line, MESSAGE_MAX_DEPTH):
            return UNPARSED
        return orjson.loads(line)
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
