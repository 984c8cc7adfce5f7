"""`agui-gateway run` in a terminal: its output, interrupts answered by key, Ctrl-C."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage
from tests.cli.pseudo_terminal import Terminal
from tests.drivers.process_watch import until
from tests.support.gateway import run_input
from tests.web.agent_folder import write_agent

CTRL_C, CTRL_D, ESCAPE, UP = "\x03", "\x04", "\x1b", "\x1b[A"

HOSTILE = """\
from gateway import Interrupt, InterruptRequested

async def agent(turn):
    yield "before \\x1b[2J\\x1b]0;title\\x07after"
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation", message="\\x1b[31mSure?"),))
    yield "yes" if answers[f"{turn.run_id}-q"].status == "resolved" else "no"
"""
WAITING = """\
import anyio
from gateway import Interrupt, InterruptRequested

async def agent(turn):
    yield "one moment"
    while not await anyio.Path(turn.text).exists():
        await anyio.sleep(0.01)
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation", message="Sure?"),))
    yield "the answer is yes" if answers[f"{turn.run_id}-q"].status == "resolved" else "the answer is no"
"""
ORDERING = """\
import json
from gateway import Interrupt, InterruptRequested

FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "string", "enum": ["s", "m", "l"], "enumNames": ["Small", "Medium", "Large"]},
        "toppings": {"type": "array", "items": {"enum": ["ham", "cheese", "basil"]}},
        "spicy": {"type": "boolean", "default": False},
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "title": "How many"},
        "note": {"type": "string"},
    },
    "required": ["size", "count"],
}

async def agent(turn):
    id_ = f"{turn.run_id}-q"
    answers = yield InterruptRequested((Interrupt(id_, "input_required", message="Your order?", response_schema=FORM),))
    yield json.dumps(answers[id_].payload) if answers[id_].status == "resolved" else "no order"
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("stage")
    started = Stage(home).agent("plain")
    write_agent(started.agents, "hostile", HOSTILE)
    write_agent(started.agents, "waiting", WAITING)
    write_agent(started.agents, "ordering", ORDERING)
    with started:
        yield started


def open_terminal(stage: Stage, *arguments: str, **env: str) -> Terminal:
    return Terminal(stage.workspace, "run", *arguments, "--url", stage.url, **env)


# -- output


