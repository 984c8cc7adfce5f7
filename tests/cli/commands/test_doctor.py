"""`agui-gateway doctor`: each check with its outcome, and its remedy."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import ROOT, Stage
from tests.cli.pseudo_terminal import Terminal, run_command
from tests.drivers.programs import npm_package, script


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Never started: only its directory of agents is used."""
    return Stage(tmp_path)


def run_doctor(stage: Stage, agent: str, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the checks by name."""
    line = ("doctor", agent, "--agents", str(stage.agents), "--json", *arguments)
    result = run_command(stage.workspace, *line)
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert (report["id"], report["ready"]) == (agent, result.returncode == 0)
    return result.returncode, {check["name"]: check for check in report["checks"]}


def outcomes(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: check["outcome"] for name, check in checks.items()}


def test_an_agent_without_problems_is_started_and_stopped(stage: Stage) -> None:
    code, checks = run_doctor(stage.agent("plain"), "plain")
    assert (code, checks["start"]["outcome"]) == (0, "ok")
    assert checks["program"]["message"] == sys.executable
    assert checks["directory"]["message"] == str(stage.workspace)
    assert "it answered in" in checks["start"]["message"]
    assert len(stage.received("plain", method="initialize")) == 1
    assert stage.processes("plain") == []


def test_an_agent_in_this_process_needs_little(stage: Stage) -> None:
    code, checks = run_doctor(stage, "demo")
    assert (code, outcomes(checks)) == (0, {"program": "ok", "directory": "ok", "start": "ok"})


def test_a_program_that_is_missing_is_reported_with_the_command_and_nothing_is_started(stage: Stage) -> None:
    prerequisite_check = ["no-such-runtime", "--version"]
    install = [
        {
            "kind": "npm",
            "package": "@otter/cli",
            "prerequisite_check": prerequisite_check,
            "notes": "It wants 8 GB of memory.",
        }
    ]
    stage.agent("otter", command={"run": ["no-such-otter"]}, install=install)
    code, checks = run_doctor(stage, "otter")
    assert code == 1
    assert checks["program"]["hint"] == "npm install -g @otter/cli"
    assert (checks["prerequisite"]["outcome"], checks["prerequisite"]["hint"]) == ("fail", "install no-such-runtime")
    assert (checks["install"]["outcome"], checks["install"]["message"]) == ("note", "It wants 8 GB of memory.")
    assert checks["start"]["outcome"] == "skip"
    assert checks["start"]["message"] == "not tried, because the check 'program' failed"


@pytest.mark.parametrize(
    ("verified", "outcome", "message"),
    [
        ("2.7.1", "ok", "2.7.1, the verified version"),
        ("2.6.0", "note", "2.7.1; the verified version is 2.6.0"),
        (None, "ok", "2.7.1"),
    ],
)
def test_the_version_is_compared_with_the_verified_one(
    stage: Stage, tmp_path: Path, verified: str | None, outcome: str, message: str
) -> None:
    run = stage.command("otter")["run"]
    npm_package(tmp_path, "@otter/cli", "2.7.1", "otter", f'exec {" ".join(run)} "$@"')
    method = {"kind": "npm", "package": "@otter/cli"} | ({} if verified is None else {"version": verified})
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    stage.agent("otter", command={"run": ["otter"], "version": ["otter", "--version"], "env": env}, install=[method])
    code, checks = run_doctor(stage, "otter")
    assert (code, checks["version"]["outcome"], checks["version"]["message"]) == (0, outcome, message)


def test_a_missing_sign_in_is_reported_with_a_hint(stage: Stage) -> None:
    stage.agent("otter", auth=[{"kind": "env", "name": "NO_SUCH_KEY", "hint": "run `otter login`"}])
    code, checks = run_doctor(stage, "otter")
    assert (code, checks["sign-in"]["outcome"], checks["sign-in"]["hint"]) == (1, "fail", "run `otter login`")
    assert checks["start"]["outcome"] == "ok"  # it starts all the same


def test_an_agent_that_does_not_start_reports_its_last_line_of_stderr(stage: Stage) -> None:
    line = ["/bin/sh", "-c", "echo 'the dog ate it' >&2; exit 7"]
    stage.agent("otter", command={"run": line})
    code, checks = run_doctor(stage, "otter")
    assert (code, checks["start"]["outcome"]) == (1, "fail")
    assert "exited with code 7" in checks["start"]["message"] and "the dog ate it" in checks["start"]["message"]


def test_an_agent_that_never_answers_is_stopped_after_its_timeout(stage: Stage) -> None:
    stage.agent("otter", "--never-initialize", acp={"start_timeout": 0.5})
    code, checks = run_doctor(stage, "otter")
    assert (code, checks["start"]["outcome"]) == (1, "fail")
    assert "initialize" in checks["start"]["message"]
    assert stage.processes("otter") == []


def test_an_unusable_directory_is_reported(stage: Stage) -> None:
    code, checks = run_doctor(stage.agent("plain"), "plain", "--cwd", "nowhere")
    assert (code, checks["directory"]["outcome"]) == (1, "fail")
    assert checks["directory"]["hint"] == f"mkdir -p {stage.workspace / 'nowhere'}"


@pytest.mark.parametrize("repository", [False, True])
def test_an_agent_that_requires_a_repository_is_checked_for_one(stage: Stage, repository: bool) -> None:
    if repository:
        (stage.workspace / ".git").mkdir()
    code, checks = run_doctor(stage.agent("plain", manifest={"requires_git_repo": True}), "plain")
    assert (code, checks["directory"]["hint"]) == ((0, None) if repository else (1, "git init"))


def test_an_agent_with_a_process_for_every_turn_is_called_by_its_version_command(stage: Stage, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "otter", f"touch {tmp_path / 'called'}; echo 1.2.3")
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = {"run": ["otter"], "version": ["otter", "--version"], "env": env}
    stage.agent("otter", driver="cli", command=command, cli={"dialect": "codex-exec", "process": "turn"})
    code, checks = run_doctor(stage, "otter")
    assert (code, checks["version"]["message"]) == (0, "1.2.3"), checks
    assert checks["start"]["message"].startswith("`otter --version` answered in ")


def test_the_report_has_a_line_for_each_check(stage: Stage) -> None:
    stage.agent("otter", command={"run": ["no-such-otter"]}, install=[{"kind": "npm", "package": "@otter/cli"}])
    result = run_command(stage.workspace, "doctor", "otter", "--agents", str(stage.agents))
    assert result.returncode == 1
    first, second, *_, last = result.stdout.splitlines()
    assert first.split(None, 2)[1:] == ["program", "'no-such-otter' is not on the PATH"]
    assert (second.strip(), last) == ("npm install -g @otter/cli", "otter is not ready.")


def test_a_terminal_shows_a_spinner(stage: Stage) -> None:
    stage.agent("plain")
    with Terminal(stage.workspace, "doctor", "plain", "--agents", str(stage.agents)) as terminal:
        assert terminal.end() == 0
    assert "checking and starting plain" in terminal.screen
    assert "✓ start" in terminal.screen and "plain is ready." in terminal.screen


def test_an_unknown_agent_is_answered_with_those_that_are_like_it(stage: Stage) -> None:
    result = run_command(stage.workspace, "doctor", "dmo")
    assert (result.returncode, result.stdout) == (2, "")
    assert "there is no agent 'dmo'. Did you mean demo?" in result.stderr
