"""Agents that go wrong: the client reads a valid stream, the author finds the reason, no other run suffers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agui.replay import accepted
from tests.runs.harness import cancel, eventually, played, staged, streaming, until
from tests.support.gateway import Gateway, text_of, types_of

STALL = "stall_timeout = 0.3"


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    more = dict.fromkeys(("hangs", "hangs_before_a_word", "hangs_in_a_thread", "swallows"), STALL)
    with staged(tmp_path_factory.mktemp("faults"), "faults", more=more, cancel_grace=0.3) as running:
        yield running
        assert text_of(running.run("echo", "still well")).strip() == "still well", "whatever happened before"


@pytest.mark.parametrize(
    ("agent", "text", "error"),
    [
        ("raises-at-once", "", "ValueError: no thank you"),
        ("raises-mid-message", "so far so ", "LookupError: lost the thread"),
        ("raises-in-a-thread", "so far so ", "LookupError: lost the thread"),
        ("exits", "farewell", "SystemExit: 3"),
        ("cancels-itself", "a task of mine", "CancelledError"),
    ],
)
def test_an_agent_that_raises_fails_the_run_and_its_author_finds_the_traceback(
    faults: Gateway, agent: str, text: str, error: str
) -> None:
    before = len(faults.log.read_text())
    events = played(faults, agent)
    assert text_of(events) == text
    assert events[-1] == {"type": "RUN_ERROR", "message": error, "code": "AGENT_EXCEPTION"}
    logged = faults.log.read_text()[before:]
    assert logged.count("the agent raised") == logged.count("Traceback (most recent call last)") == 1
    assert f"in {agent.replace('-', '_')}" in logged, "the line of the author's own file"
    assert error.split(":")[0] in logged


def test_an_error_that_quotes_much_still_reaches_the_client(faults: Gateway) -> None:
    error = played(faults, "quotes-much")[-1]
    assert error["code"] == "AGENT_EXCEPTION"
    assert len(error["message"]) < 200_000


@pytest.mark.parametrize("agent", ["raises-after-its-end", "raises-while-it-cleans-up"])
def test_what_an_agent_raises_after_its_end_is_the_logs_matter(faults: Gateway, agent: str) -> None:
    before = len(faults.log.read_text())
    events = played(faults, agent)
    assert text_of(events) == "all said"
    assert (events[-1]["type"], events[-1]["result"]) == ("RUN_FINISHED", "done")
    if agent == "raises-while-it-cleans-up":  # the other one may be stopped at its end, before it can
        eventually(lambda: "ValueError: one thing more" in faults.log.read_text()[before:])


@pytest.mark.parametrize(
    ("agent", "text"),
    [("hangs", "one moment"), ("hangs-before-a-word", ""), ("hangs-in-a-thread", "one moment")],
)
def test_an_agent_that_hangs_is_not_waited_for_for_ever(faults: Gateway, agent: str, text: str) -> None:
    events = played(faults, agent)
    assert text_of(events) == text
    assert events[-1]["code"] == "AGENT_STALLED"
    assert events[-1]["message"] == "the agent said nothing for 0.3 seconds"


def test_an_agent_that_hangs_and_cannot_be_stopped_is_let_go(faults: Gateway) -> None:
    assert played(faults, "swallows")[-1]["code"] == "AGENT_STALLED"
    assert "it is abandoned" in faults.log.read_text()


@pytest.mark.parametrize("agent", ["swallows-and-talks", "blocks"])
def test_a_cancelled_run_ends_whatever_the_agent_does(faults: Gateway, agent: str) -> None:
    with streaming(faults, agent) as (run_id, events):
        begun = until(events, "TEXT_MESSAGE_CONTENT")
        assert cancel(faults, run_id) == "cancelling"
        rest = accepted([*begun, *events])
    assert rest[-1]["outcome"] == {"type": "cancelled"}


def test_nonsense_fails_the_run_and_says_what_may_be_yielded(faults: Gateway) -> None:
    events = played(faults, "yields-a-number")
    assert text_of(events) == "one, two, "
    assert events[-1]["code"] == "AGENT_PROTOCOL_ERROR"
    assert "yielded a int; it may yield str" in events[-1]["message"]


def test_an_unknown_event_is_handed_on_raw(faults: Gateway) -> None:
    events = played(faults, "yields-the-unknown")
    raws = [event["event"] for event in events if event["type"] == "RAW"]
    assert raws == [{"type": "OTTER_SWAM", "far": [1, None]}, {"type": None}]
    assert text_of(events) == "after it"
    assert events[-1]["type"] == "RUN_FINISHED"


def test_a_malformed_event_fails_the_run_with_its_place(faults: Gateway) -> None:
    events = played(faults, "yields-the-malformed")
    assert text_of(events) == "before it"
    assert "STATE_DELTA at /delta/1/value" in events[-1]["message"]


def test_what_comes_after_the_end_is_not_sent(faults: Gateway) -> None:
    events = played(faults, "goes-on-after-its-end")
    assert text_of(events) == "before it"
    assert types_of(events).count("RUN_FINISHED") == types_of(events).count("RUN_STARTED") == 1
    assert events[-1]["result"] == {"n": 1}


def test_an_order_that_no_client_would_take_is_corrected(faults: Gateway) -> None:
    events = played(faults, "mixes-up-the-order")
    assert types_of(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "RAW",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "RAW",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "RUN_FINISHED",
    ]


def test_numbers_and_characters_that_json_has_not_are_reported_as_well_as_can_be(faults: Gateway) -> None:
    events = played(faults, "says-odd-values")
    values = {event["name"]: event["value"] for event in events if event["type"] == "CUSTOM"}
    assert values == {"house": [None, None, 10**30, "half \ud83d"], "native": [None, None, -(10**30), "half \ude00"]}
    assert text_of(events) == "cut \N{GRINNING FACE} together, alone \ud83d"


@pytest.mark.parametrize("agent", ["yields-no-json", "yields-wrong-types"])
def test_what_cannot_be_sent_fails_the_run_and_keeps_what_came_before(faults: Gateway, agent: str) -> None:
    events = played(faults, agent)
    assert text_of(events) == "before it"
    assert types_of(events)[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"], "no call is closed that was never opened"
    assert events[-1]["code"] == "AGENT_ERROR"


def test_an_agent_that_cannot_be_stopped_does_not_keep_the_gateway_from_stopping(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "faults", cancel_grace=0.2, shutdown_grace=0.2)
    with gateway:
        with streaming(gateway, "swallows") as (_, one), streaming(gateway, "blocks") as (_, other):
            until(one, "TEXT_MESSAGE_CONTENT")
            until(other, "TEXT_MESSAGE_CONTENT")
        assert gateway.terminate() == 0
