"""The gateway's own files, and the rule that no agent works where they are.

In: the settings. Out: which paths are the gateway's own, and a `ConfigError` where one of them is inside a workspace
root, links resolved. A program that can write the settings file or an agent's file runs code in the gateway's process;
one that can read the store or the token file has every conversation and every right. Agents write and read what is in
their workspace, so the two must not overlap.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import ConfigError
from gateway.settings import Settings, config_dir, data_dir

SQLITE_SCHEME = "sqlite:"
SQLITE_SUFFIXES = ("-wal", "-shm", "-journal", ".lock")
"""Of the files that SQLite and the gateway keep beside a database."""


@dataclass(frozen=True, slots=True)
class OwnPath:
    """A file or a folder that only the gateway and its operator may read or write."""

    name: str
    """What it is, for people."""
    path: Path
    setting: str | None = None
    """The setting that names it; None: it follows from the user's environment."""


def own_paths(settings: Settings) -> list[OwnPath]:
    """As they are named: links are not resolved."""
    paths = [
        OwnPath("the gateway's data folder", data_dir()),
        OwnPath("the gateway's configuration folder", config_dir(os.environ)),
    ]
    if settings.store.startswith(SQLITE_SCHEME):
        store = _store_file(settings.store)
        paths += [OwnPath("the store", Path(f"{store}{suffix}"), "store") for suffix in ("", *SQLITE_SUFFIXES)]
    paths.append(OwnPath("the trust file", settings.trust_file, "trust_file"))
    paths.append(OwnPath("the folder of the principals' homes", settings.homes, "homes"))
    paths.append(OwnPath("the folder of the threads' worktrees", settings.worktrees, "worktrees"))
    if settings.credentials_dir is not None:
        paths.append(OwnPath("the folder of the principals' secrets", settings.credentials_dir, "credentials_dir"))
    if settings.token_file is not None:
        paths.append(OwnPath("the token file", settings.token_file, "token_file"))
    if settings.config is not None:
        paths.append(OwnPath("the settings file", settings.config, "config"))
    paths += [OwnPath("a folder of agent files", folder, "agents") for folder in settings.agents]
    return paths


def check_workspace(settings: Settings) -> None:
    """Raises `ConfigError` when one of the gateway's own paths is inside a workspace root."""
    for own in own_paths(settings):
        for root in settings.workspace:
            if is_inside(own.path, root):
                raise ConfigError(_explain(own, root))


def withheld_paths(settings: Settings) -> tuple[Path, ...]:
    """The paths that no session may work in, read or write, even if a workspace root comes to contain one later."""
    return tuple(dict.fromkeys(Path(os.path.abspath(own.path)) for own in own_paths(settings)))


def is_withheld(real: Path, root: Path, withheld: Sequence[Path]) -> bool:
    """Whether the path, with its links resolved already, is or is inside a withheld path that lies in this root."""
    inside = (own for path in withheld for own in _spellings(path) if own == root or root in own.parents)
    return any(real == own or own in real.parents for own in inside)


def is_inside(path: Path, root: Path) -> bool:
    """Whether the path is the root or below it: as it is named, or with links resolved. A link inside the root counts
    too, because an agent that writes there can point it elsewhere."""
    real_root = Path(os.path.realpath(root))
    return any(each == real_root or real_root in each.parents for each in _spellings(path))


def _spellings(path: Path) -> Iterator[Path]:
    """The path with all links resolved; and with those of its folder only, which is where the name itself lies."""
    yield Path(os.path.realpath(path))
    absolute = os.path.abspath(path)
    yield Path(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))


def _store_file(url: str) -> Path:
    """As `store.backends` reads the URL."""
    rest = url.removeprefix(SQLITE_SCHEME)
    tail = rest.lstrip("/")
    return Path(tail).expanduser() if tail.startswith("~") or not rest.startswith("/") else Path(f"/{tail}")


def _explain(own: OwnPath, root: Path) -> str:
    root_path = os.path.realpath(root)
    move = "" if own.setting is None else f", or keep it elsewhere (`{own.setting}`)"
    return (
        f"{own.name} ({os.path.abspath(own.path)}) is inside the workspace {root_path}, where agents read and write. "
        f"Give the agents a folder of their own (--workspace DIR; `run`: --cwd DIR){move}."
    )
