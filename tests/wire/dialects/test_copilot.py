"""Every recording of Copilot, played through its dialect and `Outbound`: every event is understood and complete.

`python -m tests.wire.dialects.test_copilot` writes the golden files; review the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, Raw, TokenUsage, TurnEnded, Wire
from gateway.wire.dialects import Dialect, Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect, CopilotPrintDialect
from gateway.wire.lines import Lines
from tests.agui.streams import steady
from tests.wire.dialects.copilot_replay import SERVER_CASES, TRANSCRIPTS, Play, replay_case, text_of
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.replay import Recording, client_runs, read_turn

PRINT_CASES = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl") if path.stem not in SERVER_CASES)
CANCELLED_CASES = ("cancel-sigint-group",)
GOLDEN_CASES = {
    "print-text": "text",
    "print-thinking": "reasoning before it",
    "print-tool-shell": "a command, and its output while it runs",
    "print-tool-parallel": "two at once",
    "print-tool-mcp": "a tool of an MCP server",
    "print-tool-apply-patch": "arguments that are free text",
    "print-permission-denied": "an approval that cannot be asked for",
    "print-error-400": "a model that fails",
    "print-error-401": "a model that fails after retries",
    "print-cancel-sigint-group": "cancelled: no result",
    "server-text": "text, reasoning, token usage",
    "server-shell": "allowed, refused, refused with feedback",
    "server-parallel": "two interrupts, one after the other",
    "server-patch": "an approval for the session",
    "server-input": "a question of the agent",
    "server-plan": "a plan",
    "server-mcp": "an image as a result; a form",
    "server-subagent": "a subagent that asks",
    "server-todos": "todos as a plan",
    "server-background": "work in the background after the answer",
    "server-cancel": "cancelled, and the next turn",
    "server-error": "two failures",
    "server-resume": "a resumed session",
    "server-settings": "another model, mode and effort; an image",
}


def prompted_dialect(name: str) -> CopilotPrintDialect:
    dialect = CopilotPrintDialect()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    if name in CANCELLED_CASES:
        dialect.cancel()
    return dialect


@cache
def replay_print(name: str) -> list[Event]:
    return read_turn(prompted_dialect(name), [[line] for line in _lines(name)])


def _lines(name: str) -> list[bytes]:
    return [line for line in text_of(name).split(b"\n") if line]


def _print_recording(name: str) -> tuple[Dialect, list[bytes]]:
    return prompted_dialect(name), _lines(name)


def _server_recording(name: str) -> tuple[Dialect, list[bytes]]:
    """A dialect after the recorded calls up to the first prompt; the messages after it are the recording."""
    dialect = CopilotDialect()
    log = iter(replay_case(name).log)
    for method, argument in log:
        getattr(dialect, method)(argument)
        if method == "prompt":
            break
    return dialect, [message for method, argument in log if method == "read" for message in argument]


RECORDINGS: dict[str, Recording] = {f"print-{name}": partial(_print_recording, name) for name in PRINT_CASES}
RECORDINGS |= {name: partial(_server_recording, name) for name in SERVER_CASES if name != "server-lost"}


def runs(case: str) -> list[list[Wire]]:
    """What a client sees. `seen` and `Play` check every run against the official client's rules."""
    if case in SERVER_CASES:
        return replay_case(case).runs
    return client_runs(replay_print(case.removeprefix("print-")))


CASES = [*SERVER_CASES, *(f"print-{name}" for name in PRINT_CASES)]


def events_of(case: str) -> list[Event]:
    return replay_case(case).events if case in SERVER_CASES else replay_print(case.removeprefix("print-"))


def test_all_recordings_are_played() -> None:
    assert len(PRINT_CASES) == 13
    assert len(SERVER_CASES) == 17


@pytest.mark.parametrize("case", CASES)
def test_every_event_is_understood_and_in_order(case: str) -> None:
    assert [event for event in events_of(case) if isinstance(event, Raw)] == []
    assert [event for run in runs(case) for event in run if event["type"] == "RAW"] == []


