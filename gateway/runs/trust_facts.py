"""What a snapshot states of workspace trust: `custom.gateway.trust`.

In: an agent's definition, a thread. Out: values by dotted path. For an agent what holds for every principal: the
default folder, if the operator trusts it. For a thread the folder and the trust with which its session was opened, or
with which the next run would open it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gateway.capability_paths import TRUST
from gateway.catalog.definition import AgentDefinition
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.runs.session_pool import SessionPool
from gateway.runs.trust import Decision, WorkspaceTrust, needs_trust


class TrustFacts:
    def __init__(
        self,
        trust: WorkspaceTrust,
        pool: SessionPool,
        default_folder: Path,
        original_of: Callable[[ThreadKey, Path], Path] = lambda thread, folder: folder,
    ) -> None:
        """`original_of`: a folder of a thread's session → the folder of the workspace that it is, or is a worktree
        of."""
        self._original_of = original_of
        self._trust = trust
        self._pool = pool
        self._default_folder = default_folder

    def read_agent(self, definition: AgentDefinition) -> Layer:
        """Empty for an agent that runs in no folder of this machine."""
        if not needs_trust(definition):
            return {}
        decided = _layer(self._trust.decide_for_all(self._default_folder))
        return {**decided, f"{TRUST}.untrustedStart": definition.trust.untrusted_start}

    def read_thread(self, definition: AgentDefinition, thread: ThreadKey) -> Layer:
        if not needs_trust(definition):
            return {}
        opening = self._pool.opening(thread)
        if opening is None:
            return _layer(self._trust.decide(thread, [self._default_folder]))
        folders = [self._original_of(thread, folder) for folder in (opening.cwd, *opening.additional_directories)]
        decision = self._trust.decide(thread, folders)
        is_trusted = opening.confinement.is_trusted
        if decision.is_trusted is is_trusted and decision.state != "unknown":
            return _layer(decision)
        # The process goes on as it was started, whatever was decided since.
        return _layer(Decision("trusted" if is_trusted else "untrusted", folders[0], "session"))


def _layer(decision: Decision) -> Layer:
    return {
        f"{TRUST}.state": decision.state,
        f"{TRUST}.folder": str(decision.folder),
        f"{TRUST}.decidedBy": decision.decided_by or "none",
    }
