"""Decides how the process of a thread's session is confined.

In: the agent's definition, the thread, the folder that the session works in, the options of its run. Out: a
`Confinement`. Every session of every thread gets its confinement here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.confinement import Confinement
from gateway.drivers.homes import PrincipalHomes
from gateway.identity import ThreadKey
from gateway.runs.trust import WorkspaceTrust
from gateway.settings import Settings
from gateway.turn import Options


class Isolation:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._homes = PrincipalHomes(settings)
        self.trust = WorkspaceTrust(settings)

    def confine(
        self, definition: AgentDefinition, thread: ThreadKey, options: Options, originals: Sequence[Path]
    ) -> Confinement:
        """`originals`: the folders of the workspace that the session works in, or whose worktrees it works in. A
        worktree is trusted as its repository's own folder is."""
        decision = self.trust.decide(thread, originals)
        return Confinement(is_trusted=decision.is_trusted, home=self._homes.find(definition, thread.principal))
