"""Agents that fail, each in its own way: one defined end within its bound, and the next run works."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.events import Wire
from tests.behaviour.acp.harness import Stage, Talk, json_of, outcome_of, pid_of
from tests.drivers.process_watch import alive
from tests.runs.harness import eventually, interrupts_of, until
from tests.support.gateway import run_input, text_of
from tests.web.problem import problem_in

STALL = 1.0


@pytest.fixture(scope="module")
def frail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Whatever says nothing for a second has stalled."""
    stage = Stage(tmp_path_factory.mktemp("frail"), cancel_grace=0.5)
    stage.agent("plain", stall_timeout=STALL, acp={"terminal": True, "start_timeout": STALL})
    stage.agent("hangs", stall_timeout=STALL)
    stage.agent("patient").agent("serving", acp={"fs": True, "terminal": True})
    stage.agent("never", "--never-initialize", acp={"start_timeout": STALL})
    stage.agent("limited", run_timeout=STALL)
    stage.agent("limited-start", "--never-initialize", run_timeout=STALL, acp={"start_timeout": 60})
    stage.agent("deaf", "--deaf", stall_timeout=STALL)
    stage.agent("patient-deaf", "--deaf")
    stage.agent("missing", command={"run": ["no-such-agent-anywhere"]})
    with stage:
        yield stage


def failing(talk: Talk, text: str, within: float) -> list[Wire]:
    """A run that ends in time; another thread of the same agent then works."""
    began = time.monotonic()
    events = talk.say(text)
    assert time.monotonic() - began < within
    assert text_of(Talk(talk.stage, talk.agent).say("hello")) == "You said: hello"
    return events


def test_an_agent_that_dies_ends_the_run_with_the_end_of_its_stderr(frail: Stage) -> None:
    events = failing(Talk(frail), "die", within=10)
    assert (text_of(events), outcome_of(events)) == ("about to", "AGENT_DIED")
    assert "exited with code 3" in events[-1]["message"] and "fatal: the dog ate it" in events[-1]["message"]


def test_an_agent_that_dies_takes_the_other_runs_of_its_process_along_and_nothing_else(frail: Stage) -> None:
    neighbour, waiting = Talk(frail), Talk(frail)
    (interrupt,) = interrupts_of(waiting.say("tool"))
    with neighbour.streaming("slow") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        failing(Talk(frail), "die", within=10)
        assert outcome_of(list(events)) == "AGENT_DIED"
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    assert outcome_of(waiting.resume(answer)) == "AGENT_DIED"
    for talk in (neighbour, waiting):
        assert outcome_of(talk.say("hello")) == "success"


def test_an_agent_that_exits_right_after_its_answer_has_answered(frail: Stage) -> None:
    events = failing(Talk(frail), "leave", within=10)
    assert (text_of(events), outcome_of(events)) == ("You said: leave", "success")


def test_an_agent_that_hangs_ends_the_run_as_stalled_and_its_process_ends(frail: Stage) -> None:
    talk = Talk(frail, "hangs")
    events = failing(talk, "hang", within=STALL + 5)
    assert (text_of(events), outcome_of(events)) == ("thinking", "AGENT_STALLED")
    stuck = pid_of(talk.session)
    assert frail.received("hangs", talk.session, "session/cancel")
    eventually(lambda: not alive(stuck))


def test_an_agent_that_never_answers_initialize_ends_the_run_and_is_stopped(frail: Stage) -> None:
    began = time.monotonic()
    events = Talk(frail, "never").say("hello")
    assert (outcome_of(events), time.monotonic() - began < STALL + 5) == ("AGENT_STALLED", True)
    assert "initialize" in events[-1]["message"]
    assert frail.asks("/agents/never")["availability"]["status"] == "broken"
    eventually(lambda: not frail.processes("never"))


def test_a_run_whose_time_is_over_is_cancelled_and_its_thread_goes_on(frail: Stage) -> None:
    talk = Talk(frail, "limited")
    events = failing(talk, "slow", within=STALL + 5)
    assert outcome_of(events) == "RUN_TIMEOUT"
    assert frail.received("limited", talk.session, "session/cancel")
    assert text_of(talk.say("hello")) == "You said: hello"


def test_the_start_of_an_agent_counts_to_the_time_of_the_run(frail: Stage) -> None:
    assert outcome_of(Talk(frail, "limited-start").say("hello")) == "RUN_TIMEOUT"
    eventually(lambda: not frail.processes("limited-start"))


def test_an_agent_that_does_not_read_ends_the_run_as_stalled(frail: Stage) -> None:
    began = time.monotonic()
    events = Talk(frail, "deaf").say("x" * 1_000_000)
    assert (outcome_of(events), time.monotonic() - began < STALL + 5) == ("AGENT_STALLED", True)


