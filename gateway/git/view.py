"""A repository without its configuration: the only form in which the gateway's git sees one.

In: a repository's folder. Out: a folder of our own with links to its objects and branches, and a configuration that has
only the keys of `LOCAL_KEYS`. git reads its configuration, and finds hooks, in this folder. So a key that names a
program (a filter, a driver, a monitor, a helper, one that a later git adds) has no effect, whenever it was written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import Refused
from gateway.git.command import UNAVAILABLE, Output, run_git
from gateway.git.repository import LINKED_NAMES, Checkout, is_inside

LOCAL_KEYS = frozenset(
    (
        *("core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase", "core.eol"),
        *("core.precomposeunicode", "core.autocrlf", "core.safecrlf", "core.logallrefupdates"),
        *("extensions.objectformat", "extensions.refstorage", "user.name", "user.email"),
    )
)
"""Of the repository. None of them names a program or a path."""
GLOBAL_KEYS = frozenset(("core.autocrlf", "core.eol", "core.excludesfile", "user.name", "user.email"))
"""Of the operator's own configuration."""
DEFAULTS = {
    "core.repositoryformatversion": "0",
    "core.logallrefupdates": "true",
    "user.name": "agui-gateway",
    "user.email": "agui-gateway@localhost",
}


@dataclass(frozen=True, slots=True)
class View:
    folder: Path
    filters: frozenset[str] = frozenset()
    """Names of the filters that the user's own git runs here, and this one does not."""

    def git(self, checkout: Checkout, *arguments: str, index: Path | None = None, **options: Any) -> Output:
        """Runs git in a checkout. `index`: instead of the checkout's own. `options`: as `run_git` has them."""
        variables = {
            "GIT_DIR": str(checkout.git_dir),
            "GIT_COMMON_DIR": str(self.folder),
            "GIT_WORK_TREE": str(checkout.folder),
        }
        if index is not None:
            variables["GIT_INDEX_FILE"] = str(index)
        return run_git(arguments, variables, **options)

    def commit_of(self, checkout: Checkout, name: str) -> str | None:
        """The commit that a name means; None: there is none."""
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return self.git(checkout, *arguments, accept=(0, 1, 128)).line or None

    def branch_of(self, checkout: Checkout) -> str | None:
        """The branch that is checked out; None: HEAD is detached."""
        reference = self.git(checkout, "symbolic-ref", "--quiet", "HEAD", accept=(0, 1)).line
        return reference.removeprefix("refs/heads/") if reference.startswith("refs/heads/") else None

    def is_ancestor(self, checkout: Checkout, ancestor: str, commit: str) -> bool:
        return self.git(checkout, "merge-base", "--is-ancestor", ancestor, commit, accept=(0, 1)).code == 0


@contextmanager
def open_view(common_dir: Path) -> Iterator[View]:
    """Until the end of the context. Raises `Refused` where the repository is bare or reaches out of its folder."""
    local, own = _read_local(common_dir), _read_global()
    filters = frozenset(key.split(".", 1)[1].rpartition(".")[0] for key in (*local, *own) if key.startswith("filter."))
    settings = DEFAULTS | _select(own, GLOBAL_KEYS) | _select(local, LOCAL_KEYS)
    if "core.excludesfile" in settings:
        settings["core.excludesfile"] = os.path.expanduser(settings["core.excludesfile"])
    with tempfile.TemporaryDirectory(prefix="agui-git-") as name:
        folder = Path(name)
        for entry in LINKED_NAMES:
            target = Path(os.path.realpath(common_dir / entry))
            if not is_inside(target, [common_dir]):
                raise Refused(f"{common_dir / entry} is a link to a place outside the repository", code=UNAVAILABLE)
            # git creates this file by way of the link; of a folder that is missing it needs none.
            if target.exists() or entry == "packed-refs":
                (folder / entry).symlink_to(target)
        (folder / "config").write_text(_format(settings), "utf-8", "surrogateescape")
        yield View(folder, filters)


def is_bare(common_dir: Path) -> bool:
    return _read_local(common_dir).get("core.bare", "false").lower() in ("true", "yes", "on", "1", "")


def _select(values: Mapping[str, str], keys: frozenset[str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key in keys}


def _read_local(common_dir: Path) -> dict[str, str]:
    """Only the repository's own file: what it includes may be anywhere."""
    return _read_list(["config", "--file", str(common_dir / "config"), "--no-includes"])


def _read_global() -> dict[str, str]:
    home = Path(os.environ.get("HOME") or "/nonexistent")
    files = (Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config", home / ".gitconfig")
    values: dict[str, str] = {}
    for file in files:
        if file.is_file():
            values |= _read_list(["config", "--file", str(file), "--includes"])
    return values


def _read_list(command: Sequence[str]) -> dict[str, str]:
    """Key → its last value. A file that git cannot read has none."""
    # Not in any repository: else git would read that one's configuration for itself.
    output = run_git([*command, "--list", "-z"], {"GIT_DIR": os.devnull}, accept=(0, 1, 3, 128))
    pairs = (entry.partition("\n") for entry in output.names)
    return {key: value for key, _, value in pairs}


def _format(settings: Mapping[str, str]) -> str:
    lines = ["[core]\n\tbare = false\n"]
    for key, value in settings.items():
        section, _, name = key.partition(".")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{section}]\n\t{name} = "{escaped}"\n')
    return "".join(lines)
