"""Recordings of `codex exec --json`, and the rules of its dialect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
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
    Warning,
    Wire,
)
from gateway.wire.dialects import Block, Dialect, Prompt, SessionStart
from gateway.wire.dialects.codex import CodexExec
from gateway.wire.lines import Lines
from tests import replay
from tests.agui.streams import steady
from tests.wire.dialects.replay import Recording, client_runs

TRANSCRIPTS = replay.TRANSCRIPTS / "codex"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl") if not path.stem.startswith("appserver-"))
THREAD = "01a1e1fb-bdf2-7812-b19a-74f482f95ed0"
"""The thread of `text`, to which `resume` comes back."""


def prompted(dialect: CodexExec | None = None, *, session: str | None = None, key: str = "t1") -> CodexExec:
    found = dialect or CodexExec()
    found.start_session(SessionStart("/workspace", session))
    found.prompt(Prompt([{"type": "text", "text": "hello"}], key))
    return found


@cache
def lines(name: str) -> tuple[bytes, ...]:
    return tuple(line for line in (TRANSCRIPTS / f"{name}.jsonl").read_bytes().split(b"\n") if line)


def turn(name: str, dialect: CodexExec | None = None, stderr: str = "") -> list[Event]:
    """One process: what it printed, then its end. A recording that was cancelled is cancelled here."""
    found = dialect or prompted()
    if name.startswith("cancel-"):
        found.cancel()
    return [*found.read(lines(name)), *found.on_process_exit(1, stderr)]


@cache
def played(name: str) -> list[Wire]:
    [run] = client_runs(turn(name))
    return run


def recording(name: str) -> tuple[Dialect, list[bytes]]:
    return prompted(), list(lines(name))


RECORDINGS: dict[str, Recording] = {name: partial(recording, name) for name in NAMES}


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def select(events: Sequence[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# -- recordings


def test_all_recordings_are_played() -> None:
    assert len(NAMES) == 20


@pytest.mark.parametrize("name", NAMES)
def test_every_recording_is_a_stream_that_clients_accept(name: str) -> None:
    assert played(name)[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert [event for event in played(name) if event["type"] == "RAW"] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_start_an_end_and_a_result(name: str) -> None:
    started = [event["toolCallId"] for event in played(name) if event["type"] == "TOOL_CALL_START"]
    for kind in ("TOOL_CALL_END", "TOOL_CALL_RESULT"):
        assert [event["toolCallId"] for event in played(name) if event["type"] == kind] == started


@settings(steady, max_examples=20)
@given(st.sampled_from(NAMES), st.integers(1, 300))
def test_the_events_are_the_same_however_the_bytes_are_cut(name: str, size: int) -> None:
    data = b"".join(one + b"\n" for one in lines(name))
    framing, dialect, found = Lines(1_000_000), prompted(), list[Event]()
    for at in range(0, len(data), size):
        found += dialect.read([one for one in framing.feed(data[at : at + size]) if isinstance(one, bytes)])
    assert found == prompted().read(lines(name))


# -- rules


def test_the_prompt_goes_to_stdin_as_it_is() -> None:
    dialect = CodexExec()
    dialect.start_session(SessionStart("/workspace"))
    assert dialect.is_ready
    image: Block = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    bytes_: Block = {"type": "resource", "resource": {"uri": "x", "blob": "AAAA"}}
    blocks: list[Block] = [{"type": "text", "text": "-x \n ü"}, image, bytes_, {"type": "text", "text": "more"}]
    dialect.prompt(Prompt(blocks, "t1", files={2: "/tmp/x.pdf"}))
    assert dialect.outbox == ["-x \n ü\n\nThe user attached a file: /tmp/x.pdf\n\nmore".encode()]


def test_the_threads_id_is_kept_to_come_back_to() -> None:
    dialect = prompted()
    turn("text", dialect)
    assert dialect.session_id == THREAD


def test_a_message_and_a_thought_come_whole() -> None:
    events = turn("thinking")
    assert [event.text for event in select(events, ReasoningMessageContent)] == [
        "First I consider the request. Then I answer."
    ]
    assert [event.text for event in select(events, TextMessageContent)] == ["You said: think about the sea "]
    assert events[-1] == TurnEnded("end_turn")


def test_a_command_is_a_call_of_the_shell() -> None:
    events = turn("tool-shell")
    [start] = select(events, ToolCallStart)
    [arguments] = select(events, ToolCallArgs)
    [result] = select(events, ToolCallResult)
    assert (start.id, start.name) == ("t1:item_1", "shell")
    assert json.loads(arguments.delta) == {"command": "/bin/bash -lc 'echo hi'"}
    assert (result.id, result.content) == ("t1:item_1", "hi\n")
    assert result.metadata["codex"]["exitCode"] == 0


def test_an_mcp_tool_is_called_by_its_server_and_name() -> None:
    events = turn("tool-mcp")
    assert [event.name for event in select(events, ToolCallStart)] == ["echo.say"]
    assert [event.content for event in select(events, ToolCallResult)] == ["echo: hi"]


def test_a_changed_file_is_a_patch() -> None:
    events = turn("tool-apply-patch")
    assert [event.name for event in select(events, ToolCallStart)] == ["apply_patch"]
    assert [event.content for event in select(events, ToolCallResult)] == ["add /workspace/hello.txt"]


def test_an_item_that_was_never_started_is_sent_whole_when_it_is_completed() -> None:
    item = {"id": "item_3", "type": "web_search", "query": "weather", "action": {"type": "search", "query": "weather"}}
    events = prompted().read([line(type="item.completed", item=item)])
    assert [type(event).__name__ for event in events] == [
        "ToolCallStart",
        "ToolCallArgs",
        "ToolCallEnd",
        "ToolCallResult",
    ]
    assert json.loads(select(events, ToolCallArgs)[0].delta)["query"] == "weather"


def test_ids_do_not_meet_those_of_the_turn_before() -> None:
    dialect = prompted()
    first = turn("tool-shell", dialect)
    second = turn("tool-shell", prompted(dialect, session=THREAD, key="t2"))
    assert {event.id for event in select(first, ToolCallStart)}.isdisjoint(
        event.id for event in select(second, ToolCallStart)
    )


def test_usage_is_what_the_thread_has_used_since_the_turn_before() -> None:
    dialect = prompted()
    [first] = select(turn("text", dialect), TokenUsage)
    [second] = select(turn("resume", prompted(dialect, session=THREAD, key="t2")), TokenUsage)
    for used in (first, second):
        assert (used.input_tokens, used.output_tokens, used.reasoning_tokens, used.total_tokens) == (11, 20, 5, 31)


@pytest.mark.parametrize("name", ["resume", "fork"])
def test_a_total_that_began_elsewhere_is_not_this_turns(name: str) -> None:
    assert select(turn(name, prompted(session=THREAD)), TokenUsage) == []


def test_a_retry_is_a_warning_and_only_the_failed_turn_is_the_end() -> None:
    events = turn("error-401")
    assert [event.code for event in select(events, Warning)] == ["MODEL_RETRY"]
    [broke] = select(events, TurnFailed)
    assert broke.code == "AUTH_REQUIRED" and "scripted error 401" in broke.message


def test_a_model_error_has_the_message_of_the_provider() -> None:
    assert select(turn("error-400"), TurnFailed) == [TurnFailed("scripted error 400", "MODEL_ERROR")]


def test_a_missing_key_asks_for_signing_in() -> None:
    assert select(turn("noauth-envkey"), TurnFailed) == [
        TurnFailed("Missing environment variable: `LAB_KEY`.", "AUTH_REQUIRED")
    ]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("cancel-")])
def test_a_cancelled_run_ends_without_output(name: str) -> None:
    events = turn(name)
    assert events[-1] == TurnEnded("cancelled")
    assert len(select(events, ToolCallStart)) == len(select(events, ToolCallResult))


def test_the_gateway_sends_a_signal_to_cancel() -> None:
    assert prompted().cancel() is False


def test_an_end_without_output_is_explained_by_the_last_line_of_stderr() -> None:
    dialect = prompted()
    stderr = "Reading prompt from stdin...\n\x1b[31mError: something broke\x1b[0m\n"
    assert dialect.on_process_exit(1, stderr) == [TurnFailed("something broke", "AGENT_ERROR")]
    assert not dialect.is_busy


def test_an_unknown_session_is_named_as_such() -> None:
    stderr = "Error: thread/resume: thread/resume failed: no rollout found for thread id 1111 (code -32600)\n\n"
    [broke] = prompted(session="1111").on_process_exit(1, stderr)
    assert isinstance(broke, TurnFailed) and broke.code == "SESSION_NOT_FOUND"


def test_exit_code_0_without_an_end_is_no_success() -> None:
    dialect = prompted()
    dialect.read(lines("cancel-sigint"))
    [broke] = dialect.on_process_exit(0, "")
    assert isinstance(broke, TurnFailed)


def test_an_error_before_the_end_is_its_reason() -> None:
    dialect = prompted()
    assert dialect.read([line(type="error", message="the model is gone")]) == []
    assert dialect.on_process_exit(1, "noise") == [TurnFailed("the model is gone", "MODEL_ERROR")]


def test_a_list_of_things_to_do_is_a_plan() -> None:
    dialect = prompted()
    todo = [{"text": "read", "completed": False}, {"text": "write", "completed": False}]
    first = dialect.read([line(type="item.started", item={"id": "item_1", "type": "todo_list", "items": todo})])
    todo[0]["completed"] = True
    second = dialect.read([line(type="item.updated", item={"id": "item_1", "type": "todo_list", "items": todo})])
    entries = [{"content": "read", "status": "pending"}, {"content": "write", "status": "pending"}]
    assert first == [ActivitySnapshot("t1:plan", "plan", {"entries": entries})]
    patch = [{"op": "replace", "path": "/entries/0/status", "value": "completed"}]
    assert second == [ActivityDelta("t1:plan", "plan", patch)]


def test_an_item_that_is_an_error_is_a_warning() -> None:
    item = {"id": "item_0", "type": "error", "message": "no metadata"}
    [warned] = prompted().read([line(type="item.completed", item=item)])
    assert isinstance(warned, Warning) and warned.message == "no metadata"


def test_a_call_of_another_agent_is_a_tool_call() -> None:
    item = {
        "id": "item_0", "type": "collab_tool_call", "tool": "spawn_agent", "sender_thread_id": "a",
        "receiver_thread_ids": ["b"], "prompt": "look", "status": "completed",
        "agents_states": {"b": {"status": "completed", "message": "ok"}},
    }  # fmt: skip
    events = prompted().read([line(type="item.completed", item=item)])
    assert [event.name for event in select(events, ToolCallStart)] == ["spawn_agent"]
    assert json.loads(select(events, ToolCallResult)[0].content) == {"b": {"status": "completed", "message": "ok"}}


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        line(type="item.completed", item={"id": "item_0", "type": "dream"}),
        line(type="item.completed", item={"type": "agent_message", "text": "x"}),
        line(type="thread.started", thread_id=7),
        line(type="news"),
    ],
)
def test_what_is_not_understood_is_passed_on(line: bytes) -> None:
    assert len(select(prompted().read([line]), Raw)) == 1
