"""`make serve` for a reader who has just cloned: it installs once, then starts, or says what it lacks."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.project import ROOT, START_LIMIT, copy_project, environ, make_serve, run, served_clone

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served_clone(tmp_path_factory)


def test_the_first_time_it_says_what_it_does_and_where_it_listens(clone: Path) -> None:
    making, installing, address = (clone.parent / "first.txt").read_text().splitlines()
    assert (making, installing) == ("making .venv", "installing the gateway")
    assert re.fullmatch(r"agui-gateway \S+  http://127\.0\.0\.1:\d+", address)


def test_the_second_time_it_starts_without_installing(clone: Path, tmp_path: Path) -> None:
    stamp = clone / ".venv" / ".serve"
    before = stamp.stat().st_mtime_ns
    with make_serve(clone, tmp_path) as served:
        assert len(served.said) == 1  # the address and nothing before it
    assert stamp.stat().st_mtime_ns == before


def test_new_dependencies_are_installed(clone: Path, tmp_path: Path) -> None:
    question = ["make", "--question", ".venv/.serve"]
    run(question, clone, environ(tmp_path))  # fails if there were something to do
    changed = [*question, "--what-if=pyproject.toml"]
    done = subprocess.run(changed, cwd=clone, env=environ(tmp_path), capture_output=True, timeout=START_LIMIT)
    assert done.returncode == 1, done.stderr.decode()


def test_what_it_leaves_behind_is_ignored_by_git(clone: Path, tmp_path: Path) -> None:
    env = environ(tmp_path)
    git = ["git", f"--git-dir={tmp_path}/.git", f"--work-tree={clone}"]
    run(["git", "init", "-q", str(tmp_path)], tmp_path, env)
    listed = run([*git, "ls-files", "--others", "--exclude-standard"], clone, env).splitlines()
    assert "README.md" in listed
    assert [name for name in listed if not (ROOT / name).exists()] == []


def test_a_python_that_is_too_old_is_told_which_one_is_needed(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit\nexit 1\n')
    old.chmod(0o755)
    folder = tmp_path / "clone"
    copy_project(folder)
    env = environ(tmp_path, PYTHON=str(old))
    done = subprocess.run(["make", "serve"], cwd=folder, env=env, capture_output=True, text=True, timeout=START_LIMIT)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert f"Python 3.11 or newer is needed; {old} is Python 3.9.2." in said
    assert re.search(r"Try: make PYTHON=python3\.1\d serve$", said, re.M)
    assert not (folder / ".venv").exists()


def test_every_file_asks_for_the_same_python() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    oldest = wanted.removeprefix(">=")
    assert f"Python {oldest} or newer" in README
    assert f"Python {oldest} or newer" in MAKEFILE
    assert f"sys.version_info < ({oldest.replace('.', ', ')})" in MAKEFILE


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^make (\w+)", README, re.M))))
def test_every_command_that_the_readme_names_exists(target: str, tmp_path: Path) -> None:
    assert run(["make", "--dry-run", target], ROOT, environ(tmp_path))
