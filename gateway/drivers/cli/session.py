"""One thread's conversation with a command-line agent, as runs see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyio import to_thread

from gateway.background import Tasks
from gateway.capability_paths import MODES
from gateway.drivers.base import Opening
from gateway.drivers.cli.command import CommandOptions, resolve_options
from gateway.drivers.cli.controls import CliControls
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.cli.session_process import ConnectionPool
from gateway.drivers.cli.turn import CliTurn
from gateway.drivers.cli.turn_runner import TurnRunner
from gateway.drivers.skills import Skill
from gateway.errors import NotCapable
from gateway.events import Layer
from gateway.turn import Options, Turn

MAX_ITERATIONS = "execution.maxIterations"


class CliSession:
    reusable = True

    def __init__(self, launcher: Launcher, pool: ConnectionPool, opening: Opening, tasks: Tasks) -> None:
        self._definition = launcher.definition
        self._cli = launcher.cli
        self._opening = opening
        self._turns = TurnRunner(launcher, pool, opening, tasks)
        self._process = self._turns.process
        self._settings: dict[str, str] = {}
        """`model` and `mode` that hold for runs that name none: as they were set between turns, and the model of the
        last run that named one."""
        self._max_turns: int | None = None
        """The limit that the newest run has set."""
        self._is_closed = False

    @property
    def id(self) -> str | None:
        return self._process.dialect.session_id

    @property
    def is_alive(self) -> bool:
        return not self._is_closed

    @property
    def session_layer(self) -> Layer:
        if self._max_turns is None:
            return self._process.dialect.session_layer
        return {**self._process.dialect.session_layer, MAX_ITERATIONS: self._max_turns}

    @property
    def handshake_layer(self) -> Mapping[str, Any]:
        """What the agent has stated in this session and what holds for all its sessions: dotted path → value."""
        return self._process.dialect.handshake_layer

    @property
    def controls(self) -> CliControls:
        actions = self._process.dialect.actions
        return CliControls(self._cli, actions, self.run_action, self._settings.__setitem__, self._check_mode)

    def _check_mode(self, mode: str) -> None:
        """Raises `NotCapable` for a mode that the session does not list. A session that lists none may have it."""
        dialect = self._process.dialect
        listed = dialect.session_layer.get(MODES) or dialect.list_modes(self._cli.params)
        known = [each["id"] for each in listed]
        if known and mode not in known:
            raise NotCapable(
                f"the session has no mode {mode!r}; it has: {', '.join(known)}. Choose one of these, or leave it out.",
                capability=MODES,
                source="session",
                known=known,
            )

    async def establish(self) -> None:
        """Start the agent now, so that the driver learns at once of one that cannot be started."""
        if (mode := self._opening.options.mode) is not None:
            self._check_mode(mode)  # some programs take any name, and stop when they are prompted
        if self._cli.process != "turn":
            await self._process.ensure_ready(await self._resolve_opening())

    async def start(self, turn: Turn) -> CliTurn:
        if turn.options.mode is not None:
            self._check_mode(turn.options.mode)
        if turn.options.model is not None:
            self._settings["model"] = turn.options.model
        self._max_turns = turn.options.max_turns
        return await self._turns.start(turn, await self._resolve(turn.options, turn.thinking))

    async def run_action(self, action: str, params: dict[str, Any], limit: float) -> Any:
        """One of the dialect's actions; starts a process where there is none. `limit`: seconds for the action."""
        await self._process.ensure_ready(await self._resolve_opening())
        return await self._process.run_action(action, params, limit)

    async def aclose(self) -> None:
        self._is_closed = True
        await self._turns.aclose()

    async def _resolve_opening(self) -> CommandOptions:
        return await self._resolve(self._opening.options, self._opening.thinking)

    async def _resolve(self, options: Options, thinking: Mapping[str, Any] | None) -> CommandOptions:
        skills: tuple[Skill, ...] = ()
        if options.skills:
            skills = await to_thread.run_sync(self._turns.find_skills, options.skills)
        return resolve_options(self._definition, self._opening, options, self._settings, thinking, skills)
