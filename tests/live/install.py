"""The pinned agents, each installed once into a folder of its own: `python -m tests.live.install [ID ...]`.

In: `agents.toml`. Out: folders below `$AGUI_TEST_CACHE` (or `~/.cache/agui-gateway-tests`), each with a stamp that says
what it was made from. It touches nothing outside, and runs no script of a package but those the file names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from tests.live.recipes import Recipe, Recipes, load_recipes

STAMP = ".installed-from"
STEP_LIMIT = 900.0


class NotInstalled(Exception):
    """What went wrong, with the last words of the program that failed."""


def cache() -> Path:
    given = os.environ.get("AGUI_TEST_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "agui-gateway-tests"


def programs(recipe: Recipe) -> list[Path]:
    """The folders of the agent's programs, for the front of its PATH."""
    if recipe.pypi:
        return [cache() / recipe.folder / "venv" / "bin"]
    return [cache() / recipe.folder / "node_modules" / ".bin", _node_bin()]


def install(recipe: Recipe, recipes: Recipes) -> bool:
    """True if there was something to do."""
    if recipe.pypi:
        _made("uv", recipes.uv, lambda folder: _install_uv(folder, recipes.uv))
        return _made(recipe.folder, _pins(recipe, recipes), lambda folder: _install_pypi(folder, recipe, recipes))
    _made("node", recipes.node, lambda folder: _npm(folder, [f"{_node_package()}@{recipes.node}"], recipes.before))
    return _made(recipe.folder, _pins(recipe, recipes), lambda folder: _install_npm(folder, recipe, recipes))


def _pins(recipe: Recipe, recipes: Recipes) -> str:
    """What the folder depends on. The environment and the files are the home's affair."""
    told = asdict(recipe)
    kept = {key: told[key] for key in ("npm", "pypi", "python", "after")} | ({"bare": True} if recipe.bare else {})
    return hashlib.sha256(json.dumps([kept, recipes.before]).encode()).hexdigest()


def _made(name: str, pins: str, make: Callable[[Path], None]) -> bool:
    folder = cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(name):
        stamp = folder / STAMP
        if stamp.is_file() and stamp.read_text() == pins:
            return False
        shutil.rmtree(folder)
        folder.mkdir()
        make(folder)
        stamp.write_text(pins)
        return True


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Several test workers come here at once: one installs, the others wait for it."""
    with (cache() / f"{name}.lock").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _install_npm(folder: Path, recipe: Recipe, recipes: Recipes) -> None:
    if recipe.bare:
        for package in recipe.npm:
            _unpack(folder, package)
    else:
        _npm(folder, recipe.npm, recipes.before)
    for command in recipe.after:
        # As npm itself would run them, but with a home that is not the user's: some leave things there.
        own = {"HOME": str(folder / "home"), "npm_config_user_agent": "npm/11"}
        (folder / "home").mkdir(exist_ok=True)
        _run(command, folder, own | {"PATH": f"{_node_bin()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"})


def _unpack(folder: Path, package: str) -> None:
    """The package alone, where npm would put it, and links to its programs."""
    _run([_npm_program(), "pack", "--silent", package], folder)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    place = folder / "node_modules" / package.rpartition("@")[0]
    place.parent.mkdir(parents=True, exist_ok=True)
    (folder / "unpacked" / "package").rename(place)
    archive.unlink()
    links = folder / "node_modules" / ".bin"
    links.mkdir(exist_ok=True)
    for name, program in json.loads((place / "package.json").read_text("utf-8")).get("bin", {}).items():
        (links / name).symlink_to(place / program)


def _npm_program() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled("there is no `npm` on the PATH")
    return npm


def _npm(folder: Path, packages: Sequence[str], before: str) -> None:
    npm = _npm_program()
    (folder / "package.json").write_text('{"private": true}\n')
    _run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", f"--before={before}", *packages], folder)


def _node_package() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"node-{sys.platform}-{machine}"


def _node_bin() -> Path:
    return cache() / "node" / "node_modules" / _node_package() / "bin"


def _install_uv(folder: Path, version: str) -> None:
    _run([sys.executable, "-m", "venv", "venv"], folder)
    _run([folder / "venv/bin/pip", "install", "-q", "--disable-pip-version-check", f"uv=={version}"], folder)


def _install_pypi(folder: Path, recipe: Recipe, recipes: Recipes) -> None:
    uv = cache() / "uv" / "venv" / "bin" / "uv"
    env = {"UV_CACHE_DIR": str(cache() / "uv" / "cache"), "PATH": _pythons()}
    _run([uv, "venv", "--python", recipe.python or "3", "venv"], folder, env)
    into = ["--python", "venv/bin/python", "--exclude-newer", recipes.before]
    _run([uv, "pip", "install", *into, *recipe.pypi], folder, env)


def _pythons() -> str:
    """The PATH with the versions that pyenv has but does not offer at the moment."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return os.pathsep.join([*map(str, sorted(root.glob("versions/*/bin"))), os.environ.get("PATH", os.defpath)])


def _run(command: Sequence[str | Path], folder: Path, env: dict[str, str] | None = None) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=STEP_LIMIT
    )
    if done.returncode != 0:
        raise NotInstalled(f"`{' '.join(words)}` failed with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")


def _size(folder: Path) -> int:
    """In MB, as `du` counts: hard links between folders are counted in each."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) >> 20


def main() -> int:
    recipes = load_recipes()
    console = Console(highlight=False)
    wanted = sys.argv[1:] or list(recipes.agents)
    if unknown := [name for name in wanted if name not in recipes.agents]:
        console.print(f"no such agent: {', '.join(unknown)}. There are: {', '.join(recipes.agents)}.")
        return 2
    failed = 0
    for number, name in enumerate(wanted, 1):
        begun = time.monotonic()
        try:
            with console.status(f"{name} ({number} of {len(wanted)})"):
                new = install(recipes.agents[name], recipes)
        except (NotInstalled, subprocess.TimeoutExpired) as exc:
            failed += 1
            console.print(f"{name}: {exc}", markup=False)
            continue
        folder = cache() / recipes.agents[name].folder
        told = f"{time.monotonic() - begun:.0f} s, {_size(folder)} MB" if new else "was there"
        console.print(f"{name}: {told}", markup=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
