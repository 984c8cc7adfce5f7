"""The way of one first run into the agent, traced: `python -m tests.trace.run_path`.

In: nothing. It serves the application in process, puts a scripted Claude Code (`tests.fakes.claude`) on the PATH, posts
one run on a new thread, and records every call of a gateway function from the request until the prompt is written to
the agent's stdin. Out: a report of the modules on the way, how often the capability snapshot was taken and computed,
and which calls went from a package up into one that may import it (the table of `tests.test_imports`).

A module is on the way if the run passes one of its functions. A constructor is not passed: a module that only makes
objects for later is counted apart. HTTP parsing by uvicorn is not part of the way, because the application is called as
ASGI. Neither are the response and the run's first event, which go out while the agent starts (`WAY_OUT`).

Measured by these rules, the tree before its redesign had 79 modules on the way, and 15 that only made objects.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import orjson
from starlette.applications import Starlette
from starlette.types import Message

from gateway.settings import Settings
from gateway.web.app import create_app
from tests.support.project import ROOT
from tests.test_imports import TABLE, VOCABULARY, package_of

MAX_MODULES = 135
"""85 before trust, the sandbox, callers, limits, owners and the audit log were on the way: each is asked once."""
RUN_LIMIT_SECONDS = 60.0
PROMPT = "trace-this-prompt"

STDIN_MODULE = "gateway.drivers.process.pipes"
"""Where bytes for the agent's stdin leave the gateway."""
TAKES = "gateway.service.snapshots:Snapshots.take"
"""The one function that gives out snapshots."""
COMPUTES = "gateway.capabilities.merge:merge"
"""The function that every computation of a snapshot ends in."""

WAY_OUT = frozenset(
    (
        "gateway.runs.run:Run.write_start",
        "gateway.web.routes.runs:stream_run",
        "gateway.web.event_stream:EventStream.__call__",
        "gateway.web.event_stream:EventStream._batches",
        "gateway.web.event_stream:EventStream._watch_sends",
    )
)
"""Where the response begins, its tasks, and where `RUN_STARTED` is written."""

CONSTRUCTORS = frozenset(("__init__", "__post_init__", "<lambda>"))
"""`<lambda>`: the factory of a field's default value."""

NOTIFICATIONS: dict[tuple[str, str], str] = {
    ("background", "*"): "the task runner calls the functions it was given to run",
}
"""Calls from a lower package into a higher one that are accepted: (caller's package, callee's package) → the reason."""

AGENT_ID = "claude"
PROGRAM = """\
#!/bin/sh
PYTHONPATH={root} exec {python} -m tests.fakes.claude "$@"
"""
"""A program of the name that the bundled definition of the agent starts."""


@dataclass(frozen=True, slots=True)
class CallUp:
    """One call from a package into one above it."""

    caller: str
    callee: str

    def __str__(self) -> str:
        return f"{self.caller} → {self.callee}"


@dataclass(slots=True)
class Trace:
    """What was recorded until the prompt reached the agent's stdin."""

    functions: Counter[str] = field(default_factory=Counter)
    calls_up: Counter[CallUp] = field(default_factory=Counter)
    has_arrived: bool = False
    """The prompt was written to stdin: what comes after that is the way out."""

    @property
    def modules(self) -> set[str]:
        """The modules on the way."""
        return {_module(function) for function in self.functions if not _is_constructor(function)}

    @property
    def constructing_modules(self) -> set[str]:
        """Modules that only made objects for later."""
        return {_module(function) for function in self.functions} - self.modules

    @property
    def snapshots_taken(self) -> int:
        return self.functions[TAKES]

    @property
    def snapshots_computed(self) -> int:
        return self.functions[COMPUTES]

    @property
    def unexpected_calls_up(self) -> list[str]:
        return sorted(str(call) for call in self.calls_up if not _is_notification(call))

    def record(self, frame: FrameType, kind: str, arg: Any) -> None:
        """A profile function for `sys.setprofile`."""
        if kind != "call" or self.has_arrived:
            return
        module = frame.f_globals.get("__name__", "")
        if not _is_gateway(module):
            return
        function = f"{module}:{frame.f_code.co_qualname}"
        if _is_way_out(frame):
            return
        self.functions[function] += 1
        if (caller := _caller(frame)) is not None and is_above(package_of(module), package_of(caller[0])):
            self.calls_up[CallUp(f"{caller[0]}:{caller[1]}", function)] += 1
        if module == STDIN_MODULE and any(_has_prompt(value) for value in frame.f_locals.values()):
            self.has_arrived = True

    def report(self) -> str:
        lines = [f"modules on the way in: {len(self.modules)} (at most {MAX_MODULES})"]
        lines += [f"  {module}" for module in sorted(self.modules)]
        lines += [f"modules that only made objects: {len(self.constructing_modules)}"]
        lines += [f"  {module}" for module in sorted(self.constructing_modules)]
        lines += [f"calls: {self.functions.total()} of {len(self.functions)} functions"]
        lines += [f"snapshots taken: {self.snapshots_taken}, computed: {self.snapshots_computed} (once each)"]
        lines += [f"calls up: {len(self.unexpected_calls_up)} (none)"]
        lines += [f"  {call}" for call in self.unexpected_calls_up]
        lines += [f"accepted: {len(self.calls_up) - len(self.unexpected_calls_up)}"]
        return "\n".join(lines)


