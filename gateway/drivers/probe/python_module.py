"""An agent that is started as `python -m NAME`: `python` exists nearly everywhere, but the module may be missing.

In: the program that was found. Out: whether it can import the module. Only Python itself knows for certain, and
starting it takes a while: with a version manager's shim more than half a second. So it is started only where a file
suggests the module; where none does, the module is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Command
from gateway.drivers.probe.command import Reply, ReplyCache, run_command
from gateway.drivers.probe.executable import FoundProgram, find, read_shebang

PYTHON_NAMES = ("python", "python3")
TIMEOUT_SECONDS = 10.0
CACHE_SECONDS = 30.0
FIND_SPEC = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"

SITE_PATTERNS = (
    "lib/python3*",
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "local/lib/python3*/dist-packages",
)
"""Below a prefix: directories of the standard library and of packages."""
MANAGED_PREFIXES = ("versions/*", "installs/python/*")
"""Below the home of a version manager (pyenv, asdf): the prefixes that its shim chooses from."""

_replies: ReplyCache[Reply] = ReplyCache()


def module_name(command: Command) -> str | None:
    """The top-level module of a `python -m` command; None for any other command."""
    match command.run:
        case (str(program), "-m", str(name), *_) if Path(program).name in PYTHON_NAMES:
            return name.partition(".")[0]
        case _:
            return None


def seems_installed(definition: AgentDefinition, environ: Mapping[str, str]) -> bool:
    """The agent's program, and its module if it has one, seem to exist: by the file system alone."""
    program = find(definition, environ)
    if program is None:
        return False
    name = module_name(program.command)
    return name is None or may_exist(program, name)


def may_exist(program: FoundProgram, name: str) -> bool:
    """Whether a file suggests the module. A package that is installed as editable is found by a `.pth` file, which may
    have any name."""
    prefixes = list(_prefixes(program))
    if not prefixes:
        return True  # an unknown kind of shim: only Python itself knows
    sites = [site for prefix in prefixes for pattern in SITE_PATTERNS for site in prefix.glob(pattern)]
    sites += [Path(part) for part in program.env.get("PYTHONPATH", "").split(":") if part]
    sites += Path(program.env.get("HOME", "/")).glob(".local/lib/python3*/site-packages")
    return any(_suggests(site, name) for site in sites)


def _prefixes(program: FoundProgram) -> Iterator[Path]:
    path = Path(program.path)
    if read_shebang(program.path):
        yield from (prefix for pattern in MANAGED_PREFIXES for prefix in path.parent.parent.glob(pattern))
    else:
        yield from {path.parent.parent, path.resolve().parent.parent}


def _suggests(site: Path, name: str) -> bool:
    is_editable = any("editable" in path.name or name in path.name for path in site.glob("*.pth"))
    return is_editable or any(site.glob(f"{name}")) or any(site.glob(f"{name}.*"))


async def is_importable(program: FoundProgram, name: str) -> bool:
    """Run Python to find out. A Python that does not answer is no proof that the module is missing."""
    command = (program.path, "-c", FIND_SPEC, name)
    reply = await _replies.get(
        command, lambda: run_command(command, program.env, TIMEOUT_SECONDS), lambda _: CACHE_SECONDS
    )
    return reply.code != 1
