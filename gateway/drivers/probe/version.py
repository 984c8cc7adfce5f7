"""The installed version of an agent.

In: the program that was found, and the version command and packages of the agent's file. Out: the version, or None. The
package that the program belongs to is read first (`package.json`, Python's metadata): that takes a millisecond, while
starting a program takes up to seconds, may use the network, and may update the program. Else the version command is
run, once for each (path, time of change).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from gateway.catalog.sections import Command, Install
from gateway.drivers.probe.command import Reply, ReplyCache, run_command
from gateway.drivers.probe.executable import locate

TIMEOUT_SECONDS = 10.0
"""Of a version command: the slowest one measured takes 2.3 seconds on an idle machine."""
RETRY_SECONDS = 60.0
"""After a command that did not answer in time."""
UNLIMITED_SECONDS = float("inf")
MAX_PACKAGE_JSON_BYTES = 1 << 20
MAX_ERROR_LINE_CHARS = 200
"""Of the last line of a version command that fails."""

USAGE_ERRORS = (2, 64)
"""Exit codes of a program that does not know the option: it works, and does not tell its version."""
VERSION_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:[-+.]?[0-9A-Za-z]+)*")


@dataclass(frozen=True, slots=True)
class Version:
    text: str | None = None
    failure: str | None = None
    """The program exists and its version command fails: a prompt would hardly do better."""


def _last_line(text: str) -> str:
    """The last line that says something: programs draw boxes around their errors."""
    lines = [line.strip("│┃|╰╯─━ \t") for line in text.splitlines()]
    readable = [line for line in lines if any(character.isalpha() for character in line)]
    return f": {readable[-1][:MAX_ERROR_LINE_CHARS]}" if readable else ""


_replies: ReplyCache[Reply] = ReplyCache()


async def run_version_command(command: Sequence[str], env: Mapping[str, str]) -> Version:
    path = locate(command[0], env)
    if path is None:
        return Version()
    reply = await run_cached(command, path, env)
    line = " ".join(command)
    if reply.failure is not None:
        return Version(failure=reply.failure)
    if (number := VERSION_NUMBER.search(reply.text)) is not None:
        return Version(number[0])
    if reply.code and reply.code not in USAGE_ERRORS:
        return Version(failure=f"`{line}` fails with code {reply.code}{_last_line(reply.text)}")
    return Version()


async def run_cached(command: Sequence[str], path: str, env: Mapping[str, str]) -> Reply:
    """The reply of a command that prints the same as long as its program does not change."""
    key = (tuple(command), *_file_version(path))
    return await _replies.get(
        key,
        lambda: run_command(command, env, TIMEOUT_SECONDS),
        lambda reply: RETRY_SECONDS if reply.is_late else UNLIMITED_SECONDS,
    )


def _file_version(path: str) -> tuple[str, int]:
    real_path = os.path.realpath(path)
    try:
        return real_path, os.stat(real_path).st_mtime_ns
    except OSError:
        return real_path, 0


def read_package_version(
    command: Command, path: str, env: Mapping[str, str], installs: Sequence[Install]
) -> str | None:
    """The version of the package that the program belongs to. It counts where the program is one of the package's own
    commands, or the agent is installed by that package: `npx` belongs to a package too."""
    is_own_command = len(command.version) == 2
    program = locate(command.version[0], env) if command.version else path
    if program is None:
        return None
    names = {normalize_name(method.package) for method in installs}
    real_path = Path(os.path.realpath(program))
    for name, version, is_bin in (*_node_package(real_path), *_python_packages(real_path, names)):
        if normalize_name(name) in names or (is_own_command and is_bin):
            return version
    return None


def normalize_name(package: str) -> str:
    """`hermes_agent[acp]` → `hermes-agent`"""
    return re.sub(r"[-_.]+", "-", package.partition("[")[0]).lower()


def _node_package(program: Path) -> Iterator[tuple[str, str, bool]]:
    """(name, version, is the program one of its commands) of the nearest `package.json` above the program."""
    for folder in program.parents:
        if folder.name == "node_modules":
            return
        match _read_json(folder / "package.json"):
            case {"name": str(name), "version": str(version), **more}:
                bins = more.get("bin")
                paths = bins.values() if isinstance(bins, dict) else [bins]
                is_bin = any(isinstance(path, str) and (folder / path).resolve() == program for path in paths)
                yield name, version, is_bin
                return


def _read_json(path: Path) -> object:
    try:
        return orjson.loads(path.read_bytes()) if path.stat().st_size <= MAX_PACKAGE_JSON_BYTES else None
    except (OSError, ValueError):
        return None


def _python_packages(program: Path, names: set[str]) -> Iterator[tuple[str, str, bool]]:
    """(name, version, False) of these packages in the virtual environment whose `bin` holds the program."""
    for site in program.parent.parent.glob("lib/python3*/site-packages"):
        for info in site.glob("*.dist-info"):
            name, _, version = info.name.removesuffix(".dist-info").partition("-")
            if normalize_name(name) in names and version:
                yield name, version, False
