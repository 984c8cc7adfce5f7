"""Recordings of `opencode run --format json`. `python -m tests.wire.dialects.test_opencode_run` writes the goldens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, Raw, TextMessageContent, TokenUsage, TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCodeRun
from gateway.wire.lines import Lines
from tests.agui.streams import steady
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.opencode_replay import FOLDER
from tests.wire.dialects.replay import seen

CASES = sorted(path.stem.removeprefix("run-") for path in FOLDER.glob("run-*.jsonl"))
REJECTED = "\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (echo hi); auto-rejecting\n"
EXITS = {
    "bad-model": (1, ""),
    "error": (1, ""),
    "no-credentials": (1, ""),
    "cancel": (-2, ""),
    "cancel-tool": (-2, ""),
    "permission-auto-rejected": (0, REJECTED),
}
"""How the process ended, and what it had to say; all others with 0, and nothing."""
SHOWN = {
    "thinking": "a thought and an answer, each whole",
    "parallel": "two calls",
    "permission-auto-rejected": "nobody could be asked",
    "error": "the provider's words",
    "cancel-tool": "stopped by a signal",
}


def begun(*, session_id: str | None = None, fork: bool = False) -> OpenCodeRun:
    dialect = OpenCodeRun()
    dialect.start_session(SessionStart("/workspace", session_id, fork))
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k"))
    return dialect


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    return begun(), (FOLDER / f"run-{case}.jsonl").read_bytes().splitlines()


RECORDINGS: dict[str, Callable[[], tuple[Dialect, list[bytes]]]] = {case: partial(recording, case) for case in CASES}


@cache
def played(case: str) -> list[Event]:
    dialect, lines = recording(case)
    if case.startswith("cancel"):
        assert not dialect.cancel(), "it has no way of its own: it is sent a signal"
    events = [event for line in lines for event in dialect.read([line])]
    return events + dialect.on_process_exit(*EXITS.get(case, (0, "")))


@pytest.mark.parametrize("case", CASES)
def test_every_run_is_a_stream_that_clients_accept(case: str) -> None:
    assert isinstance(played(case)[-1], TurnEnded | TurnFailed)
    [stream] = seen(played(case))
    assert [event for event in stream if event["type"] == "RAW"] == []
    assert not any(isinstance(event, Raw) for event in played(case))


@pytest.mark.parametrize("case", SHOWN)
def test_a_client_sees_what_the_file_says(case: str) -> None:
    assert shown(seen(played(case))) == (GOLDEN / f"opencode-run-{case}.json").read_text("utf-8")


@settings(steady, max_examples=20)
@given(st.sampled_from(CASES), st.lists(st.integers(1, 300), min_size=1, max_size=9))
def test_the_events_are_the_same_however_the_bytes_are_cut(case: str, sizes: list[int]) -> None:
    dialect, lines = recording(case)
    whole, framed = b"".join(line + b"\n" for line in lines), Lines(1_000_000)
    events: list[Event] = []
    start = number = 0
    while start < len(whole):
        size = sizes[number % len(sizes)]
        events += dialect.read([line for line in framed.feed(whole[start : start + size]) if isinstance(line, bytes)])
        start, number = start + size, number + 1
    again, lines = recording(case)
    assert events == again.read(lines)


def test_the_prompt_goes_to_stdin_as_it_is() -> None:
    assert begun().outbox == [b"hello"]


def test_the_session_is_known_from_its_first_line() -> None:
    dialect, lines = recording("fork")
    dialect.read(lines[:1])
    assert dialect.session_id is not None and dialect.session_id.startswith("ses_")


def test_a_session_that_is_gone_is_told_as_such() -> None:
    dialect = begun(session_id="ses_gone")
    [broke] = dialect.on_process_exit(1, "\x1b[91m\x1b[1mError: \x1b[0mSession not found\n")
    assert broke == TurnFailed("Error: Session not found", "SESSION_NOT_FOUND")


def test_a_death_without_a_word_is_told_with_its_last_words() -> None:
    dialect = begun()
    [broke] = dialect.on_process_exit(1, "out of memory")
    assert isinstance(broke, TurnFailed) and broke.code == "AGENT_DIED" and "out of memory" in broke.message
    assert not dialect.is_busy


def test_a_refusal_that_nobody_gave_is_told() -> None:
    warned = [event for event in played("permission-auto-rejected") if isinstance(event, Warning)]
    assert [event.code for event in warned] == ["APPROVAL_REFUSED"]
    assert played("permission-auto-rejected")[-1] == TurnEnded("end_turn")


def test_a_signal_that_was_asked_for_is_a_cancelled_turn() -> None:
    assert played("cancel")[-1] == TurnEnded("cancelled")


def test_an_error_beats_the_exit_code() -> None:
    dialect, lines = recording("error")
    dialect.read(lines)
    assert dialect.on_process_exit(0, "") == [TurnFailed("the script wants status 400", "MODEL_ERROR")]


def test_usage_is_of_the_model_that_was_asked_for() -> None:
    dialect = OpenCodeRun()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k", model="lab/fake/model"))
    used = [event for event in dialect.read(recording("text")[1]) if isinstance(event, TokenUsage)]
    assert used == [TokenUsage("lab", "fake/model", 11, 20, 31)]


def test_a_line_that_is_no_json_is_handed_on() -> None:
    dialect = begun()
    assert dialect.read([b"warning: something"]) == [Raw("warning: something", "opencode-run")]


def test_a_text_is_whole_in_one_piece() -> None:
    said = [event.text for event in played("text") if isinstance(event, TextMessageContent)]
    assert len(said) == 1


def write() -> None:
    for case in SHOWN:
        (GOLDEN / f"opencode-run-{case}.json").write_text(shown(seen(played(case))), "utf-8")


if __name__ == "__main__":
    write()
