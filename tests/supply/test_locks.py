"""The lock files: one with what the image installs, others for CI and for the tools. They and pyproject.toml agree."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support.project import ROOT

LOCKS = ROOT / "requirements"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;]+)(?: ; (.+?))? \\$", re.MULTILINE)
GROUPS = {"image": (), "build": ("build",), "supply": ("supply",), "dev": ("dev",)}
"""Lock → the dependency groups in it."""


@cache
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def pins(name: str) -> dict[str, set[Version]]:
    """Package → its versions; some have one for each Python or system."""
    found: dict[str, set[Version]] = {}
    for package, version, _ in PIN.findall((LOCKS / f"{name}.txt").read_text("utf-8")):
        found.setdefault(canonicalize_name(package), set()).add(Version(version))
    return found


def group(name: str) -> list[str]:
    entries: list[Any] = project()["dependency-groups"][name]
    nested = [group(entry["include-group"]) for entry in entries if isinstance(entry, dict)]
    return [entry for entry in entries if isinstance(entry, str)] + [each for entries in nested for each in entries]


def required(name: str) -> list[Requirement]:
    own = project()["project"]["dependencies"] if name in ("image", "dev") else []
    return [Requirement(line) for line in (*own, *(line for each in GROUPS[name] for line in group(each)))]


def allowed(requirement: Requirement, versions: set[Version]) -> bool:
    return any(requirement.specifier.contains(version, prereleases=True) for version in versions)


@pytest.mark.parametrize("name", GROUPS)
def test_the_lock_has_what_pyproject_demands(name: str) -> None:
    """Else: `make lock`."""
    locked = pins(name)
    missing = [
        str(requirement)
        for requirement in required(name)
        if not any(
            requirement.specifier.contains(v, prereleases=True)
            for v in locked.get(canonicalize_name(requirement.name), ())
        )
    ]
    assert missing == [], "run `make lock`"


@pytest.mark.parametrize("name", GROUPS)
def test_every_package_has_a_hash(name: str) -> None:
    text = (LOCKS / f"{name}.txt").read_text("utf-8")
    entries = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    assert len(entries) == len(PIN.findall(text)) > 0
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(entries)
    assert not re.search(r"(?m)^--|https?://|@ file", text), "no registry, no option, no path"


def test_what_ci_tests_is_what_the_image_runs() -> None:
    tested = pins("dev")
    assert {name: versions for name, versions in pins("image").items() if tested.get(name) != versions} == {}


def test_the_backend_is_built_from_the_lock() -> None:
    [backend] = project()["build-system"]["requires"]
    assert backend in group("build")


def test_no_wheel_lies_in_the_project() -> None:
    assert [*ROOT.glob("*.whl"), *ROOT.glob("*.tar.gz")] == []


INSTALL = re.compile(r"^\t.*\$\(PIP\)|^RUN .*pip\S* .*install ")
HELD = re.compile("--require-hashes|--no-deps|'uv>=")


@pytest.mark.parametrize("path", ["Makefile", "Dockerfile"])
def test_packages_are_installed_with_hashes_only(path: str) -> None:
    """`--no-deps`: the gateway itself. `uv` writes the locks; it is not a part of anything."""
    lines = (ROOT / path).read_text("utf-8").splitlines()
    installs = [line for line in lines if INSTALL.search(line)]
    assert len(installs) > 3
    assert [line for line in installs if not HELD.search(line)] == []