def _module(function: str) -> str:
    return function.partition(":")[0]


def _is_constructor(function: str) -> bool:
    return function.rpartition(".")[2] in CONSTRUCTORS


def _is_gateway(module: str) -> bool:
    return module == "gateway" or module.startswith("gateway.")


def _caller(frame: FrameType) -> tuple[str, str] | None:
    """The nearest gateway function that waits for this one, whatever library stands between them."""
    caller = frame.f_back
    while caller is not None:
        module = caller.f_globals.get("__name__", "")
        if _is_gateway(module):
            return module, caller.f_code.co_qualname
        caller = caller.f_back
    return None


def _is_way_out(frame: FrameType | None) -> bool:
    while frame is not None:
        if f"{frame.f_globals.get('__name__', '')}:{frame.f_code.co_qualname}" in WAY_OUT:
            return True
        frame = frame.f_back
    return False


def _has_prompt(value: object) -> bool:
    return isinstance(value, bytes | bytearray | memoryview) and PROMPT.encode() in bytes(value)


def _is_notification(call: CallUp) -> bool:
    caller = package_of(_module(call.caller))
    callee = package_of(_module(call.callee))
    return (caller, callee) in NOTIFICATIONS or (caller, "*") in NOTIFICATIONS


@cache
def _below(package: str) -> frozenset[str]:
    """All packages that this one may import, directly or through others."""
    below: set[str] = set()
    ahead = [package]
    while ahead:
        for name in TABLE[ahead.pop()].packages:
            top = name.partition(".")[0]
            if top not in below and top not in (package, "__init__"):
                below.add(top)
                ahead.append(top)
    return frozenset(below)


def is_above(package: str, other: str) -> bool:
    """`package` may import `other`, and `other` may not import `package`."""
    if other in VOCABULARY.split():
        return package not in VOCABULARY.split()
    return other != package and other in _below(package) and package not in _below(other)


async def trace_run() -> Trace:
    with tempfile.TemporaryDirectory() as home, _program_on_path(Path(home)):
        folder = (Path(home),)
        app = create_app(Settings(workspace=folder, trust=folder, store="memory:", watch=False, local_auth="none"))
        with anyio.fail_after(RUN_LIMIT_SECONDS):
            async with app.router.lifespan_context(app):
                return await _traced_post(app)


@contextmanager
def _program_on_path(folder: Path) -> Iterator[None]:
    program = folder / AGENT_ID
    program.write_text(PROGRAM.format(python=sys.executable, root=ROOT), "utf-8")
    program.chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}{os.pathsep}{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


async def _traced_post(app: Starlette) -> Trace:
    trace = Trace()
    body = orjson.dumps(_run_input())
    scope = _scope(f"/agents/{AGENT_ID}", len(body))
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    status: list[int] = []
    received: list[bytes] = []

    async def receive() -> Message:
        if pending:
            return pending.pop(0)
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])
        else:
            received.append(message.get("body", b""))

    await anyio.wait_all_tasks_blocked()  # so that no task of the gateway's start is taken for part of the run
    threading.setprofile(trace.record)
    sys.setprofile(trace.record)
    try:
        await app(scope, receive, send)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    stream = b"".join(received)
    assert status == [200], (status, stream)
    assert b"RUN_FINISHED" in stream, stream
    assert trace.has_arrived, "the prompt was not seen on its way to stdin"
    return trace


def _run_input() -> dict[str, Any]:
    message = {"id": "message-1", "role": "user", "content": PROMPT}
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": "thread-1", "runId": "run-1", "protocolVersion": "1.0", "messages": [message], **empty}


def _scope(path: str, length: int) -> dict[str, Any]:
    headers = [
        (b"host", b"127.0.0.1:8123"),
        (b"content-type", b"application/json"),
        (b"content-length", str(length).encode()),
        (b"accept", b"text/event-stream"),
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8123),
        "state": {},
    }


def main() -> int:
    trace = anyio.run(trace_run)
    print(trace.report())
    is_good = (
        len(trace.modules) <= MAX_MODULES
        and trace.snapshots_taken == trace.snapshots_computed == 1
        and not trace.unexpected_calls_up
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
