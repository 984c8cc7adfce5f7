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
from tests.wire.dialects.opencode_replay import FOLDER, Served, entries
from tests.wire.dialects.replay import seen

CASES = sorted(path.stem.removeprefix("serve-") for path in FOLDER.glob("serve-*.jsonl"))
TURNS = [case for case in CASES if case != "fork"]
SHOWN = {
    "text": "words",
    "thinking": "thoughts, then words",
    "tool-longrun": "output while it runs",
    "edit": "a diff",
    "read-image": "a picture as a result",
    "parallel": "two calls at once",
    "permission-once": "asked and allowed",
    "permission-reject-message": "refused, and the turn goes on",
    "permission-two": "two questions; one refusal refuses both",
    "permission-abort": "cancelled while it waits",
    "question": "a form",
    "structured": "an answer in a shape",
    "todo": "a plan",
    "task": "a subagent with a session of its own",
    "error": "the provider's words",
    "retry529": "a provider that is overloaded, and patience that ends",
    "cancel-tool": "a running command is stopped",
    "resume": "the second turn of a session",
}


@cache
def played(case: str) -> Served:
    return Served(f"serve-{case}").play()


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    served = Served(f"serve-{case}")
    messages = served.prompted()
    return served.dialect, messages


RECORDINGS: dict[str, Callable[[], tuple[Dialect, list[bytes]]]] = {case: partial(recording, case) for case in TURNS}


def test_all_recordings_are_played() -> None:
    assert len(CASES) == 32


@pytest.mark.parametrize("case", TURNS)
def test_every_run_is_a_stream_that_clients_accept(case: str) -> None:
    events = played(case).events
    assert isinstance(events[-1], TurnEnded | TurnFailed)
    asked = sum(isinstance(event, InterruptRequested) for event in events)
    assert len(seen(events)) == asked + 1
    assert not played(case).dialect.is_busy


@pytest.mark.parametrize("case", CASES)
def test_everything_is_understood(case: str) -> None:
    events = [*played(case).events, *played(case).late]
    assert [event for event in events if isinstance(event, Raw)] == []
    assert [event for run in seen(events) for event in run if event["type"] == "RAW"] == []


@pytest.mark.parametrize("case", TURNS)
def test_nothing_comes_after_the_end_that_would_belong_to_the_next_turn(case: str) -> None:
    assert played(case).late == []


@pytest.mark.parametrize("case", TURNS)
def test_the_words_are_all_there_and_the_users_own_are_not(case: str) -> None:
    told = "".join(event.text for event in played(case).events if isinstance(event, TextMessageContent))
    deltas, texts, users = "", set(), set()
    for entry in entries(f"serve-{case}"):
        match entry["line"]:
            case {"type": "message.updated", "properties": {"info": {"role": "user", "id": str(message_id)}}}:
                users.add(message_id)
            case {"type": "message.part.updated", "properties": {"part": {"type": "text", "id": str(part_id)} as part}}:
                if part["messageID"] not in users:
                    texts.add(part_id)
            case {"type": "message.part.delta", "properties": {"partID": str(part_id), "delta": str(words)}}:
                deltas += words if part_id in texts else ""
    assert told == deltas


@pytest.mark.parametrize("case", SHOWN)
def test_a_client_sees_what_the_file_says(case: str) -> None:
    assert shown(seen(played(case).events)) == (GOLDEN / f"opencode-{case}.json").read_text("utf-8")


CUT = ("text", "task", "permission-two")


@settings(steady, max_examples=12)
@given(st.sampled_from(CUT), st.lists(st.integers(1, 900), min_size=1, max_size=20))
def test_the_events_are_the_same_however_the_bytes_are_cut(case: str, sizes: list[int]) -> None:
    dialect, messages = recording(case)
    stream, framed = b"".join(b"data: %b\n\n" % message for message in messages), Events(1_000_000)
    events: list[Event] = []
    start = number = 0
    while start < len(stream):
        size = sizes[number % len(sizes)]
        for message in framed.feed(stream[start : start + size]):
            assert isinstance(message, bytes)
            events += dialect.read([message])
        start, number = start + size, number + 1
    assert events == _one_by_one(case)


@cache
def _one_by_one(case: str) -> list[Event]:
    dialect, messages = recording(case)
    return [event for message in messages for event in dialect.read([message])]


def test_a_message_is_for_the_session_that_it_names() -> None:
    dialect, messages = recording("task")
    named = {type(dialect).read_owner(message) for message in messages}
    sessions = {name for name in named if name is not None and name.startswith("ses_")}
    assert len(sessions) == 2
    assert "s" in named  # the answer to the prompt
    assert type(dialect).read_owner(orjson.dumps({"id": "evt_1", "type": "server.heartbeat", "properties": {}})) is None
    assert type(dialect).read_owner(b"nonsense") is None


def write() -> None:
    for case in SHOWN:
        (GOLDEN / f"opencode-{case}.json").write_text(shown(seen(played(case).events)), "utf-8")


if __name__ == "__main__":
    write()
