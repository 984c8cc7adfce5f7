"""One short command: its exit code and its output, or why there are none.

In: a command, an environment, a time limit. Out: a `Reply`. Whatever the command started has ended when this returns,
also when the limit is reached or the caller is cancelled. Never: a shell, the caller's stdin, secrets in the output.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Generic, TypeVar

import anyio

from gateway.drivers.process import Process, spawn
from gateway.errors import AgentFault

MAX_OUTPUT_BYTES = 64 * 1024
"""A version is one line; a command that prints more than this is stopped."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reply:
    code: int | None = None
    """None: it did not end in time, or never started."""
    text: str = ""
    """Its stdout; its stderr, where stdout is empty."""
    failure: str | None = None
    """Why it could not be started."""

    @property
    def is_late(self) -> bool:
        return self.code is None and self.failure is None


async def run_command(command: Sequence[str], env: Mapping[str, str], limit: float) -> Reply:
    """`limit`: seconds."""
    async with anyio.create_task_group() as tasks:
        try:
            # A neutral directory: in a project some commands read its settings, or scan all of it.
            process = await spawn(command, cwd=Path(gettempdir()), env=env, tasks=tasks)
        except AgentFault as exc:
            return Reply(failure=exc.detail)
        reply = Reply()
        try:
            with anyio.move_on_after(limit):
                reply = await _read_reply(process)
        finally:
            process.kill()  # with all it started; the task group waits until they have ended
    return reply


async def _read_reply(process: Process) -> Reply:
    process.close_stdin()
    output = bytearray()
    while len(output) < MAX_OUTPUT_BYTES and (data := await process.read()):
        output += data
    if len(output) >= MAX_OUTPUT_BYTES:
        return Reply(-1, output.decode("utf-8", "replace"))
    code = await process.wait()
    return Reply(code, output.decode("utf-8", "replace").strip() or process.stderr_tail())


class ReplyCache(Generic[Value]):
    """Values that stay valid for a while. A caller that needs a value which is being fetched waits for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: dict[Hashable, tuple[Value, float]] = {}
        self._fetching: dict[Hashable, anyio.Event] = {}

    async def get(
        self, key: Hashable, fetch: Callable[[], Awaitable[Value]], valid_seconds: Callable[[Value], float]
    ) -> Value:
        while True:
            if (entry := self._values.get(key)) is not None and entry[1] > self._clock():
                return entry[0]
            if (fetching := self._fetching.get(key)) is None:
                break
            await fetching.wait()  # the task that fetches may be cancelled: then one of those that waited fetches
        self._fetching[key] = done = anyio.Event()
        try:
            value = await fetch()
            self._store(key, value, valid_seconds(value))
            return value
        finally:
            del self._fetching[key]
            done.set()

    def _store(self, key: Hashable, value: Value, seconds: float) -> None:
        now = self._clock()
        self._values = {other: entry for other, entry in self._values.items() if entry[1] > now}
        self._values[key] = value, now + seconds