def test_reasoning_is_dimmed_and_tools_are_coloured(stage: Stage) -> None:
    with open_terminal(stage, "demo", "everything", NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert "\x1b[2;3mThey" in terminal.raw and "\x1b[1;36mget_weather" in terminal.raw
    assert "scout: Off to Reykjavík!" in terminal.screen


def test_without_colours_there_is_no_escape_at_all(stage: Stage) -> None:
    with open_terminal(stage, "demo", "everything") as terminal:
        assert terminal.end() == 0
    assert "They would like to see me think." in terminal.raw
    assert "\x1b" not in terminal.raw


def test_the_last_lines_show_usage_and_how_to_continue(stage: Stage) -> None:
    with open_terminal(stage, "demo", "usage") as terminal:
        assert terminal.end() == 0
    *_, usage, hint = terminal.screen.strip().splitlines()
    assert usage.startswith("1,500 in (800 cached) · 385 out (120 thinking) · ")
    thread = hint.partition("--thread ")[2].split()[0]
    assert stage.asks(f"/agents/demo/threads/{thread}")["messages"]


def test_an_agents_text_cannot_control_the_terminal(stage: Stage) -> None:
    with open_terminal(stage, "hostile", "hello") as terminal:
        terminal.until("> ")
        terminal.press("y")
        assert terminal.end() == 0
    assert "before [2J]0;titleafter" in terminal.raw
    assert "? [31mSure?" in terminal.raw and "\x1b" not in terminal.raw


# -- interrupts


@pytest.mark.parametrize(
    ("key", "outcome"),
    [
        ("y", "notes.txt is deleted"),
        ("N", "notes.txt stays: you refused."),
        (ESCAPE, "notes.txt stays: the question was cancelled."),
        (CTRL_D, "notes.txt stays: the question was cancelled."),
    ],
)
def test_a_key_answers(stage: Stage, key: str, outcome: str) -> None:
    with open_terminal(stage, "demo", "approve") as terminal:
        output = terminal.until("> ")
        assert "? May I delete notes.txt?" in output and "delete_file path=notes.txt" in output
        assert "y  Allow" in output and "n  Deny" in output and "e  Allow with other arguments" in output
        terminal.press(key)
        assert terminal.end() == 0
    assert outcome in terminal.screen


def test_another_key_is_no_answer(stage: Stage) -> None:
    with open_terminal(stage, "demo", "approve") as terminal:
        for keys in (UP, "x", "\n", "pasted: y\n"):
            terminal.until("> ")
            terminal.press(keys)
        terminal.until("press one of y n e > ")
        terminal.press("n")
        assert terminal.end() == 0
    assert "notes.txt stays: you refused." in terminal.screen


def test_keys_from_before_the_question_are_no_answer(stage: Stage, tmp_path: Path) -> None:
    """A user who types ahead has not read the question."""
    with open_terminal(stage, "waiting", str(tmp_path / "go")) as terminal:
        terminal.until("one moment")
        terminal.press("yyy")
        terminal.until("yyy")  # the terminal has echoed them
        (tmp_path / "go").touch()
        terminal.until("> ")
        terminal.press("n")
        terminal.until("the answer is no")
        assert terminal.end() == 0


def test_arguments_are_changed_field_by_field(stage: Stage) -> None:
    with open_terminal(stage, "demo", "approve") as terminal:
        terminal.until("> ")
        terminal.press("e")
        assert "[notes.txt]" in terminal.until("> ")
        terminal.press("draft.txt\n")
        assert terminal.end() == 0
    assert "draft.txt is deleted" in terminal.screen


def test_an_empty_line_keeps_the_argument(stage: Stage) -> None:
    with open_terminal(stage, "demo", "approve") as terminal:
        terminal.until("> ")
        terminal.press("e")
        terminal.until("> ")
        terminal.press("\n")
        assert terminal.end() == 0
    assert "notes.txt is deleted" in terminal.screen


def test_the_agent_s_own_options_are_listed_and_chosen_by_number(stage: Stage) -> None:
    with open_terminal(stage, "plain", "tool") as terminal:
        output = terminal.until("> ")
        assert "  1  Allow\n  2  Always\n  3  Reject\n  y  Allow\n  n  Deny\n" in output
        terminal.press("2")
        assert terminal.end() == 0
    assert "chose allow-always" in terminal.screen


def test_two_questions_are_asked_one_after_the_other(stage: Stage) -> None:
    with open_terminal(stage, "demo", "two approvals") as terminal:
        assert "notes.txt" in terminal.until("> ")
        terminal.press("y")
        assert "draft.txt" in terminal.until("> ")
        terminal.press("n")
        assert terminal.end() == 0
    assert "notes.txt is deleted" in terminal.screen and "draft.txt stays: you refused." in terminal.screen


def test_a_form_is_filled_in_field_by_field(stage: Stage) -> None:
    with open_terminal(stage, "ordering", "order") as terminal:
        assert "1  Small" in terminal.until("3  Large")
        terminal.until("> ")
        terminal.press("2\n")
        terminal.until("> ")
        terminal.press("ham, 3\n")
        assert "[false]" in terminal.until("y/n ")
        terminal.press("y\n")
        assert "How many" in terminal.until("> ")
        terminal.press("many\n")
        terminal.until("enter a whole number")
        terminal.press("12\n")
        terminal.until("12 is greater than the maximum of 9")
        terminal.press("3\n")
        assert "note [optional]" in terminal.until("> ")
        terminal.press("\n")
        assert terminal.end() == 0
    answer = next(line for line in terminal.screen.splitlines() if line.startswith("{"))
    assert json.loads(answer) == {"size": "m", "toppings": ["ham", "basil"], "spicy": True, "count": 3}


def test_an_abandoned_form_is_cancelled(stage: Stage) -> None:
    with open_terminal(stage, "ordering", "order") as terminal:
        terminal.until("> ")
        terminal.press(CTRL_D)
        assert terminal.end() == 0
    assert "no order" in terminal.screen


def test_open_interrupts_of_a_thread_are_asked_first(stage: Stage) -> None:
    """Another client, or this terminal before it was closed, left an interrupt open."""
    assert "interrupt" in stage.post("demo", run_input("approve", threadId="open")).text
    with open_terminal(stage, "demo", "usage", "--thread", "open") as terminal:
        assert "May I delete notes.txt?" in terminal.until("> ")
        terminal.press("y")
        terminal.until("notes.txt is deleted")
        terminal.until("Here is the bill")
        assert terminal.end() == 0


# -- Ctrl-C


def test_ctrl_c_cancels_the_run(stage: Stage) -> None:
    with open_terminal(stage, "plain", "slow") as terminal:
        terminal.until("w1 ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert "Cancelled" in terminal.screen
    assert stage.received("plain", method="session/cancel")


def test_ctrl_c_at_an_interrupt_cancels_the_turn(stage: Stage) -> None:
    with open_terminal(stage, "demo", "approve", "--thread", "abandoned") as terminal:
        terminal.until("> ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert stage.asks("/agents/demo/threads/abandoned")["interrupts"] == []


def test_ctrl_c_twice_exits_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    """With an embedded gateway, and an agent that ignores the cancellation."""
    stage = Stage(tmp_path).agent("stubborn", "--ignore-term")
    arguments = ("run", "stubborn", "stubborn", "--agents", str(stage.agents), "--store", "memory:", "--trust")
    with Terminal(stage.workspace, *arguments, AGUI_GATEWAY_CANCEL_GRACE="600") as terminal:
        terminal.until("still ")
        terminal.press(CTRL_C)
        until(lambda: bool(stage.received("stubborn", method="session/cancel")))
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    until(lambda: stage.processes("stubborn") == [])


def test_sigterm_cancels_the_run_too(stage: Stage) -> None:
    with open_terminal(stage, "plain", "slow", "--thread", "ended") as terminal:
        terminal.until("w1 ")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 130
    assert stage.asks("/agents/plain/threads/ended")["pendingRunId"] is None
