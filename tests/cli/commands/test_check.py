"""`agui-gateway check`: what it says of a file and of the agent behind it, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.behaviour.acp.harness import Stage
from tests.support.project import ROOT


def check(file: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "check", str(file), *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=file.parent)


def facts(file: Path, *flags: str) -> tuple[int, Any]:
    done = check(file, "--json", *flags)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def test_every_mistake_is_told_with_its_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('id = "Wrong Id"\ndriver = "acp"\n\n[command]\nrun = []\nshell = true\n')
    code, told = facts(file)
    assert (code, told["ok"]) == (2, False)
    assert {(mistake["line"], mistake["key"]) for mistake in told["mistakes"]} == {
        (1, "id"),
        (5, "command.run"),
        (6, "command.shell"),
        (1, "identity"),
    }
    assert (
        f"{file}:6: command.shell: there is no such key. Known: env, inherit_env, run, version." in check(file).stdout
    )


def test_every_mistake_in_capabilities_is_told_with_its_line_and_its_own_spelling(tmp_path: Path) -> None:
    lines = [
        'id = "wrong"',
        'driver = "acp"',
        'options = ["cwd", "nosuch"]',
        'command = { run = [""] }',
        'identity = { name = "Wrong" }',
        "[capabilities]",
        "tools.suported = true",
        "human_in_the_loop = { approve_with_edts = true }",
        "[capabilities.execution]",
        "max_iterations = -1",
        "[[otherwise]]",
        'name = "other"',
        'driver = "acp"',
        'command = { run = ["x"] }',
        "[otherwise.capabilities.reasoning]",
        'supported = "yes"',
    ]
    file = tmp_path / "wrong.toml"
    file.write_text("\n".join(lines))
    code, told = facts(file)
    assert code == 2
    assert {(mistake["line"], mistake["key"]) for mistake in told["mistakes"]} == {
        (3, "options.1"),
        (4, "command.run"),
        (7, "capabilities.tools.suported"),
        (8, "capabilities.human_in_the_loop.approve_with_edts"),
        (10, "capabilities.execution.max_iterations"),
        (16, "otherwise.0.capabilities.reasoning.supported"),
    }
    words = "AG-UI has no such capability: did you mean approve_with_edits?"
    assert f"{file}:8: capabilities.human_in_the_loop.approve_with_edts: {words}" in check(file).stdout


def test_what_is_not_toml_and_what_is_not_there_are_mistakes_too(tmp_path: Path) -> None:
    file = tmp_path / "torn.toml"
    file.write_text('id = "x\n')
    code, told = facts(file)
    assert code == 2 and "line 1" in told["mistakes"][0]["message"]
    assert facts(tmp_path / "nowhere.toml")[0] == 2


def test_an_agent_is_started_and_what_it_tells_otherwise_is_shown(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("mine", capabilities={"multimodal": {"input": {"image": False}}})
    file = stage.agents / "mine.toml"
    code, told = facts(file)
    assert (code, told["started"], told["status"], told["mistakes"]) == (0, True, "ready", [])
    assert told["told"] > 0
    [differs] = [one for one in told["differs"] if one["key"] == "multimodal.input.image"]
    assert (differs["file"], differs["agent"]) == (False, True)
    assert "multimodal.input.image: the file says False, the agent True" in check(file).stdout
    assert not stage.processes("mine")


def test_one_that_is_not_there_or_does_not_start_fails(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("gone", command={"run": ["no-such-program-anywhere"]})
    code, told = facts(stage.agents / "gone.toml")
    assert (code, told["status"], told["started"]) == (1, "not-installed", None)
    stage.agent("dies", command={"run": [sys.executable, "-c", "raise SystemExit('no way')"]})
    code, told = facts(stage.agents / "dies.toml")
    assert (code, told["started"], told["status"]) == (1, False, "broken")
    assert told["reason"]
    assert "broken" in (shown := check(stage.agents / "dies.toml").stdout) and "ready" not in shown


def test_one_that_names_what_is_not_in_the_environment_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    keys = 'id = "far"\ndriver = "remote"\nidentity = { name = "Far" }\n'
    file.write_text(keys + '[remote]\nurl = "https://far.example"\nheaders = { authorization = "{NO_SUCH_NAME}" }\n')
    code, told = facts(file)
    assert (code, told["started"], told["status"]) == (1, False, "broken")
    assert "NO_SUCH_NAME is not set in the environment" in told["reason"]


def test_a_file_may_be_read_without_a_start(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("gone", command={"run": ["no-such-program-anywhere"]})
    code, told = facts(stage.agents / "gone.toml", "--no-launch")
    assert (code, told["id"], told["status"], told["started"]) == (0, "gone", None, None)


def test_an_agent_that_comes_along_is_well(tmp_path: Path) -> None:
    done = check(ROOT / "agents" / "echo.toml")
    assert done.returncode == 0, done.stdout
    assert "a definition of 'echo'" in done.stdout
