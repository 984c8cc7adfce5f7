"""What is installed stays; what was pinned anew is made anew; what failed is not taken for done."""

from __future__ import annotations

import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.live import install
from tests.live.recipes import Recipe, load_recipes


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGUI_TEST_CACHE", str(tmp_path))
    return tmp_path


def test_what_is_installed_is_not_installed_again(own_cache: Path) -> None:
    assert install._made("otter", "1", lambda folder: (folder / "made").touch())
    assert not install._made("otter", "1", lambda folder: (folder / "again").touch())
    assert sorted(file.name for file in (own_cache / "otter").iterdir()) == [install.STAMP, "made"]


def test_new_pins_begin_with_an_empty_folder(own_cache: Path) -> None:
    install._made("otter", "1", lambda folder: (folder / "old").touch())
    assert install._made("otter", "2", lambda folder: (folder / "new").touch())
    assert sorted(file.name for file in (own_cache / "otter").iterdir()) == [install.STAMP, "new"]


def test_what_failed_is_tried_again(own_cache: Path) -> None:
    def fail(folder: Path) -> None:
        raise install.NotInstalled("no network")

    with pytest.raises(install.NotInstalled):
        install._made("otter", "1", fail)
    assert install._made("otter", "1", lambda folder: None)


def test_a_command_that_fails_is_told_with_its_last_words(own_cache: Path) -> None:
    with pytest.raises(install.NotInstalled, match="(?s)failed with 3.*no such otter"):
        install._run([sys.executable, "-c", "import sys; print('no such otter'); sys.exit(3)"], own_cache)


def test_the_environment_of_an_agent_is_no_reason_to_install_it_anew() -> None:
    recipes = load_recipes()
    recipe = recipes.agents["codex-acp"]
    pins = install._pins(recipe, recipes)
    assert install._pins(replace(recipe, env={"A": "b"}, files={}), recipes) == pins
    assert install._pins(replace(recipe, npm=("otter@1.0.0",)), recipes) != pins
    assert install._pins(recipe, replace(recipes, before="2026-12-01")) != pins


def test_every_agent_finds_its_own_programs_first(own_cache: Path) -> None:
    npm, pypi = Recipe("otter", npm=("otter@1.0.0",)), Recipe("seal", pypi=("seal==1.0",))
    assert install.programs(npm)[0] == own_cache / "otter" / "node_modules" / ".bin"
    assert install.programs(pypi) == [own_cache / "seal" / "venv" / "bin"]


def test_an_agent_that_is_like_another_is_installed_once_for_both(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(install, "_npm", lambda folder, packages, before: made.append(folder))
    recipes = load_recipes()
    first = Recipe("otter", npm=("otter@1.0.0",))
    assert install.install(first, recipes)
    assert not install.install(replace(first, id="otter-acp", like="otter"), recipes)
    assert made == [own_cache / "node", own_cache / "otter"]
    assert install.programs(replace(first, id="otter-acp", like="otter")) == install.programs(first)


def test_a_package_that_is_a_bundle_is_unpacked_alone(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pack(command: list[str], folder: Path) -> None:
        package = folder / "package"
        (package / "bin").mkdir(parents=True)
        (package / "package.json").write_text('{"bin": {"otter": "bin/otter.js"}, "dependencies": {"seal": "1.0.0"}}')
        (package / "bin" / "otter.js").write_text("#!/usr/bin/env node")
        with tarfile.open(folder / "lab-otter-1.0.0.tgz", "w:gz") as archive:
            archive.add(package, "package")
        shutil.rmtree(package)

    monkeypatch.setattr(install, "_run", pack)
    monkeypatch.setattr(install, "_npm_program", lambda: "npm")
    install._unpack(own_cache, "@lab/otter@1.0.0")
    modules = own_cache / "node_modules"
    assert (modules / ".bin" / "otter").resolve() == (modules / "@lab" / "otter" / "bin" / "otter.js").resolve()
    assert sorted(file.name for file in modules.iterdir()) == [".bin", "@lab"]


def test_an_unknown_name_is_refused_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["install", "otter"])
    assert install.main() == 2
    assert "no such agent: otter" in capsys.readouterr().out
