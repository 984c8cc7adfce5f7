"""The output of a command while it runs, for a person to watch.

In: an `AgentCommand`, an environment, a time limit. Out: its output, piece by piece, then its exit code. Whatever the
command started has ended when the block is left. Never: the gateway's own settings in its environment, its stdin.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import gettempdir

import anyio

from gateway.catalog.agent_commands import AgentCommand
from gateway.drivers.environment import agent_environment, secret_values
from gateway.drivers.process import Process, spawn

INSTALLER_NAMES = ("npm_config_*", "NPM_CONFIG_*", "PIP_*", "UV_*", "HOMEBREW_*", "NVM_*", "VIRTUAL_ENV")
"""Variables by which installers are configured."""
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
"""A command that prints more is stopped."""
INTERRUPTED = -1
"""The exit code of a command that was stopped: it took too long, or printed too much."""


class CommandOutput:
    def __init__(self, process: Process, limit: float, secrets: list[str]) -> None:
        self._process = process
        self._limit = limit
        self._secrets = secrets
        self.code = INTERRUPTED

    async def pieces(self) -> AsyncIterator[str]:
        """Until the command ends; then `code` is its exit code."""
        deadline = anyio.current_time() + self._limit
        count = 0
        while count < MAX_OUTPUT_BYTES:
            data: bytes | None = None
            with anyio.move_on_at(deadline):
                data = await self._process.read()
            if data is None:
                return
            if not data:
                break
            count += len(data)
            yield self._mask(bytes(data).decode("utf-8", "replace"))
        with anyio.move_on_at(deadline):
            if count < MAX_OUTPUT_BYTES:
                self.code = await self._process.wait()

    def _mask(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


@asynccontextmanager
async def start_command(
    command: AgentCommand, inherit: tuple[str, ...] = (), environ: Mapping[str, str] | None = None, limit: float = 900.0
) -> AsyncIterator[CommandOutput]:
    """`inherit`: further variables. `limit`: seconds. Raises `AgentFault` where it cannot be started."""
    env = agent_environment((*INSTALLER_NAMES, *inherit), {}, os.environ if environ is None else environ)
    async with anyio.create_task_group() as tasks:
        process = await spawn(command.args, cwd=Path(gettempdir()), env=env, tasks=tasks)
        process.close_stdin()
        try:
            yield CommandOutput(process, limit, secret_values(env))
        finally:
            process.kill()  # with all it started; the task group waits until they have ended
