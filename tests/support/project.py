"""The project as its reader gets it: the files of a clone in a folder of their own, and commands run there.

In: the working folder. Out: copies of it, installed once for all test workers, and processes started in them. Nothing
here writes into the working folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Timer

import pytest

ROOT = Path(__file__).resolve().parents[2]

INSTALL_LIMIT = 240.0
START_LIMIT = 60.0
STOP_LIMIT = 30.0

CALLERS_OWN = ("AGUI_GATEWAY_", "ARGS", "GIT_", "MAKE", "MFLAGS", "PYTHON", "VIRTUAL_ENV")
"""Set by whoever runs the tests, `make test` itself included, and not by a reader with a fresh clone."""


def environ(home: Path, **more: str) -> dict[str, str]:
    """A reader's environment; what the gateway keeps, it keeps in `home`."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(CALLERS_OWN)}
    # Python compiles what it imports; compiling all the rest would only take time.
    return {**found, "PIP_NO_COMPILE": "1", "XDG_DATA_HOME": str(home), "NO_COLOR": "1", **more}


def run(command: Sequence[str], cwd: Path, env: Mapping[str, str], limit: float = START_LIMIT) -> str:
    """What the command printed; if it fails, so does the test, with all that it said."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def files() -> list[Path]:
    """What a clone would hold, committed already or not yet. Relative to `ROOT`."""
    with TemporaryDirectory() as empty:
        # A repository without history asks .gitignore and nothing else, so an exported folder without .git does too.
        env = environ(Path(empty), GIT_CONFIG_GLOBAL=os.devnull)
        run(["git", "init", "-q", empty], ROOT, env)
        where = [f"--git-dir={empty}/.git", f"--work-tree={ROOT}"]
        listed = run(["git", *where, "ls-files", "--others", "--exclude-standard", "-z"], ROOT, env)
    return [Path(name) for name in sorted(listed.split("\0")) if name and (ROOT / name).is_file()]


def copy_project(target: Path) -> None:
    for path in files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target / path)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder for all test workers: the first to come makes it, the others wait for it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@dataclass(frozen=True, slots=True)
class Served:
    """A process that printed its address."""

    url: str
    said: tuple[str, ...]
    """The lines it printed, up to and with the one that has the address."""


@contextmanager
def serving(command: Sequence[str], cwd: Path, env: Mapping[str, str], limit: float = START_LIMIT) -> Iterator[Served]:
    """Runs until the block ends, then is stopped as Ctrl-C stops it: with all that it started."""
    with TemporaryFile("w+") as stderr:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
        try:
            said = _until_address(process, limit)
            if not said or "http://" not in said[-1]:
                stderr.seek(0)
                raise AssertionError(f"{command} did not start:\n{''.join(said)}{stderr.read()}")
            yield Served("http://" + said[-1].split("http://")[1].strip(), tuple(line.rstrip("\n") for line in said))
        finally:
            _stop(process)


def _until_address(process: subprocess.Popen[str], limit: float) -> list[str]:
    assert process.stdout is not None
    said: list[str] = []
    watchdog = Timer(limit, _signal, (process, signal.SIGKILL))
    watchdog.start()
    try:
        for line in process.stdout:
            said.append(line)
            if "http://" in line:
                break
    finally:
        watchdog.cancel()
    return said


def _stop(process: subprocess.Popen[str]) -> None:
    _signal(process, signal.SIGINT)
    try:
        # To the end of the output, which every process of the group holds open: `make` may end before what it started.
        process.communicate(timeout=STOP_LIMIT)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.communicate()
        raise


def _signal(process: subprocess.Popen[str], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def served_clone(factory: pytest.TempPathFactory) -> Path:
    """A fresh clone in which `make serve` was called once. What that printed is in `first.txt` beside it."""

    def make(folder: Path) -> None:
        copy_project(folder / "project")
        with make_serve(folder / "project", folder / "home", INSTALL_LIMIT) as served:
            (folder / "first.txt").write_text("\n".join(served.said))

    return made_once(factory, "clone", make) / "project"


@contextmanager
def make_serve(clone: Path, home: Path, limit: float = START_LIMIT, **more: str) -> Iterator[Served]:
    """`make serve`, on a free port and with the Python that runs the tests."""
    env = environ(home, AGUI_GATEWAY_PORT="0", PYTHON=sys.executable, **more)
    with serving(["make", "serve"], clone, env, limit) as served:
        yield served
