"""One thread's conversation with a command-line agent, as runs see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.background import Tasks
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import CommandOptions, resolve_options
from gateway.drivers.cli.controls import CliControls
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.session_process import ConnectionPool
from gateway.drivers.cli.turn import CliTurn
from gateway.drivers.cli.turn_runner import TurnRunner
from gateway.events import Layer
from gateway.turn import Options, Turn


class CliSession:
    reusable = True

    def __init__(self, launcher: Launcher, pool: ConnectionPool, opening: Opening, tasks: Tasks) -> None:
        self._definition = launcher.definition
        self._cli = launcher.cli
        self._opening = opening
        self._turns = TurnRunner(launcher, pool, opening, tasks)
        self._process = self._turns.process
        self._settings: dict[str, str] = {}
        """`model` and `mode` as they were set between turns: they hold for runs that name none."""
        self._is_closed = False

    @property
    def id(self) -> str | None:
        return self._process.dialect.session_id

    @property
    def is_alive(self) -> bool:
        return not self._is_closed

    @property
    def session_layer(self) -> Layer:
        return self._process.dialect.session_layer

    @property
    def handshake_layer(self) -> Mapping[str, Any]:
        """What the agent has stated in this session and what holds for all its sessions: dotted path → value."""
        return self._process.dialect.handshake_layer

    @property
    def controls(self) -> CliControls:
        return CliControls(self._cli, self._process.dialect.actions, self.run_action, self._settings.__setitem__)

    async def establish(self) -> None:
        """Start the agent now, so that the driver learns at once of one that cannot be started."""
        if self._cli.process != "turn":
            await self._process.ensure_ready(self._resolve(self._opening.options))

    async def start(self, turn: Turn) -> CliTurn:
        return await self._turns.start(turn, self._resolve(turn.options))

    async def run_action(self, action: str, params: dict[str, Any], limit: float) -> Any:
        """One of the dialect's actions; starts a process where there is none. `limit`: seconds for the action."""
        await self._process.ensure_ready(self._resolve(self._opening.options))
        return await self._process.run_action(action, params, limit)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._turns.aclose()

    def _resolve(self, options: Options) -> CommandOptions:
        return resolve_options(self._definition, self._opening, options, self._settings)