def test_a_run_of_an_agent_that_does_not_read_can_be_cancelled(frail: Stage) -> None:
    talk = Talk(frail, "patient-deaf")
    with talk.streaming("x" * 1_000_000) as events:
        eventually(lambda: frail.received("patient-deaf", method="session/new"))
        began = time.monotonic()
        assert talk.cancel() == "cancelling"
        assert outcome_of(list(events)) == "cancelled"
    assert time.monotonic() - began < 4
    eventually(lambda: not frail.processes("patient-deaf"))


def test_a_flood_of_stderr_is_swallowed(frail: Stage) -> None:
    assert text_of(failing(Talk(frail), "flood", within=10)) == "flooded"


def test_a_line_of_seventy_megabytes_is_passed_over(frail: Stage) -> None:
    assert text_of(failing(Talk(frail, "patient"), "longline", within=20)) == "still here"


def test_no_message_of_any_shape_takes_the_gateway_along(frail: Stage) -> None:
    events = failing(Talk(frail, "patient"), "garbage", within=20)
    assert (text_of(events), outcome_of(events)) == ("and yet", "success")
    assert "Traceback" not in frail.log.read_text()


def test_no_request_of_any_shape_goes_without_an_answer(frail: Stage) -> None:
    report = json_of(failing(Talk(frail, "serving", approvals="auto"), "demands", within=20))
    assert report["asked"] == report["errors"] + report["outcomes"] > 100
    assert "Traceback" not in frail.log.read_text()


def test_a_second_answer_is_passed_over(frail: Stage) -> None:
    talk = Talk(frail)
    events = failing(talk, "twice", within=10)
    assert (text_of(events), outcome_of(events)) == ("You said: twice", "success")
    assert text_of(talk.say("hello")) == "You said: hello"


def test_answers_out_of_order_find_their_runs(frail: Stage) -> None:
    first, second = Talk(frail), Talk(frail)
    with first.streaming("hold") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        assert text_of(second.say("release")) == "released"
        assert outcome_of(list(events)) == "success"


def test_an_agent_that_closes_its_stdout_and_lives_on_is_ended(frail: Stage) -> None:
    talk = Talk(frail)
    events = failing(talk, "mute", within=10)
    assert (text_of(events), outcome_of(events)) == ("going", "AGENT_DIED")
    assert "closed its pipes" in events[-1]["message"]
    eventually(lambda: not alive(pid_of(talk.session)))


def test_an_agent_that_is_not_there_is_refused_before_anything_begins(frail: Stage) -> None:
    problem = problem_in(frail.post("missing", run_input("hello")), 422, "AGENT_NOT_INSTALLED")
    assert "'no-such-agent-anywhere' is not on the PATH, stated by the probe" in problem["detail"]
    assert problem["availability"]["status"] == "not-installed"


def test_one_that_is_installed_meanwhile_runs(frail: Stage, tmp_path: Path) -> None:
    program, report = tmp_path / "late", frail.command("late")
    frail.agent("late", command={**report, "run": [str(program)]})
    eventually(lambda: frail.client.get("/agents/late").status_code == 200)
    problem_in(frail.post("late", run_input("hello")), 422, "AGENT_NOT_INSTALLED")
    program.write_text(f"#!/bin/sh\nexec {shlex.join(report['run'])}\n")
    program.chmod(0o755)
    assert text_of(frail.run("late", "hello")) == "You said: hello"


@pytest.mark.parametrize("end", ["close", "die"])
def test_a_terminal_does_not_outlive_its_session(frail: Stage, tmp_path: Path, end: str) -> None:
    talk, note = Talk(frail), tmp_path / "pid"
    talk.say(f"leave_running echo $$ > {note}; exec sleep 600")
    pid = int(eventually(lambda: note.exists() and note.read_text()))
    assert alive(pid)
    if end == "close":
        frail.asks(f"{talk.path}/close", {})
    else:
        Talk(frail).say("die")
    eventually(lambda: not alive(pid))


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_no_agent_outlives_the_gateway(tmp_path: Path, how: str) -> None:
    """Not even one that ignores its stdin's end and SIGTERM, with a turn under way and another that waits."""
    with Stage(tmp_path, shutdown_grace=0, cancel_grace=0.2).agent("plain", "--ignore-term") as stage:
        busy, waiting = Talk(stage), Talk(stage)
        interrupts_of(waiting.say("tool"))
        with busy.streaming("stubborn") as events:
            until(events, "TEXT_MESSAGE_CONTENT")
            pid = pid_of(busy.session)
            assert alive(pid)
            if how == "terminate":
                assert stage.terminate() == 0
                assert outcome_of(list(events)) == "GATEWAY_STOPPING"
                assert not alive(pid)
            else:
                stage.kill()
        eventually(lambda: not alive(pid))
