"""A repository whose git configuration runs programs.

The incident: git itself runs what `.git/config` names: hooks, filters, merge and diff drivers, a file system monitor, a
signing program (the class of CVE-2022-24765 and CVE-2024-32002, and of editors that ran `git status` in a folder that
was just opened). A repository that was unpacked from an archive brings such a file, and an agent in a sandbox can write
one into its workspace.

The attack: every such key, each with a canary of its own, and a gateway that makes a worktree of this repository, shows
it, commits, merges and removes it. Then repositories whose parts are elsewhere: the operator's own.

The promise: the gateway's git runs no program that a repository names, and touches no repository outside the workspace.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import outcome_of
from tests.behaviour.worktrees.harness import IDENTITY, GitStage, Worker, commit, git, make_repository

HOOKS = (
    *("post-checkout", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit"),
    *("post-merge", "reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite"),
)
COMMANDS = {
    "core.fsmonitor": "fsmonitor",
    "core.sshCommand": "ssh",
    "core.pager": "pager",
    "core.editor": "editor",
    "core.askPass": "askpass",
    "credential.helper": "credential",
    "filter.evil.clean": "clean",
    "filter.evil.smudge": "smudge",
    "filter.slow.process": "process",
    "diff.external": "external-diff",
    "diff.evil.command": "diff-driver",
    "diff.evil.textconv": "textconv",
    "merge.evil.driver": "merge-driver",
    "gpg.program": "gpg",
    "gc.recentObjectsHook": "gc-hook",
    "hook.evil.command": "configured-hook",
    "remote.origin.uploadpack": "uploadpack",
    "remote.origin.vcs": "vcs",
    "alias.status": "alias",
}
"""Key → the name of its canary."""
FLAGS = {
    "commit.gpgSign": "true",
    "gc.auto": "1",
    "filter.evil.required": "true",
    "hook.evil.event": "post-checkout",
    "extensions.partialClone": "origin",
    "remote.origin.url": "ext::sh -c false",
    "remote.origin.promisor": "true",
    "protocol.allow": "always",
    "submodule.recurse": "true",
    "diff.evil.cachetextconv": "false",
}
ATTRIBUTES = "*.txt filter=evil diff=evil merge=evil\n*.dat filter=slow\n"


class Canaries:
    """Programs that leave their name when they are run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "fired"
        folder.mkdir()

    def program(self, name: str) -> str:
        path = self._folder / name
        path.write_text(f"#!/bin/sh\necho {name} >> {self._log}\ncat 2>/dev/null\n")
        path.chmod(0o755)
        return str(path)

    @property
    def fired(self) -> set[str]:
        return set(self._log.read_text().split()) if self._log.exists() else set()


def arm(repository: Path, canaries: Canaries) -> None:
    """As the attacker leaves it: everything at once. Written by hand, because git would run some of it."""
    lines = ["[core]\n\trepositoryformatversion = 1\n\tbare = false\n"]
    values = {key: canaries.program(name) for key, name in COMMANDS.items()} | FLAGS
    for key, value in values.items():
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        header = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
        lines.append(f"{header}\n\t{name} = {value}\n")
    included = repository / ".git" / "included"
    included.write_text(f"[core]\n\tfsmonitor = {canaries.program('included-fsmonitor')}\n")
    lines.append("[include]\n\tpath = included\n")
    (repository / ".git" / "config").write_text("".join(lines))
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        hook = repository / ".git" / "hooks" / name
        hook.unlink(missing_ok=True)
        hook.symlink_to(canaries.program(f"hook-{name}"))


@pytest.fixture
def canaries(tmp_path: Path) -> Canaries:
    return Canaries(tmp_path / "canaries")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GitStage]:
    with GitStage(tmp_path / "home") as running:
        assert isinstance(running, GitStage)
        commit(running.repository, "Attributes", _gitattributes=ATTRIBUTES, big_dat="data\n")
        yield running


