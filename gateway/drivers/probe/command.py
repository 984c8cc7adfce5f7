"""A short command, asked: its exit code and its words, or why there are none.

In: a command, an environment, a limit. Out: a `Reply`. Whatever the command started is gone when this returns, also
when the limit is reached or the asker is cancelled. Never: a shell, the asker's stdin, secrets in what is shown.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Generic, TypeVar

import anyio

from gateway.drivers.process.process import Process, spawn
from gateway.errors import AgentFault

MOST = 64 * 1024
"""Of what it prints: a version is a line."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Reply:
    code: int | None = None
    """None: it did not end in time, or never began."""
    text: str = ""
    """Of stdout; of stderr, where stdout has none."""
    failure: str | None = None
    """Why it could not even be started."""

    @property
    def late(self) -> bool:
        return self.code is None and self.failure is None


async def ask(command: Sequence[str], env: Mapping[str, str], limit: float) -> Reply:
    async with anyio.create_task_group() as tasks:
        try:
            # Somewhere neutral: in a project's folder some commands read its settings, or look through all of it.
            process = await spawn(command, cwd=Path(gettempdir()), env=env, tasks=tasks)
        except AgentFault as exc:
            return Reply(failure=exc.detail)
        reply = Reply()
        try:
            with anyio.move_on_after(limit):
                reply = await _hear(process)
        finally:
            process.kill()  # with all it started; the group waits until they are gone
    return reply


async def _hear(process: Process) -> Reply:
    process.close_stdin()
    heard = bytearray()
    while len(heard) < MOST and (data := await process.read()):
        heard += data
    if len(heard) >= MOST:
        return Reply(-1, heard.decode("utf-8", "replace"))
    code = await process.wait()
    return Reply(code, heard.decode("utf-8", "replace").strip() or process.stderr_tail())


class Kept(Generic[Value]):
    """Answers that stay good for a while. Who asks for one that is being fetched waits for it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: dict[Hashable, tuple[Value, float]] = {}
        self._fetching: dict[Hashable, anyio.Event] = {}

    async def get(
        self, key: Hashable, fetch: Callable[[], Awaitable[Value]], good_for: Callable[[Value], float]
    ) -> Value:
        while True:
            if (answer := self._answers.get(key)) is not None and answer[1] > self._clock():
                return answer[0]
            if (fetching := self._fetching.get(key)) is None:
                break
            await fetching.wait()  # whoever fetches may be cancelled: then it is for one of those who waited
        self._fetching[key] = done = anyio.Event()
        try:
            value = await fetch()
            self._keep(key, value, good_for(value))
            return value
        finally:
            del self._fetching[key]
            done.set()

    def _keep(self, key: Hashable, value: Value, seconds: float) -> None:
        now = self._clock()
        self._answers = {name: answer for name, answer in self._answers.items() if answer[1] > now}
        self._answers[key] = value, now + seconds
