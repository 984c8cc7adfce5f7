"""Decides how the process of a thread's session is confined.

In: the agent's definition, the thread, the folder that the session works in, whether tool calls are approved without a
question. Out: a `Confinement`. Every session of every thread gets its confinement here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gateway.audit import AuditLog
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.confinement import UNTRUSTED, Confinement
from gateway.drivers.homes import PrincipalHomes
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.runs.sandbox_choice import SandboxChoice, Situation
from gateway.runs.trust import WorkspaceTrust, needs_trust
from gateway.settings import Settings


class Isolation:
    def __init__(self, settings: Settings, audit: AuditLog | None = None) -> None:
        self._settings = settings
        self._homes = PrincipalHomes(settings)
        self.trust = WorkspaceTrust(settings, audit)
        self._sandboxes = SandboxChoice(settings)

    def confine(
        self,
        definition: AgentDefinition,
        thread: ThreadKey,
        folders: Sequence[Path],
        originals: Sequence[Path],
        *,
        is_unattended: bool,
        mcp_servers: Sequence[Mapping[str, Any]],
    ) -> Confinement:
        """`folders`: where the session works, its working directory first. `originals`: the same folders in the
        workspace, where a folder is a worktree: it is trusted as its repository's own folder is. `mcp_servers`: of the
        session. Raises `Refused` when the session must not be opened so on this machine."""
        if not needs_trust(definition):
            return UNTRUSTED  # it starts no process of its own
        is_trusted = self.trust.decide(thread, originals).is_trusted
        situation = Situation(is_trusted, is_unattended)
        sandbox = self._sandboxes.choose(definition, thread.principal, folders, situation, mcp_servers)
        return Confinement(is_trusted, sandbox, self._homes.find(definition, thread.principal))

    def sandbox_facts(self, definition: AgentDefinition) -> Layer:
        """What holds for the agent's sessions, as far as it is known without one."""
        return self._sandboxes.agent_facts(definition)

    def close(self) -> None:
        """When no session is left."""
        self._sandboxes.close()
