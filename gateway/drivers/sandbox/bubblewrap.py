"""The command line of bubblewrap (https://github.com/containers/bubblewrap), and whether it works on this machine.

In: a policy, a home directory, the paths that a program needs. Out: arguments. What is not named here does not exist
inside. Later arguments cover earlier ones, so the order is: the system, the home directory, programs, the workspace,
the gateway's exchange directory, and at last what must never be visible.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.drivers.sandbox.repositories import git_directories, protected_paths

PROGRAM = "bwrap"
PROBE_TIMEOUT_SECONDS = 10.0
TEMPORARY_BYTES = 1024 * 1024 * 1024
"""The size of /tmp, and of the home directory's unnamed rest. Both are in memory."""
ROOT_ALIAS = "65534"
"""The user id inside, where the gateway runs as root: many programs refuse to work as root, and root could not use a
sandbox of its own in there."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")
"""Read-only."""
SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh")
"""Files of the system that only root can read; the gateway may be root."""

NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--cap-drop", "ALL"),
)
"""The supervisor has begun a session without a terminal, so no keystrokes can be put into one (TIOCSTI). Bubblewrap's
own `--new-session` is not used: it would separate the agent from the process group that gets the gateway's signals."""

Arguments = Iterator[str]


@cache
def unusable_reason() -> str | None:
    """Why bubblewrap cannot be used here; None: it can. Found out once, by running it."""
    if sys.platform != "linux":
        return "bubblewrap is for Linux only"
    if (program := shutil.which(PROGRAM)) is None:
        return "bubblewrap is not installed (the program `bwrap`)"
    command = [program, *_namespaces(), *_system(), "--size", "4096", "--tmpfs", "/tmp", "--", "/bin/true"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        return f"bubblewrap cannot be run: {exc}"
    if result.returncode == 0:
        return None
    last_line = (result.stderr.strip().splitlines() or [f"it exited with code {result.returncode}"])[-1]
    return f"bubblewrap does not work here, probably because user namespaces are not permitted: {last_line}"


def bubblewrap_arguments(
    policy: SandboxPolicy, cwd: Path, home: Path, programs: Sequence[Path], home_files: Sequence[tuple[int, Path]]
) -> list[str]:
    """`home_files`: open files whose content is copied to these paths."""
    folders = [path for folder in policy.folders for path in (folder, *git_directories(folder))]
    named = [home / name[2:] for name in (*policy.home_read, *policy.home_write)]
    shown = [*map(Path, SYSTEM), *folders, *named, *programs, *policy.visible]
    hidden = [path.resolve() for path in policy.hidden]
    hidden = [path for path in hidden if _is_inside(path, shown)]  # whatever is not shown is not there
    kept = [*folders, home, *policy.visible, policy.exchange]
    return [
        shutil.which(PROGRAM) or PROGRAM,
        *_namespaces(),
        *_system(),
        *("--size", str(TEMPORARY_BYTES), "--tmpfs", "/tmp", "--symlink", "/tmp", "/var/tmp"),
        *_home(policy, home, home_files),
        *_read_only(path for path in programs if not _is_inside(path, folders)),
        *(part for path in _outermost(folders) for part in ("--bind", str(path), str(path))),
        *_repositories(folders),
        *_read_only(policy.visible),
        *_read_only([policy.exchange]),
        *(part for path in hidden for each in _hideable(path, kept) for part in _hide(each)),
        *("--remount-ro", "/", "--chdir", str(cwd if _is_inside(cwd, policy.folders) else policy.folders[0]), "--"),
    ]


def _namespaces() -> Arguments:
    yield from NAMESPACES
    if os.geteuid() == 0:
        yield from ("--uid", ROOT_ALIAS, "--gid", ROOT_ALIAS)


def _system() -> Arguments:
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():  # `/bin` is one where it is a part of `/usr`
            yield from ("--symlink", str(path.readlink()), name)
        elif path.is_dir():
            yield from ("--ro-bind", name, name)
    for name in SECRETS:
        if Path(name).exists() and os.access(name, os.R_OK):
            yield from _hide(Path(name))
    yield from ("--proc", "/proc", "--dev", "/dev")


def _home(policy: SandboxPolicy, home: Path, files: Sequence[tuple[int, Path]]) -> Arguments:
    if home.is_absolute() and home != Path("/"):
        yield from ("--size", str(TEMPORARY_BYTES), "--perms", "0700", "--tmpfs", str(home))
    copies = {path: fd for fd, path in files}
    names = {**dict.fromkeys(policy.home_read, "--ro-bind"), **dict.fromkeys(policy.home_write, "--bind")}
    for name in sorted(names, key=lambda name: name.count("/", 0, -1)):  # an inner path covers a part of an outer one
        path = home / name[2:]
        if path in copies:
            yield from ("--perms", "0600", "--file", str(copies[path]), str(path))
        elif path.exists():
            yield from (names[name], str(path), str(path))


def _repositories(folders: list[Path]) -> Arguments:
    """A mount cannot be renamed, so a repository cannot be replaced by one with other hooks."""
    directories, executed = protected_paths(folders)
    for path in directories:
        yield from ("--bind", str(path), str(path))
    for path in executed:
        yield from ("--ro-bind", str(path), str(path))


def _read_only(paths: Iterable[Path]) -> Arguments:
    for path in dict.fromkeys(paths):
        if path.exists() and not _is_inside(path, map(Path, SYSTEM)):
            yield from ("--ro-bind", str(path), str(path))


def _hideable(path: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """The path, or the parts of it that hold none of the folders: a session may work in a folder of the gateway's own,
    and the home directory of a principal is one."""
    if not any(folder.is_relative_to(path) for folder in folders):
        if path.exists() and not path.is_symlink():
            yield path
    elif path.is_dir() and path not in folders:
        for child in path.iterdir():
            yield from _hideable(child, folders)


def _hide(path: Path) -> Arguments:
    if path.is_dir():
        yield from ("--size", "4096", "--perms", "0555", "--tmpfs", str(path))
    else:
        yield from ("--ro-bind", "/dev/null", str(path))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    distinct = list(dict.fromkeys(paths))
    return [path for path in distinct if not _is_inside(path, (other for other in distinct if other != path))]


def _is_inside(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
