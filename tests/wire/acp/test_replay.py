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
from tests.wire.acp.replay import NAMES, TRANSCRIPTS, Replay, SessionReplay, played


def test_all_transcripts_are_played() -> None:
    assert len(NAMES) == 429
    assert {name.split("/")[0] for name in NAMES} == {path.name for path in TRANSCRIPTS.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_a_stream_that_clients_accept(name: str) -> None:
    for session in played(name).sessions.values():
        for run in session.runs:
            order = Order()
            for event in run:
                assert validate(event) == event
                order.accept(event)
            assert order.phase in ("finished", "errored")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_read_had_to_be_put_in_order(name: str) -> None:
    """`Outbound` hands on as RAW what comes at the wrong time. A right mapping leaves it nothing to repair."""
    assert [event for event in all_events(played(name)) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_update_is_lost(name: str) -> None:
    lost = [seen_update.update for seen_update, excuse in excuses(played(name).seen) if excuse is None]
    assert lost == []


def test_the_excuses_are_all_needed_and_the_count_is_whole() -> None:
    effective, excused, replayed = 0, Counter[str | None](), 0
    for name in NAMES:
        seen = played(name).seen
        excused.update(excuse for _, excuse in excuses(seen))
        replayed += sum(seen_update.is_replayed and not seen_update.has_changed_state for seen_update in seen)
        effective += sum(bool(seen_update.events) or seen_update.has_changed_state for seen_update in seen)
    assert effective + replayed + excused.total() == 4666
    assert excused.keys() == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_whole(name: str) -> None:
    play = played(name)
    for session_id, session in play.sessions.items():
        assert sent_text(session, "TEXT_MESSAGE") == recorded(play, session_id, "agent_message")
        assert sent_text(session, "REASONING_MESSAGE") == recorded(play, session_id, "agent_thought")


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_a_result_and_whole_arguments(name: str) -> None:
    for session in played(name).sessions.values():
        stream = [event for run in session.runs for event in run]
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
    assert [seen_update for seen_update in play.seen if seen_update.is_replayed and seen_update.events] == []
    for session_id, session in play.sessions.items():
        effective = [message for history in session.histories for message in history]
        texts = "".join(message.get("content", "") for message in effective if message["role"] == "assistant")
        assert texts == recorded(play, session_id, "agent_message", replayed=True)
        for history in session.histories:
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

    assert shown(Replay(name, cut)) == shown(played(name))


def test_the_events_are_the_same_byte_by_byte() -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        return (data[at : at + 1] for at in range(len(data)))

    assert shown(Replay("opencode/tool_fail", cut)) == shown(played("opencode/tool_fail"))


def shown(play: Replay) -> list[Any]:
    return [(session_id, session.runs, session.histories) for session_id, session in play.sessions.items()]


def all_events(play: Replay) -> list[Wire]:
    return [event for session in play.sessions.values() for run in session.runs for event in run]


def sent_text(session: SessionReplay, kind: str) -> str:
    """The session's own text, without its subagents'."""
    stream = (event for run in session.runs for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def recorded(play: Replay, session_id: str, kind: str, *, replayed: bool = False) -> str:
    """The text as the agent sent it: chunks, and version 2's whole messages that came in no chunk."""
    texts: list[str] = []
    for seen_update in play.seen:
        if seen_update.session_id != session_id or seen_update.is_child or seen_update.is_replayed != replayed:
            continue
        if seen_update.update["sessionUpdate"] == f"{kind}_chunk":
            texts.append(seen_update.update["content"]["text"])
        elif seen_update.update["sessionUpdate"] == kind:
            texts += [block["text"] for block in seen_update.update["content"]]
    return "".join(texts)
