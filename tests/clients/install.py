"""The pinned JavaScript clients, installed once per lockfile: `python -m tests.clients.install`.

In: `package-lock.json` beside this file, and the machine's own Node. Out: `node_modules`, with a stamp inside it that
says which lockfile it was made from. It installs nothing else and nowhere else.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
LOCKFILE = HERE / "package-lock.json"
STAMP = HERE / "node_modules" / ".installed-from"
"""Inside the folder that npm makes anew, so it cannot outlive what it speaks of."""
OLDEST_NODE = 20
NPM_LIMIT = 600.0


class NoNode(Exception):
    """The clients cannot run here; the text says why."""


def node() -> str:
    """The path of a Node that is new enough."""
    path = shutil.which("node")
    if path is None:
        raise NoNode(f"the official clients need Node {OLDEST_NODE} or newer, and there is no `node` on the PATH")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        raise NoNode(f"the official clients need Node {OLDEST_NODE} or newer, and {path} is {version}")
    return path


def install(*, show: bool = False) -> bool:
    """True if npm had to work. With `show`, npm writes to the terminal; else its words are kept for the error."""
    node()
    with _alone():
        wanted = hashlib.sha256(LOCKFILE.read_bytes()).hexdigest()
        if STAMP.is_file() and STAMP.read_text() == wanted:
            return False
        _npm_ci(show)
        STAMP.write_text(wanted)
        return True


@contextmanager
def _alone() -> Iterator[None]:
    """Several test workers come here at once: one installs, the others wait for it."""
    with LOCKFILE.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _npm_ci(show: bool) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NoNode("the official clients are installed by npm, and there is no `npm` on the PATH")
    words = None if show else subprocess.PIPE
    done = subprocess.run([npm, "ci"], cwd=HERE, stdout=words, stderr=words, text=True, timeout=NPM_LIMIT)
    if done.returncode != 0:
        raise RuntimeError(f"`npm ci` failed in {HERE.name}:\n{done.stdout or ''}{done.stderr or ''}".strip())


def main() -> int:
    try:
        made = install(show=True)
    except (NoNode, RuntimeError) as exc:
        print(exc, file=sys.stderr)
        return 1
    print("the official clients are installed" if made else "the official clients were installed already")
    return 0


if __name__ == "__main__":
    sys.exit(main())
