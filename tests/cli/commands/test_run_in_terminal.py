"""`agui-gateway run` at a terminal: what is seen, questions answered by key, Ctrl-C."""

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

CUNNING = """\
from gateway.events import InterruptRequested, Interrupt

async def agent(turn):
    yield "before \\x1b[2J\\x1b]0;title\\x07after"
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation", message="\\x1b[31mSure?"),))
    yield "yes" if answers[f"{turn.run_id}-q"].status == "resolved" else "no"
"""
PATIENT = """\
import anyio
from gateway.events import InterruptRequested, Interrupt

async def agent(turn):
    yield "one moment"
    while not await anyio.Path(turn.text).exists():
        await anyio.sleep(0.01)
    answers = yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation", message="Sure?"),))
    yield "the answer is yes" if answers[f"{turn.run_id}-q"].status == "resolved" else "the answer is no"
"""
CHOOSY = """\
import json
from gateway.events import InterruptRequested, Interrupt

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
    staged = Stage(home).agent("plain")
    write_agent(staged.agents, "cunning", CUNNING)
    write_agent(staged.agents, "patient", PATIENT)
    write_agent(staged.agents, "choosy", CHOOSY)
    with staged:
        yield staged


def at_terminal(stage: Stage, *arguments: str, **env: str) -> Terminal:
    return Terminal(stage.workspace, "run", *arguments, "--url", stage.url, **env)


# -- what is seen


def test_thinking_is_dimmed_and_tools_are_coloured(stage: Stage) -> None:
    with at_terminal(stage, "demo", "everything", NO_COLOR="") as terminal:
        assert terminal.end() == 0
    assert "\x1b[2;3mThey" in terminal.raw and "\x1b[1;36mget_weather" in terminal.raw
    assert "scout: Off to Reykjavík!" in terminal.screen


def test_without_colours_there_is_no_escape_at_all(stage: Stage) -> None:
    with at_terminal(stage, "demo", "everything") as terminal:
        assert terminal.end() == 0
    assert "They would like to see me think." in terminal.raw
    assert "\x1b" not in terminal.raw


def test_the_last_lines_say_what_it_took_and_how_to_go_on(stage: Stage) -> None:
    with at_terminal(stage, "demo", "usage") as terminal:
        assert terminal.end() == 0
    *_, bill, onward = terminal.screen.strip().splitlines()
    assert bill.startswith("1,500 in (800 cached) · 385 out (120 thinking) · ")
    thread = onward.partition("--thread ")[2].split()[0]
    assert stage.asks(f"/agents/demo/threads/{thread}")["messages"]


def test_an_agent_s_words_do_not_steer_the_terminal(stage: Stage) -> None:
    with at_terminal(stage, "cunning", "hello") as terminal:
        terminal.until("> ")
        terminal.press("y")
        assert terminal.end() == 0
    assert "before [2J]0;titleafter" in terminal.raw
    assert "? [31mSure?" in terminal.raw and "\x1b" not in terminal.raw


# -- questions


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
    with at_terminal(stage, "demo", "approve") as terminal:
        shown = terminal.until("> ")
        assert "? May I delete notes.txt?" in shown and "delete_file path=notes.txt" in shown
        assert "y  yes" in shown and "n  no" in shown and "e  yes, with other arguments" in shown
        terminal.press(key)
        assert terminal.end() == 0
    assert outcome in terminal.screen


def test_a_key_that_means_nothing_is_no_answer(stage: Stage) -> None:
    with at_terminal(stage, "demo", "approve") as terminal:
        for pressed in (UP, "x", "\n", "pasted: y\n"):
            terminal.until("> ")
            terminal.press(pressed)
        terminal.until("one of y n e > ")
        terminal.press("n")
        assert terminal.end() == 0
    assert "notes.txt stays: you refused." in terminal.screen


def test_keys_from_before_the_question_are_no_answer(stage: Stage, tmp_path: Path) -> None:
    """Somebody who types ahead has not read what is asked."""
    with at_terminal(stage, "patient", str(tmp_path / "go")) as terminal:
        terminal.until("one moment")
        terminal.press("yyy")
        terminal.until("yyy")  # the terminal has them
        (tmp_path / "go").touch()
        terminal.until("> ")
        terminal.press("n")
        terminal.until("the answer is no")
        assert terminal.end() == 0


def test_arguments_are_changed_field_by_field(stage: Stage) -> None:
    with at_terminal(stage, "demo", "approve") as terminal:
        terminal.until("> ")
        terminal.press("e")
        assert "[notes.txt]" in terminal.until("> ")
        terminal.press("draft.txt\n")
        assert terminal.end() == 0
    assert "draft.txt is deleted" in terminal.screen


def test_an_empty_line_keeps_the_argument(stage: Stage) -> None:
    with at_terminal(stage, "demo", "approve") as terminal:
        terminal.until("> ")
        terminal.press("e")
        terminal.until("> ")
        terminal.press("\n")
        assert terminal.end() == 0
    assert "notes.txt is deleted" in terminal.screen


def test_the_agent_s_own_options_are_listed_and_chosen_by_number(stage: Stage) -> None:
    with at_terminal(stage, "plain", "tool") as terminal:
        shown = terminal.until("> ")
        assert "  1  Allow\n  2  Always\n  3  Reject\n  y  yes\n  n  no\n" in shown
        terminal.press("2")
        assert terminal.end() == 0
    assert "chose allow-always" in terminal.screen


def test_two_questions_are_asked_one_after_the_other(stage: Stage) -> None:
    with at_terminal(stage, "demo", "two approvals") as terminal:
        assert "notes.txt" in terminal.until("> ")
        terminal.press("y")
        assert "draft.txt" in terminal.until("> ")
        terminal.press("n")
        assert terminal.end() == 0
    assert "notes.txt is deleted" in terminal.screen and "draft.txt stays: you refused." in terminal.screen


def test_a_form_is_filled_in_field_by_field(stage: Stage) -> None:
    with at_terminal(stage, "choosy", "order") as terminal:
        assert "1  Small" in terminal.until("3  Large")
        terminal.until("> ")
        terminal.press("2\n")
        terminal.until("> ")
        terminal.press("ham, 3\n")
        assert "[false]" in terminal.until("y/n ")
        terminal.press("y\n")
        assert "How many" in terminal.until("> ")
        terminal.press("many\n")
        terminal.until("that is not a whole number")
        terminal.press("12\n")
        terminal.until("12 is greater than the maximum of 9")
        terminal.press("3\n")
        assert "note [optional]" in terminal.until("> ")
        terminal.press("\n")
        assert terminal.end() == 0
    answer = next(line for line in terminal.screen.splitlines() if line.startswith("{"))
    assert json.loads(answer) == {"size": "m", "toppings": ["ham", "basil"], "spicy": True, "count": 3}


def test_a_form_that_is_given_up_is_cancelled(stage: Stage) -> None:
    with at_terminal(stage, "choosy", "order") as terminal:
        terminal.until("> ")
        terminal.press(CTRL_D)
        assert terminal.end() == 0
    assert "no order" in terminal.screen


def test_what_a_thread_still_waits_for_is_asked_first(stage: Stage) -> None:
    """Somebody else, or this terminal before it was closed, left a question open."""
    assert "interrupt" in stage.post("demo", run_input("approve", threadId="left")).text
    with at_terminal(stage, "demo", "usage", "--thread", "left") as terminal:
        assert "May I delete notes.txt?" in terminal.until("> ")
        terminal.press("y")
        terminal.until("notes.txt is deleted")
        terminal.until("Here is the bill")
        assert terminal.end() == 0


# -- Ctrl-C


def test_ctrl_c_stops_the_run_in_order(stage: Stage) -> None:
    with at_terminal(stage, "plain", "slow") as terminal:
        terminal.until("w1 ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert "cancelled" in terminal.screen
    assert stage.received("plain", method="session/cancel")


def test_ctrl_c_at_a_question_gives_up_the_turn(stage: Stage) -> None:
    with at_terminal(stage, "demo", "approve", "--thread", "given-up") as terminal:
        terminal.until("> ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert stage.asks("/agents/demo/threads/given-up")["interrupts"] == []


def test_ctrl_c_twice_ends_it_at_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """In a gateway of its own, with an agent that does not stop when it is asked to."""
    stage = Stage(tmp_path).agent("stubborn", "--ignore-term")
    arguments = ("run", "stubborn", "stubborn", "--agents", str(stage.agents), "--store", "memory:")
    with Terminal(tmp_path, *arguments, AGUI_GATEWAY_CANCEL_GRACE="600") as terminal:
        terminal.until("still ")
        terminal.press(CTRL_C)
        until(lambda: bool(stage.received("stubborn", method="session/cancel")))
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    until(lambda: stage.processes("stubborn") == [])


def test_a_signal_to_end_stops_it_in_order_too(stage: Stage) -> None:
    with at_terminal(stage, "plain", "slow", "--thread", "ended") as terminal:
        terminal.until("w1 ")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 130
    assert stage.asks("/agents/plain/threads/ended")["pendingRunId"] is None
