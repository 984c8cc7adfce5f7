"""A gateway whose workspace is a git repository, with agents that run shell commands in their folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from gateway.events import Wire
from tests.behaviour.acp.harness import Stage, Talk, answered, toml
from tests.support.gateway import text_of

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    """As the user runs it."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **IDENTITY}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, message: str = "Change", **files: str) -> str:
    """Writes the files, whose names have `_` for `.`, and commits everything. Returns the commit."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def make_repository(folder: Path) -> Path:
    """One commit on `main`: `notes.txt`, and `lib/code.txt`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "lib").mkdir()
    (folder / "lib" / "code.txt").write_text("code\n", "utf-8")
    commit(folder, "First", notes_txt="one\ntwo\nthree\n")
    return folder


class GitStage(Stage):
    """`shell` is a command-line agent that runs the last line of its prompt; `plain` and `full` speak ACP. `repository`
    is in the workspace."""

    def __init__(self, home: Path, *flags: str, at: str = "repository", **settings: Any) -> None:
        """`at`: where the repository is in the workspace."""
        super().__init__(home, *flags, **settings)
        self.repository = make_repository(self.workspace / at)
        self.worktrees = home / "agui-gateway" / "worktrees"
        keys = {
            "id": "shell",
            "driver": "cli",
            "identity": {"name": "Shell"},
            "options": ("cwd", "additionalDirectories"),
            "command": {"run": ["sh", "-c", "tail -n 1 | sh -e"]},
            "cli": {"dialect": "text", "process": "turn", "transport": "stdio-raw"},
        }
        (self.agents / "shell.toml").write_text("\n".join(f"{key} = {toml(value)}" for key, value in keys.items()))
        acp = {"fs": True, "terminal": True}
        self.agent("plain", self.state("plain"), acp=acp).agent("full", "--full", self.state("full"), acp=acp)


class Worker(Talk):
    """A thread with a worktree."""

    def __init__(self, stage: GitStage, agent: str = "shell", **options: Any) -> None:
        super().__init__(stage, agent, **{"worktree": True, "cwd": "repository", **options})

    def run(self, command: str) -> str:
        """What the shell agent's command wrote."""
        return text_of(self.say(command))

    def show(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.stage.asks(f"{self.path}/worktree")
        return shown

    @property
    def folder(self) -> Path:
        return Path(self.show()["path"])

    def commit(self, message: str = "Work") -> Any:
        return self.stage.asks(f"{self.path}/worktree/commit", {"message": message})

    def merge(self, status: int = 200, **body: Any) -> Any:
        return self.stage.asks(f"{self.path}/worktree/merge", body, status)

    def discard(self, status: int = 200) -> Any:
        return answered(self.stage.client.delete(f"{self.path}/worktree"), status)


def has_branch(repository: Path, branch: str) -> bool:
    return branch in git(repository, "branch", "--format=%(refname:short)").splitlines()


def messages_of(events: list[Wire]) -> list[str]:
    """The texts of the gateway's warnings."""
    found = [event["value"] for event in events if event["type"] == "CUSTOM" and event["name"] == "gateway.warning"]
    return [value["message"] for value in found]
