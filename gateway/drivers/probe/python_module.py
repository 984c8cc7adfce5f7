"""`python -m NAME`: then `python` is not enough, it is the module that may be missing.

In: the program that was found. Out: whether it has the module. Only Python itself can say so for sure, and starting it
takes a while, with a version manager's shim before it more than half a second. So it is asked only where something on
disk speaks for the module; where nothing does, it is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Command
from gateway.drivers.probe.command import Kept, Reply, ask
from gateway.drivers.probe.executable import Found, find, shebang

PYTHONS = ("python", "python3")
LIMIT = 10.0
GOOD_FOR = 30.0
HAS_MODULE = "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)"

SITES = ("lib/python3*", "lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages")
"""Below a prefix: the standard library's place, and those of packages."""
MANAGED = ("versions/*", "installs/python/*")
"""Below the home of a manager (pyenv, asdf): the prefixes that its shim chooses from."""

_answers: Kept[Reply] = Kept()


def module(command: Command) -> str | None:
    match command.run:
        case (str(program), "-m", str(name), *_) if Path(program).name in PYTHONS:
            return name.partition(".")[0]
        case _:
            return None


def at_hand(definition: AgentDefinition, environ: Mapping[str, str]) -> bool:
    """Its program, and its module where it is one, seem to be there: by the file system alone."""
    found = find(definition, environ)
    if found is None:
        return False
    name = module(found.command)
    return name is None or may_be_there(found, name)


def may_be_there(found: Found, name: str) -> bool:
    """Whether anything on disk speaks for it. To a package that is edited where it stands a file of paths (`.pth`)
    leads, which may be called anything."""
    prefixes = list(_prefixes(found))
    if not prefixes:
        return True  # a shim of a kind that is not known: only it can say
    sites = [site for prefix in prefixes for pattern in SITES for site in prefix.glob(pattern)]
    sites += [Path(part) for part in found.env.get("PYTHONPATH", "").split(":") if part]
    sites += Path(found.env.get("HOME", "/")).glob(".local/lib/python3*/site-packages")
    return any(_speaks(site, name) for site in sites)


def _prefixes(found: Found) -> Iterator[Path]:
    path = Path(found.path)
    if shebang(found.path):
        yield from (prefix for pattern in MANAGED for prefix in path.parent.parent.glob(pattern))
    else:
        yield from {path.parent.parent, path.resolve().parent.parent}


def _speaks(site: Path, name: str) -> bool:
    editable = any("editable" in path.name or name in path.name for path in site.glob("*.pth"))
    return editable or any(site.glob(f"{name}")) or any(site.glob(f"{name}.*"))


async def has(found: Found, name: str) -> bool:
    """Asks Python. No answer at all is no reason to call it missing."""
    question = (found.path, "-c", HAS_MODULE, name)
    reply = await _answers.get(question, lambda: ask(question, found.env, LIMIT), lambda _: GOOD_FOR)
    return reply.code != 1
