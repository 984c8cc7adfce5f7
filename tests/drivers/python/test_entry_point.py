from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gateway.drivers.python.entry_point import load_entry
from gateway.errors import ConfigError


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def test_a_module_beside_the_file_is_found(toml: Path) -> None:
    (toml.parent / "mine.py").write_text("def run(turn): return 'beside'")
    assert load_entry("mine:run", toml)(None) == "beside"


def test_a_module_beside_the_file_is_preferred_and_hides_no_installed_one(toml: Path) -> None:
    (toml.parent / "json.py").write_text("def run(turn): return 'mine'")
    assert load_entry("json:run", toml)(None) == "mine"
    assert not hasattr(sys.modules["json"], "run")


def test_a_folder_beside_the_file_is_a_package_with_its_own_modules(toml: Path) -> None:
    package = toml.parent / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import run")
    (package / "inner.py").write_text("from . import words\ndef run(turn): return words.HELLO")
    (package / "words.py").write_text("HELLO = 'hello'")
    assert load_entry("mine:run", toml)(None) == "hello"
    assert load_entry("mine.words:HELLO", toml) == "hello"


def test_an_installed_module_is_found_too(toml: Path) -> None:
    assert load_entry("json.decoder:JSONDecoder.decode", toml).__name__ == "decode"


def test_modules_of_one_name_in_two_folders_are_two(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"NAME = {folder!r}")
    assert [load_entry("mine:NAME", tmp_path / folder / "x.toml") for folder in ("a", "b")] == ["a", "b"]


def test_two_entries_of_one_module_share_it(toml: Path) -> None:
    (toml.parent / "mine.py").write_text("seen = []\ndef run(turn): seen.append(turn)")
    load_entry("mine:run", toml)(1)
    assert load_entry("mine:seen", toml) == [1]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('not today')", "importing 'mine' failed: ValueError: not today"),
        ("import no_such_module_anywhere", "importing 'mine' failed: ModuleNotFoundError"),
        ("def (", "importing 'mine' failed: SyntaxError"),
        ("import sys; sys.exit(3)", "importing 'mine' failed: SystemExit: 3"),
        ("other = 1", "'mine' has no 'run'"),
    ],
)
def test_the_error_of_an_unusable_module_has_the_file_and_the_reason(toml: Path, code: str, reason: str) -> None:
    (toml.parent / "mine.py").write_text(code)
    with pytest.raises(ConfigError) as refused:
        load_entry("mine:run", toml)
    assert refused.value.detail.startswith(f"{toml}: entry: ")
    assert reason in refused.value.detail


def test_a_module_that_failed_is_imported_again_the_next_time(toml: Path) -> None:
    (toml.parent / "mine.py").write_text("raise ValueError")
    with pytest.raises(ConfigError):
        load_entry("mine:run", toml)
    (toml.parent / "mine.py").write_text("run = 'well at last'")
    assert load_entry("mine:run", toml) == "well at last"


def test_a_missing_module_is_a_config_error(toml: Path) -> None:
    with pytest.raises(ConfigError, match="importing 'no_such_module_anywhere' failed"):
        load_entry("no_such_module_anywhere:run", toml)
