"""Which directories a program needs to run, besides the system's: where it is installed, and its interpreter.

In: a command and its PATH. Out: directories and files, to be made visible read-only. Many agents are installed below
the home directory (npm, uv, bun, version managers), which is otherwise not visible in a sandbox.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

MAX_INTERPRETERS = 4
"""A script's interpreter may be a script."""
SHEBANG_BYTES = 256


def program_paths(command: Sequence[str], search_path: str, home: Path) -> list[Path]:
    """In the order in which they are found; some may be inside others."""
    names = {Path("/"), home, home / ".local", Path("/tmp")}
    paths = [Path(entry) for entry in search_path.split(":") if entry.startswith("/")]
    paths = [path for path in paths if path.is_dir() and path not in names]
    program: str | None = command[0]
    for _ in range(MAX_INTERPRETERS):
        found = shutil.which(program, path=search_path) if program else None
        if found is None:
            break
        paths += [path for path in _installation(Path(found).absolute(), home) if path not in names]
        program = _interpreter(Path(found))
    return [*paths, *(Path(part) for part in command[1:] if part.startswith("/") and Path(part).is_file())]


def _installation(program: Path, home: Path) -> Iterator[Path]:
    """What belongs to the program: the directory that its link is in, then all of its package or environment."""
    yield program.parent if program.parent != home else program
    if program.parent.name == "shims":  # of a version manager: scripts that look for the program beside them
        yield program.parent.parent
    yield from _environments(program)
    real = program.resolve()
    if real != program:
        yield from _environments(real)
    packages = [parent for parent in real.parents if parent.name == "node_modules"]
    if packages:
        yield packages[-1]
    elif real.parent.name in ("bin", "libexec") and (real.parent.parent / "lib").is_dir():
        yield real.parent.parent
    else:
        yield real.parent


def _environments(program: Path) -> Iterator[Path]:
    """The Python environment that the program is in, and the installation that this is based on."""
    for parent in program.parents:
        settings = parent / "pyvenv.cfg"
        if settings.is_file():
            yield parent
            for line in settings.read_text("utf-8", "replace").splitlines():
                key, _, value = line.partition("=")
                if key.strip() == "home":
                    yield Path(value.strip()).resolve().parent
            return


def _interpreter(program: Path) -> str | None:
    try:
        with program.open("rb") as file:
            line = file.read(SHEBANG_BYTES).split(b"\n", 1)[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    parts = line[2:].decode("utf-8", "replace").split()
    if parts and Path(parts[0]).name == "env":
        parts = [part for part in parts[1:] if not part.startswith("-") and "=" not in part]
    return parts[0] if parts else None
