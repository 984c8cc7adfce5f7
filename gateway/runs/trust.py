"""Decides whether a thread's folders are trusted, and whether an agent may start in them.

In: a thread, real folders, the agent's definition. Out: a `Decision`, or `Refused`. Trust comes from the operator
(setting `trust`), from the trust file, or from the answer to this thread's question; what came from an answer is kept
only while the gateway lives. A folder is trusted with its parent. Never: trust of one principal for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from anyio import to_thread

from gateway.audit import Action, AuditLog
from gateway.catalog.definition import AgentDefinition
from gateway.errors import ConfigError, Refused
from gateway.identity import ThreadKey
from gateway.runs.trust_audit import TrustAudit
from gateway.settings import Settings
from gateway.trust.configuration import ConfigurationItem, find_configuration, has_configuration
from gateway.trust.folders import is_inside, real_folder, too_wide_reason
from gateway.trust.trust_file import TrustFile

MAX_ANSWERS = 10_000
"""Threads whose answers are remembered; the oldest are asked again."""

State = Literal["trusted", "untrusted", "unknown"]


@dataclass(frozen=True, slots=True)
class Decision:
    state: State
    folder: Path
    """The first folder that is not trusted; else the first of all."""
    decided_by: str | None = None
    """`operator`, `user` (the trust file), `run` (the answer, for one run), `thread` (the answer no), `setting`
    (`unknown_folder`); None: not decided yet."""

    @property
    def is_trusted(self) -> bool:
        return self.state == "trusted"


class WorkspaceTrust:
    def __init__(self, settings: Settings, audit: AuditLog | None = None) -> None:
        """Raises `ConfigError` for a folder that is too wide to be trusted. `audit`: where answers are recorded."""
        self._audit = audit
        self._operators = [real_folder(path) for path in settings.trust]
        for folder in self._operators:
            if (reason := too_wide_reason(folder)) is not None:
                raise ConfigError(f"--trust: {reason}. Name the project's own directory")
        self._unknown = settings.unknown_folder
        self._file = TrustFile(settings.trust_file)
        self.file_audit = None if audit is None else TrustAudit(self._file, audit)
        """Records what others change in the file."""
        self._this_run: dict[ThreadKey, frozenset[Path]] = {}
        self._declined: dict[ThreadKey, frozenset[Path]] = {}

    @property
    def file(self) -> Path:
        return self._file.path

    # -- decisions

    def decide(self, thread: ThreadKey, folders: Sequence[Path]) -> Decision:
        """Of all folders of a session; the one that is trusted least counts."""
        decisions = [self._decide_one(thread, folder) for folder in folders]
        by_state = {decision.state: decision for decision in reversed(decisions)}
        return by_state.get("unknown") or by_state.get("untrusted") or by_state["trusted"]

    def decide_for_all(self, folder: Path) -> Decision:
        """As far as it holds for every principal."""
        if is_inside(folder, self._operators):
            return Decision("trusted", folder, "operator")
        return Decision("unknown", folder)

    def _decide_one(self, thread: ThreadKey, folder: Path) -> Decision:
        if is_inside(folder, self._operators):
            return Decision("trusted", folder, "operator")
        if is_inside(folder, self._file.folders(thread.principal)):
            return Decision("trusted", folder, "user")
        if folder in self._this_run.get(thread, ()):
            return Decision("trusted", folder, "run")
        if folder in self._declined.get(thread, ()):
            return Decision("untrusted", folder, "thread")
        if self._unknown != "ask":
            return Decision("untrusted", folder, "setting")
        return Decision("unknown", folder)

    async def check_start(
        self,
        definition: AgentDefinition,
        thread: ThreadKey,
        originals: Sequence[Path],
        folders: Sequence[Path],
        *,
        is_trusted: bool,
    ) -> None:
        """To be called right before the agent's session is opened. `folders`: where it works; `originals`: the same
        folders in the workspace, where a folder is a worktree. Raises `Refused` where the agent would read the
        configuration of a folder that is not trusted."""
        if is_trusted or not needs_trust(definition):
            return
        decision = self.decide(thread, originals)
        if self._unknown == "refuse":
            raise self._refusal(definition, decision.folder, "the gateway starts no agent in such a folder")
        match definition.trust.untrusted_start:
            case "restricted":
                return
            case "never":
                raise self._refusal(definition, decision.folder, "it is not known how it is started without a project")
            case "clean":
                patterns = definition.trust.configuration
                for folder, original in zip(folders, originals, strict=True):
                    if await to_thread.run_sync(has_configuration, folder, patterns):
                        reason = "it cannot ignore the project's configuration, and the folder holds some"
                        raise self._refusal(definition, original, reason)

    def _refusal(self, definition: AgentDefinition, folder: Path, reason: str) -> Refused:
        detail = (
            f"{definition.id!r} was not started: {folder} is not trusted, and {reason}. Look at the project's "
            f"configuration and trust the folder (`agui-gateway trust {folder}`, or answer the question of a new "
            "thread), or choose an agent that can ignore it"
        )
        return Refused(detail, code="WORKSPACE_UNTRUSTED", folder=str(folder), agent=definition.id)

    # -- answers

    def trust_run(self, thread: ThreadKey, folders: Sequence[Path]) -> None:
        """Until `end_run`."""
        self._record("folder.trust", thread, folders, "run")
        self._this_run[thread] = frozenset(folders)

    def end_run(self, thread: ThreadKey) -> None:
        self._this_run.pop(thread, None)

    async def trust_always(self, thread: ThreadKey, folders: Sequence[Path]) -> None:
        """Raises `Refused` for a folder that is too wide, or when the trust file cannot be written."""
        for folder in folders:
            if (reason := too_wide_reason(folder)) is not None:
                advice = f"`agui-gateway trust --force {folder}` does it nevertheless"
                raise Refused(f"{reason}. Trust it for this run only; {advice}", code="FOLDER_TOO_WIDE")
        try:
            for folder in folders:
                await self._add(thread.principal, folder)
        except ConfigError as exc:
            raise Refused(f"the folder is not trusted: {exc.detail}", code="TRUST_FILE_UNUSABLE") from exc
        self._record("folder.trust", thread, folders, "always")
        self._declined.pop(thread, None)

    async def _add(self, principal: str, folder: Path) -> None:
        if self.file_audit is not None:
            await self.file_audit.add(principal, folder)
        else:
            await to_thread.run_sync(self._file.add, principal, folder)

    def decline(self, thread: ThreadKey, folders: Sequence[Path]) -> None:
        """The thread is not asked about these again while the gateway lives."""
        self._record("folder.distrust", thread, folders, "thread")
        self._declined[thread] = self._declined.pop(thread, frozenset()) | frozenset(folders)
        if len(self._declined) > MAX_ANSWERS:
            del self._declined[next(iter(self._declined))]

    def _record(self, action: Action, thread: ThreadKey, folders: Sequence[Path], duration: str) -> None:
        if self._audit is not None:
            detail = {"folders": [str(folder) for folder in folders], "for": duration}
            self._audit.record(action, thread.principal, agent=thread.agent, thread=thread.thread_id, detail=detail)

    # -- what is shown

    async def find_configuration(
        self, definition: AgentDefinition, folders: Sequence[Path]
    ) -> dict[Path, list[ConfigurationItem]]:
        patterns = definition.trust.configuration
        return {folder: await to_thread.run_sync(find_configuration, folder, patterns) for folder in folders}

    def undecided(self, thread: ThreadKey, folders: Sequence[Path]) -> list[Path]:
        """Those that the user is to be asked about."""
        return [folder for folder in dict.fromkeys(folders) if self._decide_one(thread, folder).state == "unknown"]


def needs_trust(definition: AgentDefinition) -> bool:
    return definition.is_local_process
