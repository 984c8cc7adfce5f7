"""Decides how the process of a thread's session is confined.

In: the agent's definition, the thread, the folder that the session works in, the options of its run. Out: a
`Confinement`. Every session of every thread gets its confinement here, whoever opens it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.confinement import Confinement
from gateway.identity import ThreadKey
from gateway.runs.trust import WorkspaceTrust
from gateway.settings import Settings
from gateway.turn import Options


class Isolation:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.trust = WorkspaceTrust(settings)

    def confine(
        self,
        definition: AgentDefinition,
        thread: ThreadKey,
        cwd: Path,
        options: Options,
        directories: Sequence[Path] = (),
    ) -> Confinement:
        """`directories`: further ones that the session works in."""
        decision = self.trust.decide(thread, (cwd, *directories))
        return Confinement(is_trusted=decision.is_trusted)
