"""A cancelled run leaves no command running: neither one that the gateway runs for the agent, nor the agent's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage, Talk, json_of
from tests.drivers.process_watch import alive, until


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("commands"))
    stage.agent("plain", acp={"terminal": True})
    stage.agent("lets-them", acp={"end_commands": False})
    with stage:
        yield stage


def run_and_cancel(talk: Talk, command: str) -> int:
    """The command's process id; the run was cancelled while it ran."""
    with talk.streaming(f"run {command}") as events:
        text = next(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert talk.cancel() == "cancelling"
        last = list(events)[-1]
    assert last["outcome"]["type"] == "cancelled"
    return int(json.loads(text))


def test_a_command_that_the_agent_runs_ends_with_its_cancelled_turn(stage: Stage) -> None:
    late = stage.workspace / "late.txt"
    pid = run_and_cancel(Talk(stage), f"sleep 600; touch {late}")
    until(lambda: not alive(pid))
    assert not late.exists(), "the shell did not go on to its next command"


def test_a_command_that_ignores_sigterm_ends_too(stage: Stage) -> None:
    pid = run_and_cancel(Talk(stage), "trap '' TERM INT; while :; do sleep 600; done")
    until(lambda: not alive(pid))


def test_a_command_in_the_gateways_own_terminal_ends_with_its_cancelled_turn(stage: Stage) -> None:
    talk, pid_file, late = Talk(stage), stage.workspace / "pid.txt", stage.workspace / "late-terminal.txt"
    with talk.streaming(f"terminal echo $$ > {pid_file}; sleep 600; touch {late}") as events:
        next(event for event in events if event["type"] == "TOOL_CALL_START")
        until(lambda: pid_file.exists() and bool(pid_file.read_text().strip()))
        assert talk.cancel() == "cancelling"
        assert list(events)[-1]["outcome"]["type"] == "cancelled"
    until(lambda: not alive(int(pid_file.read_text())))
    assert not late.exists()


def test_what_the_agent_started_before_goes_on_and_so_does_the_agent(stage: Stage) -> None:
    talk = Talk(stage)
    server = json_of(talk.say("start exec sleep 600"))
    pid = run_and_cancel(talk, "sleep 600")
    until(lambda: not alive(pid))
    assert alive(server)
    assert "turns: 3" in "".join(event.get("delta", "") for event in talk.say("turns"))
    stage.client.delete(talk.path)


def test_a_command_of_another_threads_turn_in_the_same_folder_goes_on(stage: Stage) -> None:
    """Both threads are at work in one process of the agent: it cannot be told whose the command is."""
    first, second = Talk(stage), Talk(stage)
    with second.streaming("run sleep 600") as events:
        text = next(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        other = int(json.loads(text))
        run_and_cancel(first, "sleep 600")
        assert alive(other)
        second.cancel()
        list(events)
    until(lambda: not alive(other))


def test_an_agents_file_may_leave_commands_alone(stage: Stage, tmp_path: Path) -> None:
    pid_file = tmp_path / "ended"
    pid = run_and_cancel(Talk(stage, "lets-them"), f"sleep 1; touch {pid_file}")
    until(pid_file.exists)
    assert pid
