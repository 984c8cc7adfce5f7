"""Finds a project's own agent configuration: which files it has, and what they would run or set.

In: a folder and the patterns of an agent's file. Out: a list of `ConfigurationItem`, bounded. Agents look for their
files in the working directory and above it, so the directories above are searched too, up to the user's home (whose
files are the user's own). Never: an exception for what a project holds, a file that is a link out of its folder, a
device or a pipe that is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from gateway.catalog.trust import ProjectConfiguration
from gateway.trust.file_formats import parse_environment, parse_file
from gateway.trust.folders import real_folder
from gateway.trust.settings_items import SettingsItem, is_secret, read_items
from gateway.trust.text import show_text

MAX_ITEMS = 200
MAX_ITEMS_PER_FILE = 60
MAX_FILE_BYTES = 256 * 1024
MAX_DEPTH = 8
"""How deep `**` descends."""
MAX_ENTRIES = 5000
"""Entries of directories that one search looks at."""
MAX_PARENTS = 40

WHOLE_FILE_KINDS = {"hooks": "hook", "plugins": "plugin", "commands": "command"}
PARSED_KINDS = {"settings": None, "mcp": "mcp-server", "hooks": "hook"}
"""Kind of file → kind of those of its entries that no table knows."""
PARSED_SUFFIXES = (".json", ".jsonc", ".json5", ".toml")


@dataclass(frozen=True, slots=True)
class ConfigurationItem:
    """One thing that a project would run or set."""

    file: str
    """Relative to the folder that was searched."""
    kind: str
    """`hook`, `mcp-server`, `plugin`, `helper`, `base-url`, `environment`, `permission`, `command`, `setting`; `link`,
    `unreadable` and `more` for what could not be read."""
    key: str
    """Where in the file; empty: the file itself."""
    text: str
    """What it runs or sets, as one line."""

    def to_json(self) -> dict[str, str]:
        values = {"file": self.file, "kind": self.kind, "key": self.key, "text": self.text}
        return {name: value for name, value in values.items() if value}


def find_configuration(folder: Path, configuration: ProjectConfiguration) -> list[ConfigurationItem]:
    """`folder`: a real path. The items of the folder itself come first."""
    search = _Search(folder)
    found = _unique(search.find(configuration))
    items = list(islice(found, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS or search.is_exhausted:
        items = [*items[:MAX_ITEMS], ConfigurationItem("", "more", "", "There is more than is listed here.")]
    return items


def has_configuration(folder: Path, configuration: ProjectConfiguration) -> bool:
    search = _Search(folder)
    return next(iter(search.find(configuration)), None) is not None or search.is_exhausted


def searched_folders(folder: Path) -> list[Path]:
    """The folder, and those above it in which agents look for their files: up to the home directory, or to the root
    for a folder that is not in it."""
    home = real_folder(Path.home())
    above = list(folder.parents)
    if home in above:
        above = above[: above.index(home)]
    return [folder, *above[:MAX_PARENTS]]


def _unique(items: Iterable[ConfigurationItem]) -> Iterator[ConfigurationItem]:
    seen = set()
    for item in items:
        if item not in seen:
            seen.add(item)
            yield item


class _Search:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries = 0
        self._base = folder

    @property
    def is_exhausted(self) -> bool:
        """It has stopped before the end."""
        return self._entries > MAX_ENTRIES

    def find(self, configuration: ProjectConfiguration) -> Iterator[ConfigurationItem]:
        for base in searched_folders(self._folder):
            self._base = base
            for kind, pattern in configuration.patterns():
                for path in self._match(base, pattern.split("/"), 0):
                    yield from self._read(path, kind)

    # -- files by pattern

    def _match(self, folder: Path, parts: list[str], depth: int) -> Iterator[Path]:
        """Names are compared without case: on some filesystems another spelling is the same file."""
        head, rest = parts[0], parts[1:]
        if head == "**":
            yield from self._descend(folder, rest or ["*"], depth)
            return
        for entry in self._list(folder):
            if not fnmatchcase(entry.name.lower(), head.lower()):
                continue
            path = folder / entry.name
            if not rest:
                yield path
            elif entry.is_symlink() and not self._is_inside(path):
                yield path  # the agent would follow it
            elif entry.is_dir():
                yield from self._match(path, rest, depth + 1)

    def _descend(self, folder: Path, rest: list[str], depth: int) -> Iterator[Path]:
        if depth > MAX_DEPTH:
            self._entries = MAX_ENTRIES + 1
            return
        for path in self._match(folder, rest, depth):
            if not path.is_dir() or path.is_symlink():
                yield path
        for entry in self._list(folder):
            path = folder / entry.name
            if entry.is_symlink():
                if entry.is_dir() and not self._is_inside(path):
                    yield path
            elif entry.is_dir(follow_symlinks=False):
                yield from self._descend(path, rest, depth + 1)

    def _list(self, folder: Path) -> list[os.DirEntry[str]]:
        if self.is_exhausted:
            return []
        try:
            with os.scandir(folder) as entries:
                found = list(islice(entries, MAX_ENTRIES + 1))
        except OSError:
            return []
        if len(found) > MAX_ENTRIES:
            self._entries = MAX_ENTRIES + 1
            return []
        self._entries += 1  # a directory may be listed for many patterns: its entries are not counted each time
        return sorted(found, key=lambda entry: entry.name)

    def _is_inside(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return real == self._base or self._base in real.parents

    # -- what a file holds

    def _read(self, path: Path, kind: str) -> Iterator[ConfigurationItem]:
        name = show_text(os.path.relpath(path, self._folder), 200)
        if path.is_symlink() and (path.is_dir() or not self._is_inside(path)):
            target = show_text(os.path.realpath(path), 200)
            yield ConfigurationItem(name, "link", "", f"A link to {target}, which the agent may follow.")
            return
        content = _read_text(path)
        if content is None:
            if not path.is_dir():
                yield ConfigurationItem(name, "unreadable", "", "It cannot be read, or is too large to be shown.")
            return
        if kind == "environment":
            yield from _environment_items(name, content)
        elif kind in PARSED_KINDS and (kind != "hooks" or name.lower().endswith(PARSED_SUFFIXES)):
            yield from _parsed_items(name, content, kind)
        else:
            yield ConfigurationItem(name, WHOLE_FILE_KINDS.get(kind, "setting"), "", show_text(content))


def _parsed_items(name: str, content: str, kind: str) -> Iterator[ConfigurationItem]:
    try:
        tree = parse_file(name, content)
    except ValueError as exc:
        yield ConfigurationItem(name, "unreadable", "", f"{show_text(str(exc), 100)}: {show_text(content)}")
        return
    found: Iterator[SettingsItem] = read_items(tree, PARSED_KINDS[kind])
    for item in islice(found, MAX_ITEMS_PER_FILE):
        yield ConfigurationItem(name, item.kind, item.key, item.text)
    if next(found, None) is not None:
        yield ConfigurationItem(name, "more", "", "The file holds more than is listed here.")


def _environment_items(name: str, content: str) -> Iterator[ConfigurationItem]:
    variables = parse_environment(content)
    for item in islice(read_items({"env": variables}), MAX_ITEMS_PER_FILE):
        variable = item.key.removeprefix("env.")
        is_shown = item.kind == "base-url" or not is_secret(variable)
        yield ConfigurationItem(name, item.kind, variable, item.text if is_shown else "(a value that is not shown)")


def _read_text(path: Path) -> str | None:
    """None: it is no regular file, too large, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None if len(data) > MAX_FILE_BYTES else data.decode("utf-8-sig", "replace")