@pytest.mark.parametrize("case", CASES)
def test_every_call_has_one_start_one_end_one_result_and_whole_arguments(case: str) -> None:
    stream = [event for run in runs(case) for event in run]
    started = Counter(event["toolCallId"] for event in stream if event["type"] == "TOOL_CALL_START")
    assert started.total() == len(started)
    for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
        assert Counter(event["toolCallId"] for event in stream if event["type"] == kind) == started
    for call in started:
        deltas = (e["delta"] for e in stream if e["type"] == "TOOL_CALL_ARGS" and e["toolCallId"] == call)
        assert isinstance(orjson.loads("".join(deltas)), dict)


@pytest.mark.parametrize("case", CASES)
def test_no_message_starts_twice(case: str) -> None:
    for kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START"):
        started = Counter(event["messageId"] for run in runs(case) for event in run if event["type"] == kind)
        assert started.total() == len(started)


@pytest.mark.parametrize("case", CASES)
def test_texts_are_complete(case: str) -> None:
    recorded = {"message": "", "thought": ""}
    for data in _data(case, "assistant.message"):
        recorded["message"] += data["content"]
        recorded["thought"] += data.get("reasoningText", "")
    if "cancel" not in case and case != "headless-sdk":
        assert _sent_text(case, "TEXT_MESSAGE_CONTENT") == recorded["message"]
        assert _sent_text(case, "REASONING_MESSAGE_CONTENT") == recorded["thought"]


def _data(case: str, kind: str) -> Iterator[dict[str, Any]]:
    for line in _lines(case.removeprefix("print-")):
        entry = orjson.loads(line)
        event = entry.get("line", {}).get("params", {}).get("event", {}) if "line" in entry else entry
        if event.get("type") == kind:
            yield event["data"]


def _sent_text(case: str, kind: str) -> str:
    return "".join(event["delta"] for run in runs(case) for event in run if event["type"] == kind)


@pytest.mark.parametrize("case", SERVER_CASES)
def test_token_usage_is_that_of_the_model_calls(case: str) -> None:
    recorded = [(data["inputTokens"], data["outputTokens"]) for data in _data(case, "assistant.usage")]
    usages = [event for event in events_of(case) if isinstance(event, TokenUsage)]
    assert [(usage.input_tokens, usage.output_tokens) for usage in usages] == recorded


@pytest.mark.parametrize("name", SERVER_CASES)
def test_the_dialect_answers_as_the_recorded_client_did(name: str) -> None:
    for recorded, sent in replay_case(name).sent:
        assert {key: value for key, value in sent.items() if key != "approvedInteractively"} == {
            key: value for key, value in recorded.items() if key != "approvedInteractively"
        }


@settings(steady, max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("name", ["server-shell", "server-mcp", "server-error"])
def test_frames_are_read_the_same_however_the_bytes_are_cut(name: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 5000))
    cut = Play(name, lambda content: (content[at : at + size] for at in range(0, len(content), size)))
    assert cut.events == replay_case(name).events
    assert cut.runs == replay_case(name).runs


@settings(steady, max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("name", ["tool-shell", "tool-apply-patch", "error-401"])
def test_lines_are_read_the_same_however_the_bytes_are_cut(name: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 3000))
    lines = Lines(10_000_000)
    content = text_of(name)
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    batches = [[line for line in lines.feed(piece) if isinstance(line, bytes)] for piece in pieces]
    assert read_turn(prompted_dialect(name), batches) == replay_print(name)


@pytest.mark.parametrize("case", GOLDEN_CASES)
def test_a_client_receives_the_golden_events(case: str) -> None:
    assert shown(runs(case)) == (GOLDEN / f"copilot-{case}.json").read_text("utf-8")


def test_every_golden_file_belongs_to_a_recording() -> None:
    assert {path.stem.removeprefix("copilot-") for path in GOLDEN.glob("copilot-*.json")} == set(GOLDEN_CASES)


def test_a_process_whose_loader_was_stopped_finishes_its_turn() -> None:
    """The signal ends only the loader; the process that it started prints its whole answer."""
    assert replay_print("cancel-sigint-loader-only")[-1] == TurnEnded()


def write() -> None:
    for case in GOLDEN_CASES:
        (GOLDEN / f"copilot-{case}.json").write_text(shown(runs(case)), "utf-8")


if __name__ == "__main__":
    write()
