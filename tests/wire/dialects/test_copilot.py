"""Every recording of Copilot, played through its dialect and `Outbound`: nothing raises, nothing is lost.

`python -m tests.wire.dialects.test_copilot` writes the golden files anew; the difference is then to be looked at.
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
from tests.wire.dialects.copilot_replay import SERVED, TRANSCRIPTS, Play, played, text_of
from tests.wire.dialects.golden import GOLDEN, shown
from tests.wire.dialects.replay import Recording, heard, seen

PRINTED = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl") if path.stem not in SERVED)
CANCELLED = ("cancel-sigint-group",)
SHOWN = {
    "print-text": "text",
    "print-thinking": "reasoning before it",
    "print-tool-shell": "a command, and its output while it runs",
    "print-tool-parallel": "two at once",
    "print-tool-mcp": "a tool of an MCP server",
    "print-tool-apply-patch": "arguments that are free text",
    "print-permission-denied": "nobody to ask",
    "print-error-400": "a model that fails",
    "print-error-401": "…and retries before",
    "print-cancel-sigint-group": "cancelled: no result",
    "server-text": "tokens, thoughts, what was used",
    "server-shell": "allowed, refused, refused with a word",
    "server-parallel": "two questions, one after the other",
    "server-patch": "a yes for the session",
    "server-input": "a question of the agent's own",
    "server-plan": "a plan",
    "server-mcp": "an image as a result; a form",
    "server-subagent": "a subagent that asks",
    "server-todos": "todos as a plan",
    "server-background": "what goes on after the answer",
    "server-cancel": "cancelled, and the next turn",
    "server-error": "two failures",
    "server-resume": "a session that comes back",
    "server-settings": "another model, mode and effort; an image",
}


def printing(name: str) -> CopilotPrintDialect:
    dialect = CopilotPrintDialect()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(Prompt([{"type": "text", "text": "hello"}], "t1"))
    if name in CANCELLED:
        dialect.cancel()
    return dialect


@cache
def printed(name: str) -> list[Event]:
    return heard(printing(name), [[line] for line in _lines(name)])


def _lines(name: str) -> list[bytes]:
    return [line for line in text_of(name).split(b"\n") if line]


def _printed_recording(name: str) -> tuple[Dialect, list[bytes]]:
    return printing(name), _lines(name)


def _served_recording(name: str) -> tuple[Dialect, list[bytes]]:
    """All that was done until the first prompt is done; what came then is the recording."""
    dialect, log = CopilotDialect(), iter(played(name).log)
    for what, given_ in log:
        getattr(dialect, what)(given_)
        if what == "prompt":
            break
    return dialect, [message for what, given_ in log if what == "read" for message in given_]


RECORDINGS: dict[str, Recording] = {f"print-{name}": partial(_printed_recording, name) for name in PRINTED}
RECORDINGS |= {name: partial(_served_recording, name) for name in SERVED if name != "server-lost"}


def runs(case: str) -> list[list[Wire]]:
    """What a client sees. `seen` holds every run against the official client's rules, and so does `Play`."""
    if case in SERVED:
        return played(case).runs
    return seen(printed(case.removeprefix("print-")))


CASES = [*SERVED, *(f"print-{name}" for name in PRINTED)]


def events_of(case: str) -> list[Event]:
    return played(case).events if case in SERVED else printed(case.removeprefix("print-"))


def test_all_recordings_are_played() -> None:
    assert len(PRINTED) == 13
    assert len(SERVED) == 17


@pytest.mark.parametrize("case", CASES)
def test_everything_is_understood_and_in_order(case: str) -> None:
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
def test_no_message_begins_twice(case: str) -> None:
    for kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START"):
        begun = Counter(event["messageId"] for run in runs(case) for event in run if event["type"] == kind)
        assert begun.total() == len(begun)


@pytest.mark.parametrize("case", CASES)
def test_texts_are_whole(case: str) -> None:
    told = {"message": "", "thought": ""}
    for data in _data(case, "assistant.message"):
        told["message"] += data["content"]
        told["thought"] += data.get("reasoningText", "")
    if "cancel" not in case and case != "headless-sdk":
        assert _said(case, "TEXT_MESSAGE_CONTENT") == told["message"]
        assert _said(case, "REASONING_MESSAGE_CONTENT") == told["thought"]


def _data(case: str, kind: str) -> Iterator[dict[str, Any]]:
    for line in _lines(case.removeprefix("print-")):
        told = orjson.loads(line)
        event = told.get("line", {}).get("params", {}).get("event", {}) if "line" in told else told
        if event.get("type") == kind:
            yield event["data"]


def _said(case: str, kind: str) -> str:
    return "".join(event["delta"] for run in runs(case) for event in run if event["type"] == kind)


@pytest.mark.parametrize("case", SERVED)
def test_what_was_used_is_what_the_model_calls_say(case: str) -> None:
    told = [(data["inputTokens"], data["outputTokens"]) for data in _data(case, "assistant.usage")]
    used = [event for event in events_of(case) if isinstance(event, TokenUsage)]
    assert [(one.input_tokens, one.output_tokens) for one in used] == told


@pytest.mark.parametrize("name", SERVED)
def test_the_dialect_answers_as_the_recorded_client_did(name: str) -> None:
    for recorded, sent in played(name).sent:
        assert {key: value for key, value in sent.items() if key != "approvedInteractively"} == {
            key: value for key, value in recorded.items() if key != "approvedInteractively"
        }


@settings(steady, max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("name", ["server-shell", "server-mcp", "server-error"])
def test_frames_are_read_the_same_however_the_bytes_are_cut(name: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 5000))
    cut = Play(name, lambda given_: (given_[at : at + size] for at in range(0, len(given_), size)))
    assert cut.events == played(name).events
    assert cut.runs == played(name).runs


@settings(steady, max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("name", ["tool-shell", "tool-apply-patch", "error-401"])
def test_lines_are_read_the_same_however_the_bytes_are_cut(name: str, data: st.DataObject) -> None:
    size, lines = data.draw(st.integers(1, 3000)), Lines(10_000_000)
    whole = text_of(name)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    batches = [[line for line in lines.feed(piece) if isinstance(line, bytes)] for piece in pieces]
    assert heard(printing(name), batches) == printed(name)


@pytest.mark.parametrize("case", SHOWN)
def test_a_client_sees_what_the_file_says(case: str) -> None:
    assert shown(runs(case)) == (GOLDEN / f"copilot-{case}.json").read_text("utf-8")


def test_every_golden_file_belongs_to_a_recording() -> None:
    assert {path.stem.removeprefix("copilot-") for path in GOLDEN.glob("copilot-*.json")} == set(SHOWN)


def test_a_process_that_was_stopped_alone_goes_on_to_its_end() -> None:
    """The loader dies by a signal; what it started prints all of its answer, and that counts."""
    assert printed("cancel-sigint-loader-only")[-1] == TurnEnded()


def write() -> None:
    for case in SHOWN:
        (GOLDEN / f"copilot-{case}.json").write_text(shown(runs(case)), "utf-8")


if __name__ == "__main__":
    write()
