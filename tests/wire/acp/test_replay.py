"""Every recorded transcript is played through the reader and `Outbound`: nothing raises, nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agui.ordering import Order
from gateway.agui.validate import validate
from gateway.events import Wire
from tests.agui.streams import steady
from tests.wire.acp.accounting import RULES, excuses
from tests.wire.acp.replay import NAMES, TRANSCRIPTS, Play, Talk, played


def test_all_transcripts_are_played() -> None:
    assert len(NAMES) == 429
    assert {name.split("/")[0] for name in NAMES} == {path.name for path in TRANSCRIPTS.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_stream_that_clients_accept(name: str) -> None:
    for talk in played(name).talks.values():
        for run in talk.runs:
            order = Order()
            for event in run:
                assert validate(event) == event
                order.accept(event)
            assert order.phase in ("finished", "errored")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_read_had_to_be_put_in_order(name: str) -> None:
    """`Outbound` hands on as RAW what comes at the wrong time. A mapping that gives it nothing to mend is right."""
    assert [event for event in all_events(played(name)) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_update_is_lost(name: str) -> None:
    lost = [one.update for one, excuse in excuses(played(name).seen) if excuse is None]
    assert lost == []


def test_the_excuses_are_all_needed_and_the_count_is_whole() -> None:
    told, excused, replayed = 0, Counter[str | None](), 0
    for name in NAMES:
        seen = played(name).seen
        excused.update(excuse for _, excuse in excuses(seen))
        replayed += sum(one.replayed and not one.facts for one in seen)
        told += sum(bool(one.events) or one.facts for one in seen)
    assert told + replayed + excused.total() == 4666
    assert excused.keys() == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_whole(name: str) -> None:
    play = played(name)
    for session_id, talk in play.talks.items():
        assert said(talk, "TEXT_MESSAGE") == recorded(play, session_id, "agent_message")
        assert said(talk, "REASONING_MESSAGE") == recorded(play, session_id, "agent_thought")


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_a_result_and_whole_arguments(name: str) -> None:
    for talk in played(name).talks.values():
        stream = [event for run in talk.runs for event in run]
        started = Counter(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
        assert started.total() == len(started)
        for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
            assert Counter(event["toolCallId"] for event in stream if event["type"] == kind) == started
        for call in started:
            arguments = "".join(e["delta"] for e in stream if e["type"] == "TOOL_CALL_ARGS" and e["toolCallId"] == call)
            assert isinstance(json.loads(arguments), dict)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("/load", "/v2"))])
def test_a_replay_is_history_and_no_event(name: str) -> None:
    play = played(name)
    assert [one for one in play.seen if one.replayed and one.events] == []
    for session_id, talk in play.talks.items():
        told = [message for history in talk.histories for message in history]
        words = "".join(message.get("content", "") for message in told if message["role"] == "assistant")
        assert words == recorded(play, session_id, "agent_message", replayed=True)
        for history in talk.histories:
            assert validate({"type": "MESSAGES_SNAPSHOT", "messages": history})["messages"] == history
            ids = [message["id"] for message in history]
            assert len(ids) == len(set(ids))


CUT = ("claude-agent-acp/extra", "codex-acp/v2", "pi-acp/tool_fail", "gemini-cli/tool_allow", "codex-acp-zed/bad")


@settings(steady, max_examples=12)
@given(st.sampled_from(CUT), st.lists(st.integers(1, 400), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, sizes: list[int]) -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        start = number = 0
        while start < len(data):
            size = sizes[number % len(sizes)]
            yield data[start : start + size]
            start, number = start + size, number + 1

    assert shown(Play(name, cut)) == shown(played(name))


def test_the_events_are_the_same_byte_by_byte() -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        return (data[at : at + 1] for at in range(len(data)))

    assert shown(Play("opencode/tool_fail", cut)) == shown(played("opencode/tool_fail"))


def shown(play: Play) -> list[Any]:
    return [(session_id, talk.runs, talk.histories) for session_id, talk in play.talks.items()]


def all_events(play: Play) -> list[Wire]:
    return [event for talk in play.talks.values() for run in talk.runs for event in run]


def said(talk: Talk, kind: str) -> str:
    """The session's own words, its subagents' left out."""
    stream = (event for run in talk.runs for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def recorded(play: Play, session_id: str, kind: str, *, replayed: bool = False) -> str:
    """As the agent sent them: chunks, and version 2's whole messages that no chunk had told."""
    words: list[str] = []
    for one in play.seen:
        if one.session_id != session_id or one.child or one.replayed != replayed:
            continue
        if one.update["sessionUpdate"] == f"{kind}_chunk":
            words.append(one.update["content"]["text"])
        elif one.update["sessionUpdate"] == kind:
            words += [block["text"] for block in one.update["content"]]
    return "".join(words)
