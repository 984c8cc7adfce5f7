"""Recordings of pi, of both generations, and of omp: whatever they said becomes a stream that clients take, and nothing
of it is lost."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, Raw, TokenUsage, Wire
from gateway.wire.lines import Lines
from tests.agui.replay import accepted
from tests.agui.streams import steady
from tests.wire.dialects.pi_replay import NAMES, lines, played, recording, runs_of
from tests.wire.dialects.replay import Recording

RECORDINGS: dict[str, Recording] = {name: partial(recording, name) for name in NAMES}
every = pytest.mark.parametrize("name", NAMES)

DIED = ("pi/json-cancel-tool", "omp/json-cancel-tool", "omp/json-error-retry")
"""Where the process was gone in the middle, and the driver says so."""


def agent_lines(name: str) -> list[dict[str, Any]]:
    """The agent's own messages, as they were recorded, to the end of the turn."""
    line_message = [orjson.loads(raw) for raw in lines(name)]
    return [entry.get("line", entry) for entry in line_message if entry.get("dir") != "in"]


def finals(name: str, kind: str) -> str:
    """All that the model said, by the messages that are complete; a subagent's are not the agent's own."""
    ends = [line_message["message"] for line_message in agent_lines(name) if line_message["type"] == "message_end"]
    blocks = [block for message in ends if message["role"] == "assistant" for block in message["content"]]
    return "".join(block[kind] for block in blocks if block["type"] == kind)


def deltas_of(name: str, kind: str) -> str:
    stream = (event for run in runs_of(played(name).events) for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def test_all_recordings_are_played() -> None:
    assert len(NAMES) > 60


@every
def test_every_run_is_a_stream_that_the_official_client_takes(name: str) -> None:
    for run in runs_of(played(name).events):
        accepted(run)


@every
def test_the_turn_ends_when_the_agent_reports_it(name: str) -> None:
    assert played(name).dialect.is_busy is (name in DIED)


@every
def test_nothing_is_left_unread(name: str) -> None:
    assert [event for event in played(name).events if isinstance(event, Raw)] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "omp/rpc-command"])  # no model speaks there
def test_all_text_is_sent_once(name: str) -> None:
    assert deltas_of(name, "TEXT_MESSAGE") == finals(name, "text")
    assert deltas_of(name, "REASONING_MESSAGE") == finals(name, "thinking")


@every
def test_every_tool_that_ran_has_one_call_and_one_result(name: str) -> None:
    events = [event for run in runs_of(played(name).events) for event in run if "subagentRunId" not in event]
    ran = [
        line_message["toolCallId"]
        for line_message in agent_lines(name)
        if line_message["type"] == "tool_execution_start"
    ]
    starts = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    results = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert starts == [f"t1:{agents_id}" for agents_id in ran]
    assert sorted(results) == sorted(starts) or name in DIED


@every
def test_the_arguments_are_those_of_the_tool(name: str) -> None:
    runs = runs_of(played(name).events)
    for line_message in agent_lines(name):
        if line_message["type"] == "tool_execution_start":
            parts = [event for run in runs for event in run if event["type"] == "TOOL_CALL_ARGS"]
            deltas = [part["delta"] for part in parts if part["toolCallId"] == f"t1:{line_message['toolCallId']}"]
            assert orjson.loads("".join(deltas)) == line_message["args"]


@every
def test_the_tokens_are_those_of_all_answers(name: str) -> None:
    used = [event for event in played(name).events if isinstance(event, TokenUsage)]
    line_message = [message["usage"] for message in answers(name)]
    assert sum(one.input_tokens or 0 for one in used) == sum(
        one["input"] + one["cacheRead"] + one["cacheWrite"] for one in line_message
    )
    assert sum(one.output_tokens or 0 for one in used) == sum(one["output"] for one in line_message)
    assert sum(one.total_tokens or 0 for one in used) == sum(one["totalTokens"] for one in line_message)


def answers(name: str) -> list[dict[str, Any]]:
    """Subagents' too: they cost money, too."""
    events = [line_message.get("payload", {}).get("event", line_message) for line_message in agent_lines(name)]
    ends = [event["message"] for event in events if event["type"] == "message_end"]
    return [message for message in ends if message["role"] == "assistant"]


def events_of(name: str, sizes: list[int]) -> list[Event]:
    dialect, messages = recording(name)
    data, cut, found = b"\n".join(messages) + b"\n", Lines(10_000_000), list[Event]()
    start = number = 0
    while start < len(data):
        size = sizes[number % len(sizes)]
        found += dialect.read([line for line in cut.feed(data[start : start + size]) if isinstance(line, bytes)])
        start, number = start + size, number + 1
    return found


CUT = ("pi/rpc-gate-edit", "pi-1.5/json-parallel", "omp/rpc-permission-parallel", "omp/json-thinking")


@settings(steady, max_examples=12)
@given(st.sampled_from(CUT), st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, sizes: list[int]) -> None:
    assert events_of(name, sizes) == events_of(name, [10_000_000])


def test_a_session_is_known_by_the_agents_own_id() -> None:
    first, again = played("pi/json-text").dialect, played("pi/json-resume").dialect
    assert first.session_id == again.session_id == "01a1e203-5f7d-741b-afed-f3758f0445d2"
    assert played("pi/json-fork").dialect.session_id != first.session_id


def test_no_path_of_the_machine_is_sent() -> None:
    line_message: list[Wire] = [event for name in NAMES for run in runs_of(played(name).events) for event in run]
    text = orjson.dumps(line_message).decode()
    assert "raw-http-request" not in text
    assert "/home/user" not in text
