"""`agui-gateway doctor`: each check with its outcome, and what mends it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import ROOT, Stage
from tests.cli.pseudo_terminal import Terminal, typed
from tests.drivers.programs import npm_package, script


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Never started: only its folder of agents is used."""
    return Stage(tmp_path)


def examined(stage: Stage, agent: str, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and each check."""
    line = ("doctor", agent, "--agents", str(stage.agents), "--json", *arguments)
    done = typed(stage.workspace, *line)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert (told["id"], told["ready"]) == (agent, done.returncode == 0)
    return done.returncode, {check["name"]: check for check in told["checks"]}


def outcomes(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: check["outcome"] for name, check in checks.items()}


def test_an_agent_that_is_all_right_is_started_for_real_and_ended(stage: Stage) -> None:
    code, checks = examined(stage.agent("plain"), "plain")
    assert (code, checks["start"]["outcome"]) == (0, "ok")
    assert checks["program"]["said"] == sys.executable
    assert checks["folder"]["said"] == str(stage.workspace)
    assert "it answered in" in checks["start"]["said"]
    assert len(stage.received("plain", method="initialize")) == 1
    assert stage.processes("plain") == []


def test_an_agent_in_this_process_needs_little(stage: Stage) -> None:
    code, checks = examined(stage, "demo")
    assert (code, outcomes(checks)) == (0, {"program": "ok", "folder": "ok", "start": "ok"})


def test_a_program_that_is_missing_is_told_with_the_command_and_nothing_is_started(stage: Stage) -> None:
    needs = ["no-such-runtime", "--version"]
    install = [{"kind": "npm", "package": "@otter/cli", "needs": needs, "notes": "It wants 8 GB of memory."}]
    stage.agent("otter", command={"run": ["no-such-otter"]}, install=install)
    code, checks = examined(stage, "otter")
    assert code == 1
    assert checks["program"]["hint"] == "npm install -g @otter/cli"
    assert (checks["needs"]["outcome"], checks["needs"]["hint"]) == ("fail", "install no-such-runtime")
    assert (checks["install"]["outcome"], checks["install"]["said"]) == ("note", "It wants 8 GB of memory.")
    assert (checks["start"]["outcome"], checks["start"]["said"]) == ("skip", "not tried: program")


@pytest.mark.parametrize(
    ("tried", "outcome", "said"),
    [
        ("2.7.1", "ok", "2.7.1, the one that was tried"),
        ("2.6.0", "note", "2.7.1; the one that was tried last is 2.6.0"),
        (None, "ok", "2.7.1"),
    ],
)
def test_the_version_is_held_against_the_one_that_was_tried(
    stage: Stage, tmp_path: Path, tried: str | None, outcome: str, said: str
) -> None:
    run = stage.command("otter")["run"]
    npm_package(tmp_path, "@otter/cli", "2.7.1", "otter", f'exec {" ".join(run)} "$@"')
    way = {"kind": "npm", "package": "@otter/cli"} | ({} if tried is None else {"version": tried})
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    stage.agent("otter", command={"run": ["otter"], "version": ["otter", "--version"], "env": env}, install=[way])
    code, checks = examined(stage, "otter")
    assert (code, checks["version"]["outcome"], checks["version"]["said"]) == (0, outcome, said)


def test_somebody_who_is_not_signed_in_is_told_how(stage: Stage) -> None:
    stage.agent("otter", auth=[{"kind": "env", "name": "NO_SUCH_KEY", "hint": "run `otter login`"}])
    code, checks = examined(stage, "otter")
    assert (code, checks["signed in"]["outcome"], checks["signed in"]["hint"]) == (1, "fail", "run `otter login`")
    assert checks["start"]["outcome"] == "ok"  # it starts all the same


def test_an_agent_that_does_not_start_tells_its_last_words(stage: Stage) -> None:
    line = ["/bin/sh", "-c", "echo 'the dog ate it' >&2; exit 7"]
    stage.agent("otter", command={"run": line})
    code, checks = examined(stage, "otter")
    assert (code, checks["start"]["outcome"]) == (1, "fail")
    assert "exited with code 7" in checks["start"]["said"] and "the dog ate it" in checks["start"]["said"]


def test_one_that_never_answers_is_given_up_and_ended(stage: Stage) -> None:
    stage.agent("otter", "--never-initialize", acp={"start_timeout": 0.5})
    code, checks = examined(stage, "otter")
    assert (code, checks["start"]["outcome"]) == (1, "fail")
    assert "initialize" in checks["start"]["said"]
    assert stage.processes("otter") == []


def test_a_folder_that_will_not_do_is_told(stage: Stage) -> None:
    code, checks = examined(stage.agent("plain"), "plain", "--cwd", "nowhere")
    assert (code, checks["folder"]["outcome"]) == (1, "fail")
    assert checks["folder"]["hint"] == f"mkdir -p {stage.workspace / 'nowhere'}"


@pytest.mark.parametrize("repository", [False, True])
def test_an_agent_that_wants_a_repository_is_given_one(stage: Stage, repository: bool) -> None:
    if repository:
        (stage.workspace / ".git").mkdir()
    code, checks = examined(stage.agent("plain", manifest={"requires_git_repo": True}), "plain")
    assert (code, checks["folder"]["hint"]) == ((0, None) if repository else (1, "git init"))


def test_an_agent_with_a_process_for_every_turn_is_called_by_its_version_command(stage: Stage, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "otter", f"touch {tmp_path / 'called'}; echo 1.2.3")
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = {"run": ["otter"], "version": ["otter", "--version"], "env": env}
    stage.agent("otter", driver="cli", command=command, cli={"dialect": "codex-exec", "process": "turn"})
    code, checks = examined(stage, "otter")
    assert (code, checks["version"]["said"]) == (0, "1.2.3"), checks
    assert checks["start"]["said"].startswith("`otter --version` answered in ")


def test_people_get_it_line_by_line(stage: Stage) -> None:
    stage.agent("otter", command={"run": ["no-such-otter"]}, install=[{"kind": "npm", "package": "@otter/cli"}])
    done = typed(stage.workspace, "doctor", "otter", "--agents", str(stage.agents))
    assert done.returncode == 1
    first, second, *_, last = done.stdout.splitlines()
    assert first.split(None, 2)[1:] == ["program", "'no-such-otter' is not on the PATH"]
    assert (second.strip(), last) == ("npm install -g @otter/cli", "otter is not ready.")


def test_at_a_terminal_something_moves_meanwhile(stage: Stage) -> None:
    stage.agent("plain")
    with Terminal(stage.workspace, "doctor", "plain", "--agents", str(stage.agents)) as terminal:
        assert terminal.end() == 0
    assert "looking at plain, and starting it" in terminal.screen
    assert "✓ start" in terminal.screen and "plain is ready." in terminal.screen


def test_an_unknown_agent_is_answered_with_those_that_are_like_it(stage: Stage) -> None:
    done = typed(stage.workspace, "doctor", "dmo")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no agent 'dmo'. Did you mean demo?" in done.stderr
