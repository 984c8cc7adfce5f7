"""What has changed in a worktree: listed, shown as a diff, committed.

In: a worktree and the branch it was made from. Out: files with their status, counts, a unified diff, a commit.
Uncommitted changes count, new files included; the worktree's own index is changed by a commit only.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import Conflict
from gateway.git.repository import Checkout
from gateway.git.view import View

MAX_LISTED_FILES = 1000
DIFF_FLAGS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
LINK_MODE = "160000"
"""Of a submodule in the index."""
STATUS_NAMES = {"?": "untracked", "A": "added", "D": "deleted", "M": "modified", "R": "renamed", "T": "type changed"}


@dataclass(frozen=True, slots=True)
class FileStatus:
    path: str
    status: str
    """One of `STATUS_NAMES`, or `conflicted`."""


@dataclass(frozen=True, slots=True)
class FileCount:
    path: str
    added: int | None
    removed: int | None
    """Lines; None: the file is binary."""


@dataclass(frozen=True, slots=True)
class Diff:
    text: str
    is_cut: bool
    """It is longer; only its beginning is here."""


def read_dirty_files(view: View, checkout: Checkout) -> list[FileStatus]:
    """Uncommitted changes. Files that are ignored are none."""
    flags = ("--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
    entries = view.git(checkout, "status", *flags).names
    return [FileStatus(entry[3:], _status_name(entry[:2])) for entry in entries]


def _status_name(code: str) -> str:
    if "U" in code or code in ("AA", "DD"):
        return "conflicted"
    return STATUS_NAMES.get(code.strip()[:1], "modified")


def count_commits(view: View, checkout: Checkout, base: str, commit: str) -> tuple[int, int]:
    """How many commits the one has that the other has not: ahead, behind."""
    behind, ahead = view.git(checkout, "rev-list", "--left-right", "--count", f"{base}...{commit}").line.split()
    return int(ahead), int(behind)


def read_counts(view: View, checkout: Checkout, since: str) -> list[FileCount]:
    """Changed files since a commit, with their lines."""
    with _index_with_new_files(view, checkout) as index:
        output = view.git(checkout, "diff", *DIFF_FLAGS, "--numstat", "-z", "--no-renames", since, index=index)
    rows = (entry.split("\t", 2) for entry in output.names)
    return [FileCount(path, _number(added), _number(removed)) for added, removed, path in rows]


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def read_diff(view: View, checkout: Checkout, since: str, max_bytes: int) -> Diff:
    with _index_with_new_files(view, checkout) as index:
        output = view.git(checkout, "diff", *DIFF_FLAGS, since, index=index, max_bytes=max_bytes)
    return Diff(output.stdout.decode("utf-8", "replace"), output.is_cut)


def commit_changes(view: View, checkout: Checkout, message: str) -> str | None:
    """The new commit; None: there was nothing to commit. Raises `Conflict` for files that need a filter."""
    _refuse_filtered(view, checkout)
    _add_all(view, checkout, None)
    if view.git(checkout, "diff", "--cached", "--quiet", *DIFF_FLAGS, accept=(0, 1)).code == 0:
        return None
    view.git(checkout, "commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-", stdin=message.encode())
    return view.commit_of(checkout, "HEAD")


def snapshot_changes(view: View, checkout: Checkout, message: str) -> str:
    """A commit of the worktree as it is, on no branch; its HEAD if nothing is uncommitted."""
    _refuse_filtered(view, checkout)
    head = view.git(checkout, "rev-parse", "HEAD").line
    with _copied_index(checkout) as index:
        _add_all(view, checkout, index)
        tree = view.git(checkout, "write-tree", index=index).line
    if tree == view.git(checkout, "rev-parse", "HEAD^{tree}").line:
        return head
    return view.git(checkout, "commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode()).line


def _refuse_filtered(view: View, checkout: Checkout) -> None:
    """Filters are not run here (`view`). Without its filter, a file of git-lfs would be committed whole."""
    names = [each.path for each in read_dirty_files(view, checkout)] if view.filters else []
    if not names:
        return
    listed = "\0".join(names).encode("utf-8", "surrogateescape")
    fields = view.git(checkout, "check-attr", "-z", "--stdin", "filter", stdin=listed).names
    attributes = zip(*[iter(fields)] * 3, strict=True)
    filtered = [path for path, _, value in attributes if value in view.filters]
    if filtered:
        raise Conflict(
            f"{', '.join(filtered[:5])}: .gitattributes demands a filter (git-lfs, for example), and the gateway runs "
            f"no program that a repository names. Commit these files yourself in {checkout.folder}.",
            code="WORKTREE_FILTERED",
            files=filtered[:MAX_LISTED_FILES],
        )


def _add_all(view: View, checkout: Checkout, index: Path | None, *flags: str) -> None:
    """All changes but those of submodules: to look into one, git starts another git with the submodule's own
    configuration."""
    entries = view.git(checkout, "ls-files", "--stage", "-z", index=index).names
    modules = [entry.partition("\t")[2] for entry in entries if entry.startswith(LINK_MODE)]
    excluded = [f":(exclude,literal,top){path}" for path in modules]
    view.git(checkout, "add", "--all", *flags, "--", ":(top)", *excluded, index=index)


@contextmanager
def _index_with_new_files(view: View, checkout: Checkout) -> Iterator[Path]:
    """Untracked files are in it by name, so that a diff shows them. Nothing is written into the repository."""
    with _copied_index(checkout) as index:
        new = [each.path for each in read_dirty_files(view, checkout) if each.status == "untracked"]
        for start in range(0, len(new), MAX_LISTED_FILES):
            _add_names(view, checkout, index, new[start : start + MAX_LISTED_FILES])
        yield index


def _add_names(view: View, checkout: Checkout, index: Path, paths: Sequence[str]) -> None:
    pathspecs = "\0".join(f":(literal,top){path}" for path in paths).encode("utf-8", "surrogateescape")
    flags = ("--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
    view.git(checkout, "add", *flags, index=index, stdin=pathspecs)


@contextmanager
def _copied_index(checkout: Checkout) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="agui-git-") as folder:
        index = Path(folder) / "index"
        if (checkout.git_dir / "index").exists():
            shutil.copyfile(checkout.git_dir / "index", index)
        yield index
