"""Programs that print plain text, and programs that print AG-UI's events."""

from __future__ import annotations

from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events import AguiEvent, Raw, TextMessageContent, TurnEnded, TurnFailed
from gateway.wire.dialects import DIALECTS, Dialect, Prompt, SessionStart
from tests.wire.dialects.replay import Recording, client_runs, read_turn

STORY: list[dict[str, Any]] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Looking."},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c", "content": "a cat"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"cats": 1}},
]


def begun(name: str) -> Dialect:
    dialect = DIALECTS[name]()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k"))
    return dialect


def printed(name: str, lines: list[bytes]) -> tuple[Dialect, list[bytes]]:
    return begun(name), lines


RECORDINGS: dict[str, Recording] = {
    "text": partial(printed, "text", [b"one\n", b"\n", "zwölf".encode()]),
    "ag-ui": partial(printed, "ag-ui", [orjson.dumps(line) for line in STORY]),
}


@pytest.mark.parametrize("name", ["text", "ag-ui"])
def test_the_prompt_goes_in_as_it_is(name: str) -> None:
    assert begun(name).outbox == [b"hello"]


@given(text=st.text(), cuts=st.lists(st.integers(0, 200)))
def test_text_comes_out_as_it_was_printed_however_it_is_cut(text: str, cuts: list[int]) -> None:
    data = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [[data[start:end]] for start, end in zip(places, places[1:], strict=False)]
    events = read_turn(begun("text"), pieces)
    assert "".join(event.text for event in events if isinstance(event, TextMessageContent)) == data.decode()
    assert events[-1] == TurnEnded()


def test_events_pass_as_they_are_and_the_run_ends_with_its_result() -> None:
    dialect, lines = RECORDINGS["ag-ui"]()
    events = read_turn(dialect, [lines])
    assert [event.event for event in events[:-1] if isinstance(event, AguiEvent)] == STORY[1:-1]
    assert events[-1] == TurnEnded(result={"cats": 1})
    assert [event["type"] for event in client_runs(events)[0]] == [event["type"] for event in STORY]


@pytest.mark.parametrize("name", ["text", "ag-ui"])
def test_the_exit_code_decides_how_the_turn_ends(name: str) -> None:
    assert read_turn(begun(name), [], 0) == [TurnEnded()]
    assert read_turn(begun(name), [], 3) == [
        TurnFailed("the program ended with exit code 3: its last words", "AGENT_DIED")
    ]
    stopped = begun(name)
    assert stopped.cancel() is False, "the format has no message for it: the driver sends a signal"
    assert read_turn(stopped, [], -2) == [TurnEnded("cancelled")]


def test_a_line_that_is_no_event_is_text_or_raw_and_an_error_ends_the_turn() -> None:
    assert begun("ag-ui").read([b"Thinking hard"]) == [TextMessageContent("Thinking hard\n")]
    assert begun("ag-ui").read([b"[1]"]) == [Raw([1], "ag-ui")]
    failed = begun("ag-ui")
    assert failed.read([b'{"type":"RUN_ERROR","message":"no key"}']) == [TurnFailed("no key")]
    assert not failed.is_busy
    assert failed.read([b'{"type":"CUSTOM"}']) == [Raw({"type": "CUSTOM"}, "ag-ui")]
