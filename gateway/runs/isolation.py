"""Decides how the process of a thread's session is confined.

In: the agent's definition, the thread, the folder that the session works in, the options of its run. Out: a
`Confinement`. Every session of every thread gets its confinement here.
"""

from __future__ import annotations

from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.confinement import Confinement
from gateway.drivers.homes import PrincipalHomes
from gateway.identity import ThreadKey
from gateway.settings import Settings
from gateway.turn import Options


class Isolation:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._homes = PrincipalHomes(settings)

    def confine(
        self, definition: AgentDefinition, thread: ThreadKey, cwd: Path, options: Options, original: Path | None = None
    ) -> Confinement:
        """`original`: the folder in the workspace whose worktree `cwd` is in; None: `cwd` itself. A worktree is trusted
        as its repository's own folder is."""
        return Confinement(is_trusted=True, home=self._homes.find(definition, thread.principal))
