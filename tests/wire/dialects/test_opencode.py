"""Recordings of `opencode serve`, played. `python -m tests.wire.dialects.test_opencode` writes the goldens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, InterruptRequested, Raw, TextMessageContent, TurnEnded, TurnFailed
from gateway.wire.dialects import Dialect
from gateway.wire.sse import Events
from tests.agui.streams import steady
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.opencode_replay import FOLDER, Play, entries
from tests.wire.dialects.replay import client_runs

CASES = sorted(path.stem.removeprefix("serve-") for path in FOLDER.glob("serve-*.jsonl"))
TURNS = [case for case in CASES if case != "fork"]
GOLDEN_CASES = {
    "text": "text",
    "thinking": "reasoning, then text",
    "tool-longrun": "output while it runs",
    "edit": "a diff",
    "read-image": "a picture as a result",
    "parallel": "two calls at once",
    "permission-once": "an interrupt, allowed",
    "permission-reject-message": "refused, and the turn continues",
    "permission-two": "two interrupts; one refusal refuses both",
    "permission-abort": "cancelled while it waits",
    "question": "a form",
    "structured": "structured output",
    "todo": "a plan",
    "task": "a subagent with a session of its own",
    "error": "the provider's message",
    "retry529": "an overloaded provider, and retries that end",
    "cancel-tool": "a running command is stopped",
    "resume": "the second turn of a session",
}


@cache
def play_case(case: str) -> Play:
    return Play(f"serve-{case}").play()


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    play = Play(f"serve-{case}")
    messages = play.play_to_prompt()
    return play.dialect, messages


RECORDINGS: dict[str, Callable[[], tuple[Dialect, list[bytes]]]] = {case: partial(recording, case) for case in TURNS}


def test_all_recordings_are_played() -> None:
    assert len(CASES) == 32


@pytest.mark.parametrize("case", TURNS)
def test_every_run_is_a_stream_that_clients_accept(case: str) -> None:
    events = play_case(case).events
    assert isinstance(events[-1], TurnEnded | TurnFailed)
    interrupts = sum(isinstance(event, InterruptRequested) for event in events)
    assert len(client_runs(events)) == interrupts + 1
    assert not play_case(case).dialect.is_busy


@pytest.mark.parametrize("case", CASES)
def test_every_event_is_understood(case: str) -> None:
    events = [*play_case(case).events, *play_case(case).late]
    assert [event for event in events if isinstance(event, Raw)] == []
    assert [event for run in client_runs(events) for event in run if event["type"] == "RAW"] == []


@pytest.mark.parametrize("case", TURNS)
def test_no_event_follows_the_end_of_the_turn(case: str) -> None:
    assert play_case(case).late == []


@pytest.mark.parametrize("case", TURNS)
def test_the_text_is_complete_and_has_nothing_of_the_users_messages(case: str) -> None:
    sent = "".join(event.text for event in play_case(case).events if isinstance(event, TextMessageContent))
    deltas, texts, users = "", set(), set()
    for entry in entries(f"serve-{case}"):
        match entry["line"]:
            case {"type": "message.updated", "properties": {"info": {"role": "user", "id": str(message_id)}}}:
                users.add(message_id)
            case {"type": "message.part.updated", "properties": {"part": {"type": "text", "id": str(part_id)} as part}}:
                if part["messageID"] not in users:
                    texts.add(part_id)
            case {"type": "message.part.delta", "properties": {"partID": str(part_id), "delta": str(delta)}}:
                deltas += delta if part_id in texts else ""
    assert sent == deltas


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_a_client_receives_the_golden_events(case: str) -> None:
    assert shown(client_runs(play_case(case).events)) == (GOLDEN / f"opencode-{case}.json").read_text("utf-8")


CUT_CASES = ("text", "task", "permission-two")


@settings(steady, max_examples=12)
@given(st.sampled_from(CUT_CASES), st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(case: str, sizes: list[int]) -> None:
    dialect, messages = recording(case)
    stream = b"".join(b"data: %b\n\n" % message for message in messages)
    framing = Events(1_000_000)
    events: list[Event] = []
    start = number = 0
    while start < len(stream):
        size = sizes[number % len(sizes)]
        for message in framing.feed(stream[start : start + size]):
            assert isinstance(message, bytes)
            events += dialect.read([message])
        start, number = start + size, number + 1
    assert events == _one_by_one(case)


@cache
def _one_by_one(case: str) -> list[Event]:
    dialect, messages = recording(case)
    return [event for message in messages for event in dialect.read([message])]


def test_a_message_belongs_to_the_session_that_it_names() -> None:
    dialect, messages = recording("task")
    owners = {type(dialect).read_owner(message) for message in messages}
    sessions = {name for name in owners if name is not None and name.startswith("ses_")}
    assert len(sessions) == 2
    assert "s" in owners  # the answer to the prompt
    assert type(dialect).read_owner(orjson.dumps({"id": "evt_1", "type": "server.heartbeat", "properties": {}})) is None
    assert type(dialect).read_owner(b"nonsense") is None


def write() -> None:
    for case in GOLDEN_CASES:
        (GOLDEN / f"opencode-{case}.json").write_text(shown(client_runs(play_case(case).events)), "utf-8")


if __name__ == "__main__":
    write()
