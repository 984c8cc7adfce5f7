"""Recordings of `codex app-server`: each becomes a stream that clients accept, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Raw, TokenUsage, Wire
from gateway.wire.dialects import Dialect, Prompt
from tests.agui.replay import accepted
from tests.agui.streams import steady
from tests.wire.dialects.codex_replay import NAMES, Json, Play, Talk, compact, entries, played, ready
from tests.wire.dialects.replay import Recording


def all_events(name: str) -> list[Wire]:
    return [event for talk in played(name).talks for run in talk.runs for event in run]


# -- for mutations


def turns(name: str) -> list[tuple[Json, list[Json]]]:
    """Each turn of a recording: the request that began it, and what the server sent until the next."""
    found: list[tuple[Json, list[Json]]] = []
    for entry in entries(name):
        line = entry["line"]
        if entry["dir"] == "in" and line.get("method") == "turn/start":
            found.append((line, []))
        elif entry["dir"] == "out" and found:
            found[-1][1].append(line)
    return [(request, lines) for request, lines in found if request["params"]["threadId"] != "nope"]


def recorded_turn(name: str, number: int) -> tuple[Dialect, list[bytes]]:
    request, lines = turns(name)[number]
    dialect = ready(request["params"]["threadId"])
    dialect.prompt(Prompt(request["params"]["input"], "t1"))
    sent = json.loads(dialect.outbox[-1])["id"]
    return dialect, [compact({**line, "id": sent} if answers(line, request) else line) for line in lines]


def answers(line: Json, request: Json) -> bool:
    return "method" not in line and line.get("id") == request["id"]


RECORDINGS: dict[str, Recording] = {
    f"{name}/{number}": partial(recorded_turn, name, number) for name in NAMES for number in range(len(turns(name)))
}


# -- tests


def test_all_recordings_are_played() -> None:
    assert len(NAMES) == 12
    assert len(RECORDINGS) == 33


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_stream_that_clients_accept(name: str) -> None:
    assert any(talk.runs for talk in played(name).talks)
    for talk in played(name).talks:
        for run in talk.runs:
            accepted(run)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_unread_and_nothing_had_to_be_put_in_order(name: str) -> None:
    assert [event for talk in played(name).talks for event in talk.events if isinstance(event, Raw)] == []
    assert [event for event in all_events(name) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", NAMES)
def test_texts_and_thoughts_are_whole(name: str) -> None:
    for talk in played(name).talks:
        thread = talk.dialect.session_id
        assert streamed_text(talk, "TEXT_MESSAGE") == recorded(name, thread, "item/agentMessage/delta")
        assert streamed_text(talk, "REASONING_MESSAGE") == recorded(name, thread, "item/reasoning/summaryTextDelta")


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_and_a_result(name: str) -> None:
    for talk in played(name).talks:
        stream = [event for run in talk.runs for event in run]
        started = sorted(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
        assert len(started) == len(set(started))
        for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
            assert sorted(event["toolCallId"] for event in stream if event["type"] == kind) == started


@pytest.mark.parametrize("name", NAMES)
def test_the_answers_are_those_that_the_recorded_client_gave(name: str) -> None:
    for recorded_answer, sent in played(name).answers:
        assert sent == recorded_answer


def test_answers_of_every_kind_were_compared() -> None:
    kinds = {next(iter(sent["result"])) for name in NAMES for _, sent in played(name).answers}
    assert kinds == {"decision", "action", "permissions", "answers"}


@pytest.mark.parametrize("name", NAMES)
def test_tokens_add_up_to_the_threads_total(name: str) -> None:
    for talk in played(name).talks:
        counts = [
            entry["line"]["params"]["tokenUsage"]["total"]
            for entry in entries(name)
            if entry["line"].get("method") == "thread/tokenUsage/updated"
            and entry["line"]["params"]["threadId"] == talk.dialect.session_id
        ]
        used = [event for event in talk.events if isinstance(event, TokenUsage)]
        before = (
            counts[0] if counts and talk.dialect.session_start.session_id else {"inputTokens": 0, "outputTokens": 0}
        )
        if name != "appserver-subagent" and counts:
            assert sum(one.input_tokens or 0 for one in used) == counts[-1]["inputTokens"] - before["inputTokens"]
            assert sum(one.output_tokens or 0 for one in used) == counts[-1]["outputTokens"] - before["outputTokens"]


@settings(steady, max_examples=10)
@given(st.sampled_from(NAMES), st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, sizes: list[int]) -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        start = number = 0
        while start < len(data):
            size = sizes[number % len(sizes)]
            yield data[start : start + size]
            start, number = start + size, number + 1

    assert [talk.runs for talk in Play(name, cut).talks] == [talk.runs for talk in played(name).talks]


def test_a_missing_thread_is_replaced_by_a_new_one() -> None:
    lost = played("appserver-sessions").talks[-1].dialect
    assert lost.has_lost_history and not lost.is_ready
    requests = [message["method"] for message in played("appserver-sessions").sent]
    assert requests[-2:] == ["thread/resume", "thread/start"]


def test_a_fork_is_a_thread_of_its_own() -> None:
    resumed, forked, _ = played("appserver-sessions").talks
    assert forked.dialect.is_ready and forked.dialect.session_id != resumed.dialect.session_id


def test_models_are_listed() -> None:
    dialect = played("appserver-sessions").talks[0].dialect
    [listed] = [reply.value for reply in dialect.action_results.values()]
    assert len(listed) == 9
    assert listed[0] | {"description": ""} == {
        "id": "gpt-6.1-sol",
        "name": "GPT-6.1-Sol",
        "description": "",
        "efforts": ["low", "medium", "high", "xhigh", "max", "ultra"],
        "defaultEffort": "low",
        "default": True,
    }
    assert dialect.session_layer["custom.session.models.available"][0]["id"] == "gpt-6.1-sol"


def streamed_text(talk: Talk, kind: str) -> str:
    """The session's own words, its subagents' left out."""
    stream = (event for run in talk.runs for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def recorded(name: str, thread: str | None, method: str) -> str:
    notifications = (entry["line"]["params"] for entry in entries(name) if entry["line"].get("method") == method)
    return "".join(params["delta"] for params in notifications if params["threadId"] == thread)
