"""Request bodies: valid input, derived from the gateway's own descriptions of it, and how it is spoilt.

In: a random number generator. Out: the bytes of a body. Every route that takes one gets every kind of body: what is
valid for one is wrong for the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from gateway.agui.message_input import MESSAGE_INPUT
from gateway.agui.run_input_schema import RUN_AGENT_INPUT
from gateway.agui.schema import (
    Anything,
    Flag,
    ListOf,
    Name,
    Number,
    Object,
    OneOf,
    Schema,
    TaggedUnion,
    TextOrList,
)

TEXTS = ("hello", "slow 3", "tool", "ask", "ask twice", "write", "fail", "plan", "die", "", "/", "cancel", "thread-1")
"""Messages that the demo and the scripted agents understand, among others."""
HUGE = 10**400
DEEP: Any = 0
for _ in range(150):
    DEEP = [DEEP]
WRONG_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    2**53 + 1,
    2**63 - 1,
    2**64 - 1,
    -(2**63) - 1,
    HUGE,
    "",
    "x",
    "x" * 5000,
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "\n\r\t\x7f\x9f",
    "%00%2e%2e/../..",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://127.0.0.1:9/",
    "\U0001f600" * 3,
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"type": []},
    [{"type": "text", "text": 7}],
    DEEP,
    {"a": DEEP},
    list(range(50)),
)


def wrong_value(rng: Random) -> Any:
    return deepcopy(rng.choice(WRONG_VALUES))


def example(schema: Schema | Any, rng: Random, depth: int = 0) -> Any:
    """A value that the schema takes, with some of its optional fields."""
    match schema:
        case Object(fields):
            keys = [field for field in fields if field.required_because is not None or rng.random() < 0.4]
            return {field.key: example(field.schema, rng, depth + 1) for field in keys}
        case ListOf(item):
            return [example(item, rng, depth + 1) for _ in range(rng.randint(0, 2 if depth < 4 else 1))]
        case TaggedUnion(tag, arms):
            name = rng.choice(sorted(arms))
            value = example(arms[name], rng, depth + 1)
            return {tag: name, **value} if isinstance(value, dict) else {tag: name}
        case TextOrList(items):
            return rng.choice(TEXTS) if rng.random() < 0.6 else example(items, rng, depth + 1)
        case OneOf(values):
            return rng.choice(values)
        case Number(minimum, maximum):
            return rng.choice((minimum, maximum, (minimum + maximum) // 2))
        case Flag():
            return rng.random() < 0.5
        case Name():
            return f"name-{rng.randrange(40)}"
        case Anything():
            return rng.choice((None, {}, {"a": [1, "x"]}, "text", 7))
        case _:
            return rng.choice(TEXTS)


def run_input(rng: Random) -> Any:
    body = example(RUN_AGENT_INPUT, rng)
    if rng.random() < 0.7:
        content = {"id": f"m{rng.randrange(1000)}", "role": "user", "content": rng.choice(TEXTS)}
        body["messages"] = [*body.get("messages", []), content]
    if rng.random() < 0.8:
        body.pop("resume", None)
    if isinstance(body.get("forwardedProps"), dict) and rng.random() < 0.7:
        body.pop("forwardedProps")  # most options are refused by most agents: then nothing else is tried
    return {**body, "protocolVersion": rng.choice(("1.0", "1.0", "0.9", "x"))}


def message(rng: Random) -> Any:
    return example(MESSAGE_INPUT, rng)


def definition(rng: Random) -> dict[str, Any]:
    """An agent as it is registered. Its program does nothing."""
    command = {"run": ["true"], "version": ["true", "--version"]}
    keys: dict[str, Any] = {"driver": rng.choice(("acp", "cli", "python", "remote")), "identity": {"name": "Fuzz"}}
    keys["command"] = command
    if rng.random() < 0.5:
        keys["dialect"] = "plain"
    if rng.random() < 0.2:
        keys["url"] = "http://127.0.0.1:9"
    return keys


BODIES: tuple[Callable[[Random], Any], ...] = (
    run_input,
    run_input,
    message,
    definition,
    lambda rng: {"threadId": f"thread-{rng.randrange(20)}"},
    lambda rng: {"mode": rng.choice(("ask", "plan", "code"))},
    lambda rng: {"model": rng.choice(("small", "large", "none"))},
    lambda rng: {"configId": "effort", "value": rng.choice(("low", True))},
    lambda rng: {"method": rng.choice(("session/list", "session/set_mode", "x")), "params": {"modeId": "ask"}},
    lambda rng: {"runId": f"run-{rng.randrange(40)}"},
    lambda rng: wrong_value(rng),
)

FITTING: dict[str, Callable[[Random], Any]] = {
    "POST /agents/{agent}": run_input,
    "/run": run_input,
    "/connect": run_input,
    "/messages": message,
    "PUT /agents/{agent}": definition,
    "/fork": BODIES[4],
    "/mode": BODIES[5],
    "/model": BODIES[6],
    "/config": BODIES[7],
    "/acp": BODIES[8],
    "/stop/{thread:path}": BODIES[9],
}
"""End of a method and path → the body that it takes. A route that is not here gets all of them."""


def spoil(rng: Random, value: Any) -> Any:
    """One value somewhere in it is replaced, left out or added."""
    paths = list(_paths(value))
    if len(paths) <= 1 or rng.random() < 0.05:
        return wrong_value(rng)
    *path, last = rng.choice(paths[1:])
    parent = value
    for key in path:
        parent = parent[key]
    kind = rng.random()
    if kind < 0.7:
        parent[last] = wrong_value(rng)
    elif kind < 0.85:
        del parent[last]
    elif isinstance(parent, dict):
        parent[rng.choice(("", "\x00", "\ud800", "type", "__proto__", "x" * 300))] = wrong_value(rng)
    else:
        parent[:] = parent * rng.randint(2, 5)
    return value


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list) and len(path) < 20:
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))


def to_bytes(rng: Random, value: Any) -> bytes:
    """JSON, mostly; sometimes in a wrong encoding, cut off, doubled, or with duplicate keys."""
    data = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    kind = rng.random()
    if kind < 0.85:
        return data
    return rng.choice(
        (
            lambda: data[: rng.randint(0, len(data))],
            lambda: data + data,
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.decode("utf-8", "replace").encode("utf-16"),
            lambda: data.replace(b'"', b"'"),
            lambda: data.replace(b"{", b'{"threadId":1,"runId":[],', 1),
            lambda: data.replace(b"1", b"NaN").replace(b"true", b"Infinity"),
            lambda: data[: len(data) // 2] + rng.randbytes(3) + data[len(data) // 2 :],
            lambda: b"[" * rng.choice((10, 300, 100_000)),
            lambda: b'{"a":' * 2000 + b"1" + b"}" * 2000,
            lambda: b"",
            lambda: b" " * 1000,
            lambda: rng.randbytes(200),
        )
    )()


def make_body(rng: Random, endpoint: str = "") -> bytes:
    """`endpoint`: method and path. Half of its bodies begin as what it takes, where that is known here."""
    fitting = [make for end, make in FITTING.items() if endpoint.endswith(end)]
    value = (rng.choice(fitting) if fitting and rng.random() < 0.5 else rng.choice(BODIES))(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        value = spoil(rng, value)
    return to_bytes(rng, value)
