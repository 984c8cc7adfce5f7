"""The trust file: written as a whole, by one writer at a time, and not used where another could have written it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.trust.trust_file import TrustFile
from tests.support.project import ROOT

WRITER = """
import sys
from pathlib import Path
from gateway.trust.trust_file import TrustFile
for number in range(20):
    TrustFile(Path(sys.argv[1])).add("p", Path(f"/{sys.argv[2]}/{number}"))
"""


@pytest.fixture
def file(tmp_path: Path) -> TrustFile:
    return TrustFile(tmp_path / "data" / "trust.json")


def test_a_missing_file_trusts_nothing(file: TrustFile) -> None:
    assert file.folders("local") == {} and file.read() == {}


def test_a_folder_is_trusted_for_its_principal(file: TrustFile) -> None:
    assert file.add("ada", Path("/src/a"))
    assert not file.add("ada", Path("/src/a"))
    assert list(file.folders("ada")) == [Path("/src/a")] and not file.folders("eve")


def test_a_star_stands_for_everybody(file: TrustFile) -> None:
    file.add("*", Path("/src/a"))
    file.add("ada", Path("/src/b"))
    assert set(file.folders("ada")) == {Path("/src/a"), Path("/src/b")}
    assert set(file.folders("eve")) == {Path("/src/a")}


def test_the_time_is_kept(file: TrustFile) -> None:
    file.add("ada", Path("/src/a"))
    [since] = file.read()["ada"].values()
    assert since.endswith("Z") and since.startswith("20")


def test_a_removed_folder_is_gone(file: TrustFile) -> None:
    file.add("ada", Path("/src/a"))
    assert file.remove("ada", Path("/src/a")) and not file.remove("ada", Path("/src/a"))
    assert not file.folders("ada")


def test_another_process_s_change_is_seen(file: TrustFile) -> None:
    assert not file.folders("ada")
    TrustFile(file.path).add("ada", Path("/src/a"))
    assert file.folders("ada")


def test_it_is_for_its_owner_only(file: TrustFile) -> None:
    file.add("ada", Path("/src/a"))
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700
    assert not list(file.path.parent.glob(".trust-*"))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_used(file: TrustFile, mode: int) -> None:
    file.add("ada", Path("/src/a"))
    file.path.chmod(mode)
    assert not file.folders("ada")
    with pytest.raises(ConfigError, match="chmod 600"):
        file.read()


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "{", '{"version": 2, "principals": {}}', "[" * 100_000, '{"version": 1}']
)
def test_a_file_that_is_not_understood_trusts_nothing(file: TrustFile, content: str) -> None:
    file.add("ada", Path("/src/a"))
    file.path.write_text(content)
    assert not file.folders("ada")
    with pytest.raises(ConfigError):
        file.add("ada", Path("/src/b"))  # and it is not overwritten
    assert file.path.read_text() == content


def test_writers_do_not_lose_each_other_s_folders(file: TrustFile) -> None:
    command = [sys.executable, "-c", WRITER, str(file.path)]
    writers = [subprocess.Popen([*command, name], cwd=ROOT) for name in ("a", "b", "c")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(file.read()["p"]) == 60
    assert json.loads(file.path.read_text())["version"] == 1
