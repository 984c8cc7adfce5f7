"""What no file of the project may say, and what every module of the gateway must."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.project import ROOT, files

MACHINE = re.compile(rb"(?<![\w.])/(?:work|root)/|/(?:home|Users)/(?!(?:ann|otter|user)\b)\w+")
"""A path that exists on somebody's machine only. Ann, Otter and user are nobody: tests need a name."""
REGISTRY = re.compile(rb"pypi\.org|pythonhosted\.org|registry\.(?:npmjs|yarnpkg)\.|(?:deb|security)\.debian\.org")
"""Whoever installs uses their own registry, so not even a lockfile names one."""
LONGEST = 400
GENERATED = Path("gateway/encode/protobuf/pb")

ALL = files()
CODE = [path for path in ALL if path.parts[0] == "gateway" and path.suffix == ".py"]
MODULES = [path for path in CODE if GENERATED not in path.parents]


def saying(pattern: re.Pattern[bytes]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip().decode(errors='replace')}"
        for path in ALL
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), 1)
        if pattern.search(line)
    ]


def test_the_files_looked_at_are_those_of_the_project() -> None:
    assert {Path("README.md"), Path(".ci/run"), Path("tests/clients/package-lock.json")} <= set(ALL)
    assert not {".git", ".venv", "node_modules", "__pycache__"} & {part for path in ALL for part in path.parts}
    assert len(MODULES) > 50


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert saying(MACHINE) == []


def test_no_file_names_a_package_registry() -> None:
    assert saying(REGISTRY) == []


@pytest.mark.parametrize("parts", [("/wo", "rk/x"), ("'/ro", "ot/.cache'"), ("/ho", "me/bob"), ("/Us", "ers/eve/x")])
def test_a_path_of_a_machine_is_recognised(parts: tuple[str, str]) -> None:
    assert MACHINE.search("".join(parts).encode())


@pytest.mark.parametrize("text", ["tests/work/x", "./root/x", "/homes", "network/root"])
def test_a_path_of_the_project_is_not_mistaken_for_one(text: str) -> None:
    assert MACHINE.search(text.encode()) is None


@pytest.mark.parametrize("parts", [("https://py", "pi.org/simple"), ("registry.np", "mjs.org"), ("deb.deb", "ian.org")])
def test_a_package_registry_is_recognised(parts: tuple[str, str]) -> None:
    assert REGISTRY.search("".join(parts).encode())


def test_no_module_is_two_ideas_long() -> None:
    lengths = {str(path): len((ROOT / path).read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}


def test_every_module_says_what_it_is_for() -> None:
    texts = {str(path): (ROOT / path).read_text("utf-8") for path in MODULES}
    silent = [path for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))]
    assert silent == []


MAX_CLASS_LINES = 250
ONE_IDEA = {"Outbound": "the order of one run's events: cutting it would spread one table of states over files"}
"""Classes that may be longer, and why."""
MAX_DIALECT_DEPTH = 2


def classes() -> dict[str, tuple[ast.ClassDef, Path]]:
    return {
        node.name: (node, path)
        for path in MODULES
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    }


def test_no_class_is_too_long() -> None:
    lengths = {name: (node.end_lineno or 0) - node.lineno + 1 for name, (node, _) in classes().items()}
    assert {name for name, length in lengths.items() if length > MAX_CLASS_LINES} == set(ONE_IDEA)


def test_no_dialect_is_a_long_chain_of_classes() -> None:
    bases = {name: [ast.unparse(base) for base in node.bases] for name, (node, _) in classes().items()}

    def depth_below(name: str, seam: str) -> int:
        """0: the class is not below the seam."""
        found = [
            1 if base == seam else 1 + below
            for base in bases.get(name, ())
            if base == seam or (below := depth_below(base, seam))
        ]
        return max(found, default=0)

    depths = {name: depth_below(name, "Dialect") for name in bases}
    assert max(depths.values()) <= MAX_DIALECT_DEPTH, depths
