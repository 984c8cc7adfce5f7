"""Recordings of `gemini -o stream-json`. `python -m tests.wire.dialects.test_gemini` writes the golden files again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, Raw, TextMessageContent, TokenUsage, ToolCallResult, TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.gemini import GeminiStream
from gateway.wire.lines import Lines
from tests.agui.streams import steady
from tests.wire.dialects.golden import GOLDEN, TRANSCRIPTS, shown
from tests.wire.dialects.replay import client_runs

FOLDER = TRANSCRIPTS / "gemini"
CASES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
LOST = (
    'Error resuming session: Invalid session identifier "11111111-2222-4333-8444-555555555556".\n'
    "  Searched for sessions in /home/user/.gemini/tmp/work/chats.\n"
)
EXITS = {"error-400": (144, ""), "error-401": (145, ""), "resume-unknown": (42, LOST)}
"""How the process ended, and what it had to say; all others with 0, and nothing."""
SHOWN = {
    "text": "text",
    "tool-parallel": "two calls at once",
    "tool-write-autoedit": "an edit has no output",
    "permission-denied": "a tool that the model was not given",
    "error-400": "the provider's words",
    "resume-unknown": "a session that is gone",
    "cancel-sigint": "stopped by a signal",
}

Json = dict[str, Any]


def begun(*blocks: Json) -> GeminiStream:
    dialect = GeminiStream()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt(blocks or ({"type": "text", "text": "hello"},), "k"))
    return dialect


def read_lines(dialect: Dialect, *lines: Json) -> list[Event]:
    return dialect.read([orjson.dumps(line) for line in lines])


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    return begun(), (FOLDER / f"{case}.jsonl").read_bytes().splitlines()


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
    [stream] = client_runs(played(case))
    assert [event for event in stream if event["type"] == "RAW"] == []
    assert not any(isinstance(event, Raw) for event in played(case))


@pytest.mark.parametrize("case", CASES)
def test_all_text_of_the_agent_is_sent_and_the_prompt_is_not(case: str) -> None:
    lines = [orjson.loads(line) for line in recording(case)[1]]
    expected = "".join(line["content"] for line in lines if line.get("role") == "assistant")
    assert "".join(event.text for event in played(case) if isinstance(event, TextMessageContent)) == expected


@pytest.mark.parametrize("case", SHOWN)
def test_a_client_sees_the_golden_stream(case: str) -> None:
    assert shown(client_runs(played(case))) == (GOLDEN / f"gemini-{case}.json").read_text("utf-8")


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


def test_content_that_is_no_text_is_dropped_with_a_warning() -> None:
    dialect = begun({"type": "text", "text": "look"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"})
    assert dialect.outbox == [b"look"]
    [warned] = read_lines(dialect, {"type": "init", "session_id": "u"})
    assert isinstance(warned, Warning) and "image" in warned.message
    assert read_lines(dialect, {"type": "init", "session_id": "u"}) == []


def test_the_session_id_is_the_reported_one() -> None:
    dialect = begun()
    read_lines(dialect, {"type": "init", "session_id": "11111111-2222-4333-8444-555555555555", "model": "auto"})
    assert dialect.session_id == "11111111-2222-4333-8444-555555555555"
    assert dialect.session_layer["custom.session.models.current"] == "auto"


def test_a_new_message_begins_after_every_tool() -> None:
    ids = [event.message_id for event in played("tool-shell") if isinstance(event, TextMessageContent)]
    assert [message_id for message_id in ids if message_id] == ["k:m1", "k:m2"]


def test_a_call_that_failed_is_marked() -> None:
    [result] = [event for event in played("permission-denied") if isinstance(event, ToolCallResult)]
    assert result.metadata == {"gemini": {"status": "error", "errorType": "tool_not_registered"}}
    assert isinstance(result.content, str) and result.content.startswith('Tool "run_shell_command" not found')


def test_a_result_counts_and_the_exit_code_does_not() -> None:
    dialect = begun()
    assert read_lines(dialect, {"type": "result", "status": "success", "stats": {}}) == [TurnEnded("end_turn")]
    assert dialect.on_process_exit(144, "") == []


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        ({"type": "unknown", "message": '[API Error: {"error":{"code":400,"message":"bad"}}]'}, "bad", "MODEL_ERROR"),
        ({"type": "unknown", "message": '[API Error: {"error":{"code":401,"message":"key"}}]'}, "key", "AUTH_REQUIRED"),
        ({"type": "unknown", "message": "[API Error: fetch failed]"}, "fetch failed", "MODEL_ERROR"),
        (
            {"type": "FatalTurnLimitedError", "message": "Reached max session turns"},
            "Reached max session turns",
            "TURN_LIMIT",
        ),
        ({"type": "FatalAuthenticationError", "message": "sign in"}, "sign in", "AUTH_REQUIRED"),
        ({"type": "FatalToolExecutionError", "message": "no disk"}, "no disk", "AGENT_ERROR"),
        ({}, "gemini gave no reason", "MODEL_ERROR"),
    ],
)
def test_an_error_ends_the_turn_with_the_message_of_its_cause(error: Json, message: str, code: str) -> None:
    assert read_lines(begun(), {"type": "result", "status": "error", "error": error}) == [TurnFailed(message, code)]


def test_a_result_without_a_reason_has_the_one_of_the_error_before() -> None:
    complaint = {"type": "error", "severity": "error", "message": "The response was blocked."}
    found = read_lines(begun(), complaint, {"type": "result", "status": "error", "stats": {}})
    assert found == [TurnFailed("The response was blocked.", "MODEL_ERROR")]


def test_a_turn_limit_that_is_called_a_success_is_a_turn_limit() -> None:
    complaint = {"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}
    found = read_lines(begun(), complaint, {"type": "result", "status": "success", "stats": {}})
    assert found == [TurnFailed("Maximum session turns exceeded", "TURN_LIMIT")]


@pytest.mark.parametrize("severity", ["warning", "error"])
def test_a_complaint_that_was_not_the_end_is_a_warning(severity: str) -> None:
    complaint = {"type": "error", "severity": severity, "message": "Loop detected"}
    warned, ended = read_lines(begun(), complaint, {"type": "result", "status": "success", "stats": {}})
    assert isinstance(warned, Warning) and warned.message == "Loop detected"
    assert ended == TurnEnded("end_turn")


def test_usage_is_reported_by_model_and_output_includes_reasoning() -> None:
    counts = {"total_tokens": 150, "input_tokens": 100, "output_tokens": 30, "cached": 40, "input": 60}
    stats = {"models": {"gemini-x": counts, "gemini-idle": {"total_tokens": 0, "input_tokens": 0}}}
    [used, _] = read_lines(begun(), {"type": "result", "status": "success", "stats": stats})
    assert used == TokenUsage("google", "gemini-x", 100, 50, 150, reasoning_tokens=20, cached_input_tokens=40)


@pytest.mark.parametrize(
    ("exit_code", "stderr", "code"),
    [
        (41, "Please set an Auth method", "AUTH_REQUIRED"),
        (42, LOST, "SESSION_NOT_FOUND"),
        (42, "No input provided via stdin.", "AGENT_ERROR"),
        (53, "Reached max session turns", "TURN_LIMIT"),
        (55, "untrusted", "AGENT_DIED"),
        (1, "Unknown argument: nope", "AGENT_DIED"),
        (0, "", "AGENT_DIED"),
        (None, "", "AGENT_DIED"),
    ],
)
def test_without_a_result_the_exit_code_decides(exit_code: int | None, stderr: str, code: str) -> None:
    dialect = begun()
    [broke] = dialect.on_process_exit(exit_code, stderr)
    assert isinstance(broke, TurnFailed) and broke.code == code and stderr.strip() in broke.message
    assert not dialect.is_busy


def test_a_requested_signal_is_a_cancelled_turn() -> None:
    assert played("cancel-sigint")[-1] == played("cancel-sigterm")[-1] == TurnEnded("cancelled")
    assert begun().on_process_exit(130, "") == [TurnEnded("cancelled")]


def test_a_line_of_no_known_kind_is_handed_on() -> None:
    assert read_lines(begun(), {"type": "news"}) == [Raw({"type": "news"}, "gemini")]
    assert begun().read([b"Loaded cached credentials."]) == [Raw("Loaded cached credentials.", "gemini")]


def write() -> None:
    for case in SHOWN:
        (GOLDEN / f"gemini-{case}.json").write_text(shown(client_runs(played(case))), "utf-8")


if __name__ == "__main__":
    write()
