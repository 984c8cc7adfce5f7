"""`agui-gateway check`: its report on a file and its agent, and its exit code."""

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


def check_json(file: Path, *flags: str) -> tuple[int, Any]:
    result = check(file, "--json", *flags)
    assert "Traceback" not in result.stderr
    return result.returncode, json.loads(result.stdout)


def test_every_mistake_is_reported_with_its_line_and_key(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('id = "Wrong Id"\ndriver = "acp"\n\n[command]\nrun = []\nshell = true\n')
    code, report = check_json(file)
    assert (code, report["ok"]) == (2, False)
    assert {(mistake["line"], mistake["key"]) for mistake in report["mistakes"]} == {
        (1, "id"),
        (5, "command.run"),
        (6, "command.shell"),
        (1, "identity"),
    }
    message = "command.shell: there is no such key. Known: env, inherit_env, run, version."
    assert f"{file}:6: {message}" in check(file).stdout


def test_every_mistake_in_capabilities_is_reported_with_its_line_and_its_own_spelling(tmp_path: Path) -> None:
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
        "[[fallback]]",
        'name = "other"',
        'driver = "acp"',
        'command = { run = ["x"] }',
        "[fallback.capabilities.reasoning]",
        'supported = "yes"',
    ]
    file = tmp_path / "wrong.toml"
    file.write_text("\n".join(lines))
    code, report = check_json(file)
    assert code == 2
    assert {(mistake["line"], mistake["key"]) for mistake in report["mistakes"]} == {
        (3, "options.1"),
        (4, "command.run"),
        (7, "capabilities.tools.suported"),
        (8, "capabilities.human_in_the_loop.approve_with_edts"),
        (10, "capabilities.execution.max_iterations"),
        (16, "fallback.0.capabilities.reasoning.supported"),
    }
    message = "AG-UI has no such capability: did you mean approve_with_edits?"
    assert f"{file}:8: capabilities.human_in_the_loop.approve_with_edts: {message}" in check(file).stdout


def test_a_file_that_is_missing_or_not_toml_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "torn.toml"
    file.write_text('id = "x\n')
    code, report = check_json(file)
    assert code == 2 and "line 1" in report["mistakes"][0]["message"]
    assert check_json(tmp_path / "nowhere.toml")[0] == 2


def test_an_agent_is_started_and_its_differences_are_reported(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("mine", "--bare", capabilities={"multimodal": {"input": {"image": True}}})
    file = stage.agents / "mine.toml"
    code, report = check_json(file)
    assert (code, report["started"], report["status"], report["mistakes"]) == (0, True, "ready", [])
    assert report["reported"] > 0
    [difference] = [one for one in report["differences"] if one["key"] == "multimodal.input.image"]
    assert (difference["file"], difference["agent"]) == (True, False)
    assert "multimodal.input.image: True in the file, False from the agent" in check(file).stdout
    assert not stage.processes("mine")


def test_an_agent_that_is_missing_or_does_not_start_fails(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("gone", command={"run": ["no-such-program-anywhere"]})
    code, report = check_json(stage.agents / "gone.toml")
    assert (code, report["status"], report["started"]) == (1, "not-installed", None)
    stage.agent("dies", command={"run": [sys.executable, "-c", "raise SystemExit('no way')"]})
    code, report = check_json(stage.agents / "dies.toml")
    assert (code, report["started"], report["status"]) == (1, False, "broken")
    assert report["reason"]
    assert "broken" in (shown := check(stage.agents / "dies.toml").stdout) and "ready" not in shown


def test_an_agent_whose_variable_is_not_set_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "far.toml"
    keys = 'id = "far"\ndriver = "remote"\nidentity = { name = "Far" }\n'
    file.write_text(keys + '[remote]\nurl = "https://far.example"\nheaders = { authorization = "{NO_SUCH_NAME}" }\n')
    code, report = check_json(file)
    assert (code, report["started"], report["status"]) == (1, False, "broken")
    assert "NO_SUCH_NAME is not set in the environment" in report["reason"]


def test_a_file_may_be_read_without_a_start(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("gone", command={"run": ["no-such-program-anywhere"]})
    code, report = check_json(stage.agents / "gone.toml", "--no-launch")
    assert (code, report["id"], report["status"], report["started"]) == (0, "gone", None, None)


def test_a_bundled_agent_passes(tmp_path: Path) -> None:
    result = check(ROOT / "agents" / "echo.toml")
    assert result.returncode == 0, result.stdout
    assert "echo.toml defines the agent 'echo'" in result.stdout
