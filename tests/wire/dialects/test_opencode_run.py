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
from tests.wire.dialects.replay import client_runs

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
"""Exit code and stderr of a process; all others exit with 0 and print nothing."""
GOLDEN_CASES = {
    "thinking": "reasoning and an answer, each in one piece",
    "parallel": "two calls",
    "permission-auto-rejected": "an approval that cannot be asked for",
    "error": "the provider's message",
    "cancel-tool": "stopped by a signal",
}


def prompted_dialect(*, session_id: str | None = None, fork: bool = False) -> OpenCodeRun:
    dialect = OpenCodeRun()
    dialect.start_session(SessionStart("/workspace", session_id, fork))
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k"))
    return dialect


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    return prompted_dialect(), (FOLDER / f"run-{case}.jsonl").read_bytes().splitlines()


RECORDINGS: dict[str, Callable[[], tuple[Dialect, list[bytes]]]] = {case: partial(recording, case) for case in CASES}


@cache
def play_case(case: str) -> list[Event]:
    dialect, lines = recording(case)
    if case.startswith("cancel"):
        assert not dialect.cancel(), "this mode has no request for it: the driver sends a signal"
    events = [event for line in lines for event in dialect.read([line])]
    return events + dialect.on_process_exit(*EXITS.get(case, (0, "")))


@pytest.mark.parametrize("case", CASES)
def test_every_run_is_a_stream_that_clients_accept(case: str) -> None:
    assert isinstance(play_case(case)[-1], TurnEnded | TurnFailed)
    [stream] = client_runs(play_case(case))
    assert [event for event in stream if event["type"] == "RAW"] == []
    assert not any(isinstance(event, Raw) for event in play_case(case))


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_a_client_receives_the_golden_events(case: str) -> None:
    assert shown(client_runs(play_case(case))) == (GOLDEN / f"opencode-run-{case}.json").read_text("utf-8")


@settings(steady, max_examples=20)
@given(st.sampled_from(CASES), st.lists(st.integers(1, 300), min_size=1, max_size=9))
def test_the_events_are_the_same_however_the_bytes_are_cut(case: str, sizes: list[int]) -> None:
    dialect, lines = recording(case)
    stream = b"".join(line + b"\n" for line in lines)
    framing = Lines(1_000_000)
    events: list[Event] = []
    start = number = 0
    while start < len(stream):
        size = sizes[number % len(sizes)]
        events += dialect.read([line for line in framing.feed(stream[start : start + size]) if isinstance(line, bytes)])
        start, number = start + size, number + 1
    again, lines = recording(case)
    assert events == again.read(lines)


def test_the_prompt_goes_to_stdin_unchanged() -> None:
    assert prompted_dialect().outbox == [b"hello"]


def test_the_session_is_known_from_its_first_line() -> None:
    dialect, lines = recording("fork")
    dialect.read(lines[:1])
    assert dialect.session_id is not None and dialect.session_id.startswith("ses_")


def test_a_deleted_session_is_reported_as_not_found() -> None:
    dialect = prompted_dialect(session_id="ses_gone")
    [failure] = dialect.on_process_exit(1, "\x1b[91m\x1b[1mError: \x1b[0mSession not found\n")
    assert failure == TurnFailed("Error: Session not found", "SESSION_NOT_FOUND")


def test_a_crash_is_reported_with_the_end_of_stderr() -> None:
    dialect = prompted_dialect()
    [failure] = dialect.on_process_exit(1, "out of memory")
    assert isinstance(failure, TurnFailed) and failure.code == "AGENT_DIED" and "out of memory" in failure.message
    assert not dialect.is_busy


def test_an_automatic_refusal_is_a_warning() -> None:
    warnings = [event for event in play_case("permission-auto-rejected") if isinstance(event, Warning)]
    assert [event.code for event in warnings] == ["APPROVAL_REFUSED"]
    assert play_case("permission-auto-rejected")[-1] == TurnEnded("end_turn")


def test_a_turn_that_the_client_stopped_ends_as_cancelled() -> None:
    assert play_case("cancel")[-1] == TurnEnded("cancelled")


def test_an_error_line_counts_more_than_the_exit_code() -> None:
    dialect, lines = recording("error")
    dialect.read(lines)
    assert dialect.on_process_exit(0, "") == [TurnFailed("the script wants status 400", "MODEL_ERROR")]


def test_usage_names_the_model_of_the_prompt() -> None:
    dialect = OpenCodeRun()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k", model="lab/fake/model"))
    usage = [event for event in dialect.read(recording("text")[1]) if isinstance(event, TokenUsage)]
    assert usage == [TokenUsage("lab", "fake/model", 11, 20, 31)]


def test_a_line_that_is_no_json_becomes_raw() -> None:
    dialect = prompted_dialect()
    assert dialect.read([b"warning: something"]) == [Raw("warning: something", "opencode-run")]


def test_a_text_is_whole_in_one_piece() -> None:
    texts = [event.text for event in play_case("text") if isinstance(event, TextMessageContent)]
    assert len(texts) == 1


def write() -> None:
    for case in GOLDEN_CASES:
        (GOLDEN / f"opencode-run-{case}.json").write_text(shown(client_runs(play_case(case))), "utf-8")


if __name__ == "__main__":
    write()
