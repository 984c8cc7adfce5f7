"""What Cursor's print mode is documented to print, played; and the rules of its dialect.

`python -m tests.wire.dialects.test_cursor` writes the golden file again.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import (
    Event,
    Raw,
    ReasoningMessageContent,
    TextMessageContent,
    TokenUsage,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
)
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.cursor import CursorDialect
from gateway.wire.lines import Lines
from tests.agui.streams import steady
from tests.wire.dialects.golden import GOLDEN, TRANSCRIPTS, shown
from tests.wire.dialects.replay import Recording, client_runs, read_turn

CASE = "documented-example"
SESSION = "00000000-0000-4000-8000-000000000001"


def prompted() -> CursorDialect:
    dialect = CursorDialect()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "say hi with the shell"}], "t1"))
    return dialect


def text_of(case: str) -> bytes:
    return (TRANSCRIPTS / "cursor" / f"{case}.jsonl").read_bytes()


def lines_of(case: str) -> list[bytes]:
    return [line for line in text_of(case).split(b"\n") if line]


def recording(case: str) -> tuple[Dialect, list[bytes]]:
    return prompted(), lines_of(case)


RECORDINGS: dict[str, Recording] = {CASE: partial(recording, CASE)}


def played() -> list[Event]:
    return read_turn(prompted(), [lines_of(CASE)])


def read_line(dialect: CursorDialect, kind: str, **line: Any) -> list[Event]:
    return dialect.read([orjson.dumps({"type": kind, **line})])


def read_text(dialect: CursorDialect, message: str, **line: Any) -> list[Event]:
    content = [{"type": "text", "text": message}]
    return read_line(dialect, "assistant", message={"role": "assistant", "content": content}, **line)


def joined_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextMessageContent))


# -- the example


def test_the_example_is_understood_and_in_order() -> None:
    [run] = client_runs(played())
    assert [event for event in run if event["type"] == "RAW"] == []
    assert not any(isinstance(event, Raw) for event in played())


def test_a_client_sees_the_golden_stream() -> None:
    assert shown(client_runs(played())) == (GOLDEN / f"cursor-{CASE}.json").read_text("utf-8")


def test_text_is_sent_once_though_it_comes_three_times() -> None:
    assert joined_text(played()) == "I will run it. Done."


@settings(steady, max_examples=30)
@given(size=st.integers(1, 3000))
def test_lines_are_read_the_same_however_the_bytes_are_cut(size: int) -> None:
    lines, whole = Lines(10_000_000), text_of(CASE)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    batches = [[line for line in lines.feed(piece) if isinstance(line, bytes)] for piece in pieces]
    assert read_turn(prompted(), batches) == played()


# -- rules


def test_the_prompt_is_all_of_stdin_and_the_session_is_named_at_once() -> None:
    dialect = prompted()
    assert dialect.outbox == [b"say hi with the shell"]
    read_line(dialect, "system", subtype="init", session_id=SESSION, model="Auto", cwd="/workspace")
    assert dialect.session_id == SESSION
    assert dialect.session_layer["custom.session.models.current"] == "Auto"


def test_without_partial_output_the_whole_is_the_text() -> None:
    dialect = prompted()
    found = read_text(dialect, "First. ", model_call_id="m", timestamp_ms=1)
    found += read_line(dialect, "tool_call", subtype="started", call_id="c", tool_call={"lsToolCall": {"args": {}}})
    found += read_text(dialect, "Last.")
    found += read_text(dialect, "Last.")
    assert joined_text(found) == "First. Last."
    other = prompted()
    assert joined_text(read_text(other, "All of it.")) == "All of it."
    assert joined_text(read_line(other, "result", subtype="success", is_error=False, result="All of it.")) == ""


def test_a_result_without_any_text_before_it_is_the_text() -> None:
    found = read_line(prompted(), "result", subtype="success", is_error=False, result="Hello.", session_id=SESSION)
    assert joined_text(found) == "Hello."
    assert found[-1] == TurnEnded()


def test_a_thought_is_closed_before_the_text() -> None:
    dialect = prompted()
    [thought] = read_line(dialect, "thinking", subtype="delta", text="hm", timestamp_ms=1)
    assert isinstance(thought, ReasoningMessageContent)
    assert len(read_line(dialect, "thinking", subtype="completed", timestamp_ms=2)) == 1
    assert read_line(dialect, "thinking", subtype="delta", text="", timestamp_ms=3) == []


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [
        ({"readToolCall": {"args": {"path": "a", "toolCallId": "c"}}}, "read", {"path": "a"}),
        ({"function": {"name": "mcp_say", "arguments": '{"word":"hi"}'}}, "mcp_say", {"word": "hi"}),
        ({"function": {"name": "patch", "arguments": "*** Begin"}}, "patch", {"input": "*** Begin"}),
        ({"description": "x", "shellToolCall": {"args": {"command": "ls"}}}, "shell", {"command": "ls"}),
        ({}, "tool", {}),
        (None, "tool", {}),
    ],
)
def test_the_name_of_a_tool_is_a_key(tool: Any, name: str, arguments: dict[str, Any]) -> None:
    found = read_line(prompted(), "tool_call", subtype="started", call_id="c", tool_call=tool)
    assert isinstance(found[0], ToolCallStart) and found[0].name == name
    assert isinstance(found[1], ToolCallArgs) and orjson.loads(found[1].delta) == arguments


def test_an_id_with_a_line_break_is_joined() -> None:
    found = read_line(prompted(), "tool_call", subtype="started", call_id="call_1\nfc_2", tool_call={"lsToolCall": {}})
    assert isinstance(found[0], ToolCallStart) and found[0].id == "t1:call_1_fc_2"


@pytest.mark.parametrize(
    ("result", "content", "outcome"),
    [
        ({"success": {"content": "text of a file"}}, "text of a file", "success"),
        ({"success": {"stdout": "out\n", "stderr": "err\n", "exitCode": 2}}, "out\n\nerr\n", "success"),
        ({"rejected": {"reason": "not allowed"}}, "not allowed", "rejected"),
        ({"success": {"files": ["a"]}}, '{"files":["a"]}', "success"),
        ({"success": {}}, "", "success"),
        ("nonsense", "nonsense", "unknown"),
        (None, "", "unknown"),
    ],
)
def test_an_outcome_is_in_the_metadata(result: Any, content: str, outcome: str) -> None:
    dialect = prompted()
    done = read_line(
        dialect, "tool_call", subtype="completed", call_id="c", tool_call={"shellToolCall": {"result": result}}
    )
    assert isinstance(done[0], ToolCallStart), "a call whose start was not seen is started"
    result = done[-1]
    assert isinstance(result, ToolCallResult) and result.content == content
    assert result.metadata is not None and result.metadata["cursor"]["outcome"] == outcome


def test_a_result_comes_once() -> None:
    dialect = prompted()
    call: dict[str, Any] = {"subtype": "completed", "call_id": "c", "tool_call": {"lsToolCall": {"result": {}}}}
    assert read_line(dialect, "tool_call", **call)
    assert read_line(dialect, "tool_call", **call) == []


def test_newer_versions_report_usage() -> None:
    dialect = prompted()
    read_line(dialect, "system", subtype="init", session_id=SESSION, model="Auto")
    usage = {"inputTokens": 12983, "outputTokens": 96, "cacheReadTokens": 5957, "cacheWriteTokens": 0}
    found = read_line(dialect, "result", subtype="success", is_error=False, result="", usage=usage)
    assert found[0] == TokenUsage(
        model="Auto",
        input_tokens=12983,
        output_tokens=96,
        total_tokens=13079,
        cached_input_tokens=5957,
        cache_write_input_tokens=0,
    )


def test_an_error_by_its_result_is_one() -> None:
    dialect = prompted()
    assert read_line(dialect, "result", subtype="error", is_error=True, result="You've hit your usage limit") == [
        TurnFailed("You've hit your usage limit", "MODEL_ERROR")
    ]
    assert not dialect.is_busy


def test_a_line_that_is_not_json_explains_the_failure() -> None:
    dialect = prompted()
    line = b"T: Named models unavailable. Free plans can only use Auto."
    assert dialect.read([line]) == [Raw(line.decode(), "cursor")]
    assert dialect.on_process_exit(1, "") == [TurnFailed(line.decode(), "MODEL_ERROR")]


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("Error: Authentication required. Run 'agent login' or set CURSOR_API_KEY", "AUTH_REQUIRED"),
        ("Chat 1234 not found", "SESSION_NOT_FOUND"),
        ("error: unknown option '--dance'", "AGENT_ERROR"),
    ],
)
def test_stderr_is_the_reason_of_a_turn_without_a_result(stderr: str, code: str) -> None:
    mirrored = '{"type":"system","subtype":"init"}\n'
    assert prompted().on_process_exit(1, mirrored + stderr) == [TurnFailed(stderr, code)]


def test_an_exit_without_a_reason_names_the_exit_code() -> None:
    assert prompted().on_process_exit(0, "") == [
        TurnFailed("the agent ended with exit code 0 before its result", "AGENT_DIED")
    ]


def test_a_stopped_turn_is_cancelled() -> None:
    dialect = prompted()
    assert dialect.cancel() is False
    assert dialect.on_process_exit(-2, "Aborted") == [TurnEnded("cancelled")]
    other = prompted()
    other.cancel()
    assert read_line(other, "result", subtype="error", is_error=True, result="aborted") == [TurnEnded("cancelled")]


def test_a_turn_that_is_over_has_nothing_to_add() -> None:
    dialect = prompted()
    read_line(dialect, "result", subtype="success", is_error=False, result="")
    assert read_line(dialect, "result", subtype="success", is_error=False, result="") == []
    assert dialect.on_process_exit(0, "noise") == []


def test_what_is_not_understood_is_handed_on() -> None:
    line = {"type": "brand_new", "x": 1}
    assert prompted().read([orjson.dumps(line)]) == [Raw(line, "cursor")]
    assert read_line(prompted(), "user", message={}) == []
    assert isinstance(read_line(prompted(), "tool_call", subtype="started")[0], Raw)


def write() -> None:
    (GOLDEN / f"cursor-{CASE}.json").write_text(shown(client_runs(played())), "utf-8")


if __name__ == "__main__":
    write()
