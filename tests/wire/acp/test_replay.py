"""Every recorded transcript is played through the reader and `Outbound`: nothing raises, nothing is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agui.validate import validate
from gateway.events import Wire
from tests.agui.replay import accepted
from tests.agui.streams import steady
from tests.wire.acp.accounting import RULES, excuses
from tests.wire.acp.replay import NAMES, TRANSCRIPTS, Replay, SessionReplay, replay_transcript


def test_all_transcripts_are_replay_transcript() -> None:
    assert len(NAMES) == 429
    assert {name.split("/")[0] for name in NAMES} == {path.name for path in TRANSCRIPTS.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", NAMES)
def test_a_transcript_becomes_runs_and_nothing_is_lost(name: str) -> None:
    replay = replay_transcript(name)
    check_runs_are_accepted(replay)
    check_nothing_had_to_be_put_in_order(replay)
    check_no_update_is_lost(replay)
    check_texts_are_whole(replay)
    check_tool_calls_are_whole(replay)


def check_runs_are_accepted(replay: Replay) -> None:
    """Every run is a stream that clients accept."""
    for session in replay.sessions.values():
        for run in session.runs:
            accepted(run)


def check_nothing_had_to_be_put_in_order(replay: Replay) -> None:
    """`Outbound` hands on as RAW what comes at the wrong time. A right mapping leaves it nothing to repair."""
    assert [event for event in all_events(replay) if event["type"] == "RAW"] == []


def check_no_update_is_lost(replay: Replay) -> None:
    lost = [update.update for update, excuse in excuses(replay.updates) if excuse is None]
    assert lost == []


def check_texts_are_whole(replay: Replay) -> None:
    for session_id, session in replay.sessions.items():
        assert sent_text(session, "TEXT_MESSAGE") == recorded(replay, session_id, "agent_message")
        assert sent_text(session, "REASONING_MESSAGE") == recorded(replay, session_id, "agent_thought")


def check_tool_calls_are_whole(replay: Replay) -> None:
    """Every call has a start, an end, a result and whole arguments."""
    for session in replay.sessions.values():
        stream = [event for run in session.runs for event in run]
        started = Counter(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
        assert started.total() == len(started)
        for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
            assert Counter(event["toolCallId"] for event in stream if event["type"] == kind) == started
        for call in started:
            arguments = "".join(e["delta"] for e in stream if e["type"] == "TOOL_CALL_ARGS" and e["toolCallId"] == call)
            assert isinstance(json.loads(arguments), dict)


def test_the_excuses_are_all_needed_and_the_count_is_whole() -> None:
    effective, excused, replayed = 0, Counter[str | None](), 0
    for name in NAMES:
        updates = replay_transcript(name).updates
        excused.update(excuse for _, excuse in excuses(updates))
        replayed += sum(update.is_replayed and not update.has_changed_state for update in updates)
        effective += sum(bool(update.events) or update.has_changed_state for update in updates)
    assert effective + replayed + excused.total() == 4666
    assert excused.keys() == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("/load", "/v2"))])
def test_a_replay_is_history_and_no_event(name: str) -> None:
    replay = replay_transcript(name)
    assert [update for update in replay.updates if update.is_replayed and update.events] == []
    for session_id, session in replay.sessions.items():
        effective = [message for history in session.histories for message in history]
        texts = "".join(message.get("content", "") for message in effective if message["role"] == "assistant")
        assert texts == recorded(replay, session_id, "agent_message", replayed=True)
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

    assert session_results(Replay(name, cut)) == session_results(replay_transcript(name))


def test_the_events_are_the_same_byte_by_byte() -> None:
    def cut(data: bytes) -> Iterator[bytes]:
        return (data[at : at + 1] for at in range(len(data)))

    assert session_results(Replay("opencode/tool_fail", cut)) == session_results(
        replay_transcript("opencode/tool_fail")
    )


def session_results(replay: Replay) -> list[Any]:
    return [(session_id, session.runs, session.histories) for session_id, session in replay.sessions.items()]


def all_events(replay: Replay) -> list[Wire]:
    return [event for session in replay.sessions.values() for run in session.runs for event in run]


def sent_text(session: SessionReplay, kind: str) -> str:
    """The session's own text, without its subagents'."""
    stream = (event for run in session.runs for event in run if event["type"] == f"{kind}_CONTENT")
    return "".join(event["delta"] for event in stream if "subagentRunId" not in event)


def recorded(replay: Replay, session_id: str, kind: str, *, replayed: bool = False) -> str:
    """The text as the agent sent it: chunks, and version 2's whole messages that came in no chunk. What two agents send
    as text and do not mean so (openhands its system prompt, gemini-cli a mode) is another event."""
    texts: list[str] = []
    for update in replay.updates:
        if update.session_id != session_id or update.is_child or update.is_replayed != replayed:
            continue
        if update.update["sessionUpdate"] == f"{kind}_chunk":
            content = update.update["content"]["text"]
            texts += [] if content.startswith(("System Prompt:\n", "[MODE_UPDATE] ")) else [content]
        elif update.update["sessionUpdate"] == kind:
            texts += [block["text"] for block in update.update["content"]]
    return "".join(texts)
