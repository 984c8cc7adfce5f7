"""Recordings of Claude Code in both of its modes: what a client sees, and that nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, Raw, TokenUsage, TurnEnded, TurnFailed, Wire
from tests.agui.replay import accepted
from tests.agui.streams import steady
from tests.wire.dialects.claude_replay import NAMES, Play, played, recording
from tests.wire.dialects.replay import Recording

RECORDINGS: dict[str, Recording] = {name: partial(recording, name) for name in NAMES}


def test_all_recordings_are_played() -> None:
    assert len(NAMES) == 37


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_stream_that_clients_accept(name: str) -> None:
    assert played(name).runs.streams
    for stream in played(name).runs.streams:
        accepted(stream)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_unread_or_has_to_be_put_in_order(name: str) -> None:
    play = played(name)
    assert [event for event in play.events if isinstance(event, Raw)] == []
    assert [event for event in all_events(play) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cancel-sigterm"])
def test_texts_and_thoughts_are_whole(name: str) -> None:
    """Claude repeats each streamed block as a whole, which proves what was streamed."""
    play = played(name)
    for kind, event in (("text", "TEXT_MESSAGE_CONTENT"), ("thinking", "REASONING_MESSAGE_CONTENT")):
        assert sent_texts(play, event) == recorded_texts(play, kind)


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_a_result_and_its_arguments(name: str) -> None:
    play = played(name)
    stream = all_events(play)
    started = Counter(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
    assert started.total() == len(started)
    for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
        assert Counter(event["toolCallId"] for event in stream if event["type"] == kind) == started
    arguments = Counter(
        json.dumps(json.loads("".join(e["delta"] for e in stream if e.get("toolCallId") == call and "delta" in e)))
        for call in started
    )
    assert arguments == Counter(json.dumps(block["input"]) for block in blocks(play, "tool_use"))


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_used_for_one_thing_only(name: str) -> None:
    names = [event["messageId"] for event in all_events(played(name)) if event["type"] == "TEXT_MESSAGE_START"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_all_tokens_are_counted_once(name: str) -> None:
    """The usage of all results together is the last total that this process reports."""
    results = [line for line in agent_lines(played(name)) if line["type"] == "result"]
    used = [event for event in played(name).events if isinstance(event, TokenUsage)]
    total = sum(event.input_tokens or 0 for event in used)
    totals = [sum(model["inputTokens"] for model in line["modelUsage"].values()) for line in results]
    if name not in ("resume-2", "fork"):  # these go on with what was used before
        assert total == max(totals, default=0)


CUT = ("bidir-subagents", "bidir-permissions-interrupt", "bidir-cancels", "midfail", "thinking", "tool-parallel")


@settings(steady, max_examples=12)
@given(st.sampled_from(CUT), st.lists(st.integers(1, 4000), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, sizes: list[int]) -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        start = number = 0
        while start < len(data):
            size = sizes[number % len(sizes)]
            yield data[start : start + size]
            start, number = start + size, number + 1

    assert all_output(Play(name, cut)) == all_output(played(name))


def test_the_events_are_the_same_byte_by_byte() -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        return (data[at : at + 1] for at in range(len(data)))

    assert all_output(Play("schema", cut)) == all_output(played("schema"))


OVERLOADED = (
    "API Error: 529 the script wants status 529. This is a server-side issue, usually temporary — try again in a "
    "moment. If it persists, check your inference gateway (127.0.0.1:45329)."
)
ENDS: dict[str, list[Event]] = {
    "text": [TurnEnded()],
    "resume-1": [TurnEnded()],
    "resume-2": [TurnEnded()],
    "fork": [TurnEnded()],
    "resume-unknown": [
        TurnFailed("No conversation found with session ID: 11111111-2222-3333-4444-555555555555", "SESSION_NOT_FOUND")
    ],
    "schema": [TurnEnded(result={"name": "bob"})],
    "error-400": [TurnFailed("API Error: 400 scripted error 400", "MODEL_ERROR")],
    "error-401": [TurnFailed("Failed to authenticate. API Error: 401 scripted error 401", "AUTH_REQUIRED")],
    "noauth": [TurnFailed("Not logged in · Please run /login", "AUTH_REQUIRED")],
    "unreachable": [
        TurnFailed(
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)", "MODEL_ERROR"
        )
    ],
    "midfail": [TurnEnded()],
    "maxtok": [TurnEnded()],
    "cancel-sigint": [TurnEnded("cancelled")],
    "cancel-sigint-in-tool": [TurnEnded("cancelled")],
    "cancel-sigterm": [TurnEnded("cancelled")],
    "print-maxturns": [TurnFailed("Reached maximum number of turns (1)", "TURN_LIMIT")],
    "print-subagent-background": [TurnEnded()],
    "print-shell-background": [TurnEnded()],
    "permission-denied": [TurnEnded()],
    "bidir-permissions-interrupt": [
        *[TurnEnded()] * 2,
        TurnEnded("cancelled"),
        TurnEnded(),
        TurnEnded("cancelled"),
        *[TurnEnded()] * 3,
    ],
    "bidir-interrupt-pending-permission": [TurnEnded("cancelled"), TurnEnded()],
    "bidir-subagents": [TurnEnded()] * 5,
    "bidir-cancels": [*[TurnEnded("cancelled")] * 4, TurnEnded()],
    "bidir-background-shell": [TurnEnded()] * 2,
    "bidir-commands": [*[TurnEnded()] * 5, *[TurnFailed(OVERLOADED, "MODEL_ERROR")] * 2],
}


@pytest.mark.parametrize("name", ENDS)
def test_a_turn_ends_as_it_really_ended(name: str) -> None:
    assert [event for event in played(name).events if isinstance(event, TurnEnded | TurnFailed)] == ENDS[name]


def test_a_prompt_is_not_ended_by_the_result_of_a_turn_that_claude_started() -> None:
    last = played("bidir-background-shell").runs.streams[-1]
    assert "".join(event.get("delta", "") for event in last).endswith("You said: meanwhile")


def test_a_run_goes_on_until_its_subagents_are_done_and_the_agent_has_reported_it() -> None:
    runs = played("bidir-subagents").runs.streams
    assert len(runs) == 6  # one of five turns asks a question
    both = [event["type"] for event in runs[-1]]
    assert both.count("SUBAGENT_STARTED") == both.count("SUBAGENT_FINISHED") == 2
    assert both.index("SUBAGENT_FINISHED") < both.index("TEXT_MESSAGE_START", both.index("SUBAGENT_FINISHED"))


def agent_lines(play: Play) -> list[Wire]:
    return [orjson.loads(message) for message in play.messages]


def all_events(play: Play) -> list[Wire]:
    return [event for stream in play.runs.streams for event in stream]


def blocks(play: Play, kind: str) -> list[Wire]:
    """The blocks of whole messages that are answers, not model errors."""
    lines = [line for line in agent_lines(play) if line["type"] == "assistant"]
    responses_sent = [line for line in lines if line["parent_tool_use_id"] or "is_api_error_message" not in line]
    return [block for line in responses_sent for block in line["message"]["content"] if block["type"] == kind]


def sent_texts(play: Play, kind: str) -> Counter[str]:
    """The texts of all messages, without those that a broken stream retracted."""
    stream = all_events(play)
    retracted = {name for event in stream if event.get("name") == "claude.retracted" for name in event["value"]["ids"]}
    texts: dict[str, str] = {}
    for event in stream:
        if event["type"] == kind and event["messageId"] not in retracted:
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    return Counter(texts.values())


def recorded_texts(play: Play, kind: str) -> Counter[str]:
    return Counter(block[kind] for block in blocks(play, kind) if block[kind])


def all_output(play: Play) -> object:
    return play.runs.streams, play.commands