def test_plain_git_runs_them(tmp_path: Path, canaries: Canaries) -> None:
    """Otherwise this file would prove nothing."""
    repository = make_repository(tmp_path / "repository")
    commit(repository, "Attributes", _gitattributes=ATTRIBUTES, big_dat="data\n")
    arm(repository, canaries)
    for command in (
        "git status",
        "git worktree add -q ../linked -b linked",
        "echo more >> notes.txt; git diff; git add -A; git -c core.fsmonitor=false commit -qm More; git diff HEAD~1",
    ):
        subprocess.run(
            ["sh", "-c", command], cwd=repository, env={**os.environ, **IDENTITY}, capture_output=True, timeout=60
        )
    fired = canaries.fired
    assert {"included-fsmonitor", "clean", "smudge", "external-diff", "gpg"} <= fired
    assert any(name.startswith("hook-") for name in fired)


def test_no_program_of_a_repository_is_run(stage: GitStage, canaries: Canaries) -> None:
    arm(stage.repository, canaries)
    worker = Worker(stage)
    assert outcome_of(worker.say("rm big.dat")) == "success"
    shown = worker.show()
    assert [each["path"] for each in shown["dirty"]] == ["big.dat"]
    assert "-data" in stage.client.get(f"{worker.path}/worktree/diff").text
    stage.client.post(f"{worker.path}/worktree/commit", json={"message": "x"})
    (worker.folder / "plain").write_text("plain\n")
    stage.client.post(f"{worker.path}/worktree/merge", json={"commit": True})
    other = Worker(stage)
    other.say("true")
    other.discard()
    stage.client.delete(worker.path)
    assert canaries.fired == set()


def test_no_program_is_run_by_a_merge_of_both_sides(stage: GitStage, canaries: Canaries) -> None:
    """The files that `.gitattributes` gives to a driver are changed on both sides."""
    worker = Worker(stage)
    worker.say("sed -i s/one/ONE/ notes.txt")
    git(worker.folder, "-c", "core.hooksPath=/dev/null", "commit", "-qam", "By the agent")
    commit(stage.repository, "By the user", notes_txt="one\ntwo\nthree\nfour\nfive\nsix\n")
    arm(stage.repository, canaries)
    merged = worker.merge()
    assert merged["result"] == "merge-commit"
    assert canaries.fired == set()
    assert (stage.repository / "notes.txt").read_text() == "ONE\ntwo\nthree\nfour\nfive\nsix\n"


def test_what_the_agent_writes_into_the_repository_is_not_run(stage: GitStage, canaries: Canaries) -> None:
    """A git inside the worktree, in the place of a submodule, with a configuration of its own."""
    module = make_repository(stage.workspace / "module")
    git(stage.repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "module")
    commit(stage.repository, "Add a submodule")
    worker = Worker(stage)
    worker.say("git init -q module; touch module/x.txt")
    nested = worker.folder / "module"
    git(nested, "add", "x.txt")
    git(nested, "commit", "-qm", "Nested")
    (nested / ".gitattributes").write_text(ATTRIBUTES)
    (nested / "x.txt").write_text("changed\n")
    arm(nested, canaries)
    (worker.folder / ".git").write_text(f"gitdir: {nested / '.git'}\n")
    worker.show()
    stage.client.get(f"{worker.path}/worktree/diff")
    (worker.folder / "new").write_text("new\n")
    worker.commit()
    worker.merge(commit=True)
    assert (stage.repository / "new").exists()
    stage.client.delete(worker.path)
    assert canaries.fired == set()


def test_a_file_that_needs_a_filter_is_not_committed_without_it(stage: GitStage) -> None:
    git(stage.repository, "config", "filter.slow.clean", "cat")
    worker = Worker(stage)
    worker.say("echo more >> big.dat")
    response = stage.client.post(f"{worker.path}/worktree/commit", json={"message": "x"})
    assert (response.status_code, response.json()["code"]) == (409, "WORKTREE_FILTERED")
    assert response.json()["files"] == ["big.dat"]
    kept = stage.client.delete(worker.path).json()["kept"]
    assert Path(kept["folder"], "big.dat").read_text() == "data\nmore\n"


