"""Which version of an agent is there.

In: the program that was found, and what its file says of its version and its packages. Out: the version, or None. The
package that a program belongs to is looked at first (`package.json`, Python's metadata): that takes a millisecond, and
starting a program takes up to seconds, may ask the network, and may update it. Else its own command is asked, once for
each (path, time of its last change).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from gateway.catalog.sections import Command, Install
from gateway.drivers.probe.command import Kept, Reply, ask
from gateway.drivers.probe.executable import where

LIMIT = 10.0
"""Of a version command: the slowest that was seen takes 2.3 seconds on an idle machine."""
TRY_AGAIN = 60.0
"""After one that did not answer in time."""
FOR_EVER = float("inf")
LARGEST = 1 << 20
"""Of a `package.json`."""
SHOWN = 200
"""Of its last line, where it fails."""

NUMBER = re.compile(r"\d+(?:\.\d+)+(?:[-+.]?[0-9A-Za-z]+)*")


@dataclass(frozen=True, slots=True)
class Version:
    text: str | None = None
    failure: str | None = None
    """The program is there and its version command fails: it will hardly do better with a prompt."""


_answers: Kept[Reply] = Kept()


async def asked(command: Sequence[str], env: Mapping[str, str]) -> Version:
    path = where(command[0], env)
    if path is None:
        return Version()
    reply = await remembered(command, path, env)
    line = " ".join(command)
    if reply.failure is not None:
        return Version(failure=reply.failure)
    if (number := NUMBER.search(reply.text)) is not None:
        return Version(number[0])
    if reply.code:
        said = f": {reply.text.splitlines()[-1][:SHOWN]}" if reply.text else ""
        return Version(failure=f"`{line}` fails with code {reply.code}{said}")
    return Version()


async def remembered(command: Sequence[str], path: str, env: Mapping[str, str]) -> Reply:
    """The reply of a command that says the same as long as its program stays as it is."""
    key = (tuple(command), *_stamp(path))
    return await _answers.get(key, lambda: ask(command, env, LIMIT), lambda r: TRY_AGAIN if r.late else FOR_EVER)


def _stamp(path: str) -> tuple[str, int]:
    real = os.path.realpath(path)
    try:
        return real, os.stat(real).st_mtime_ns
    except OSError:
        return real, 0


def near(command: Command, path: str, env: Mapping[str, str], installs: Sequence[Install]) -> str | None:
    """What the package says that the program belongs to. Believed where the program is the package's own, or the
    package is one that the agent is installed by: `npx` belongs to a package too."""
    own = len(command.version) == 2
    program = where(command.version[0], env) if command.version else path
    if program is None:
        return None
    names = {plain(way.package) for way in installs}
    real = Path(os.path.realpath(program))
    for name, version, belongs in (*_node(real), *_python(real, names)):
        if plain(name) in names or (own and belongs):
            return version
    return None


def plain(package: str) -> str:
    """`hermes_agent[acp]` → `hermes-agent`"""
    return re.sub(r"[-_.]+", "-", package.partition("[")[0]).lower()


def _node(program: Path) -> Iterator[tuple[str, str, bool]]:
    """The nearest `package.json` above with a name and a version, and whether the program is one of its commands."""
    for folder in program.parents:
        if folder.name == "node_modules":
            return
        match _read(folder / "package.json"):
            case {"name": str(name), "version": str(version), **more}:
                bins = more.get("bin")
                paths = bins.values() if isinstance(bins, dict) else [bins]
                mine = any(isinstance(path, str) and (folder / path).resolve() == program for path in paths)
                yield name, version, mine
                return


def _read(path: Path) -> object:
    try:
        return orjson.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else None
    except (OSError, ValueError):
        return None


def _python(program: Path, names: set[str]) -> Iterator[tuple[str, str, bool]]:
    """The metadata of a virtual environment in whose `bin` the program stands, for the packages that are asked for."""
    for site in program.parent.parent.glob("lib/python3*/site-packages"):
        for info in site.glob("*.dist-info"):
            name, _, version = info.name.removesuffix(".dist-info").partition("-")
            if plain(name) in names and version:
                yield name, version, False