# -- repositories whose parts are elsewhere


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """The operator's, outside the workspace."""
    repository = make_repository(tmp_path / "private")
    commit(repository, "Secret", secret_txt="the operator's own\n")
    return repository


def refused(stage: GitStage, folder: str, private: Path) -> bool:
    before = git(private, "for-each-ref"), git(private, "status", "--porcelain")
    events = Worker(stage, cwd=folder).say("cat secret.txt")
    assert "the operator's own" not in str(events)
    assert (git(private, "for-each-ref"), git(private, "status", "--porcelain")) == before
    assert not (private / ".git" / "worktrees").exists()
    return outcome_of(events) == "WORKTREE_UNAVAILABLE"


def test_a_pointer_to_another_repository_is_not_followed(stage: GitStage, private: Path) -> None:
    folder = stage.workspace / "pointer"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {private / '.git'}\n")
    assert refused(stage, "pointer", private)


def test_a_link_to_another_repository_is_not_followed(stage: GitStage, private: Path) -> None:
    folder = stage.workspace / "link"
    folder.mkdir()
    (folder / ".git").symlink_to(private / ".git")
    assert refused(stage, "link", private)


@pytest.mark.parametrize("part", ["objects", "refs", "commondir", "alternates", "worktrees"])
def test_a_part_of_another_repository_is_not_used(stage: GitStage, private: Path, part: str) -> None:
    folder = make_repository(stage.workspace / "parts")
    own = folder / ".git"
    if part == "commondir":
        (own / "commondir").write_text(f"{private / '.git'}\n")
    elif part == "alternates":
        (own / "objects" / "info" / "alternates").write_text(f"{private / '.git' / 'objects'}\n")
    else:
        target = private / ".git" / part if part != "worktrees" else private / "elsewhere"
        if (own / part).exists():
            (own / part).rename(own / f"{part}.old")
        (own / part).symlink_to(target)
    assert refused(stage, "parts", private)


def test_a_repository_that_is_replaced_later_is_not_followed(stage: GitStage, private: Path) -> None:
    worker = Worker(stage)
    worker.say("true")
    (stage.repository / ".git").rename(stage.workspace / "moved")
    (stage.repository / ".git").symlink_to(private / ".git")
    before = git(private, "for-each-ref")
    for response in (
        stage.client.get(f"{worker.path}/worktree"),
        stage.client.get(f"{worker.path}/worktree/diff"),
        stage.client.post(f"{worker.path}/worktree/merge", json={"commit": True}),
        stage.client.delete(f"{worker.path}/worktree"),
    ):
        assert (response.status_code, response.json()["code"]) == (422, "WORKTREE_UNAVAILABLE")
    assert git(private, "for-each-ref") == before


def test_a_configured_work_tree_elsewhere_is_not_written(stage: GitStage, private: Path) -> None:
    git(stage.repository, "config", "core.worktree", str(private))
    worker = Worker(stage)
    worker.say("echo overwritten > secret.txt")
    worker.merge(commit=True)
    assert (private / "secret.txt").read_text() == "the operator's own\n"
    assert (stage.repository / "secret.txt").read_text() == "overwritten\n"


def test_a_link_in_the_worktree_does_not_lead_the_next_session_out(stage: GitStage, private: Path) -> None:
    worker = Worker(stage, cwd="repository/lib")
    worker.say(f"cd .. && rm -r lib && ln -s {private} lib")
    assert outcome_of(worker.say("cat secret.txt")) == "PATH_OUTSIDE_WORKSPACE"
    stage.client.delete(worker.path)
    assert (private / "secret.txt").exists()
