"""What `inbound.read_run_input` takes, upgrades and skips, and what `inbound.dump_run_input` gives back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway import jsonio
from gateway.agui import inbound
from gateway.turn import Answer, Turn

MINIMAL: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def read(**fields: Any) -> Turn:
    return inbound.read_run_input(json.dumps({**MINIMAL, **fields}).encode())


def read_messages(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return read(messages=list(messages)).messages


def read_parts(*parts: Any) -> Turn:
    return read(messages=[{"id": "m", "role": "user", "content": list(parts)}])


def content(turn: Turn) -> Any:
    return turn.messages[0]["content"]


def notices(turn: Turn) -> list[tuple[str, str]]:
    return [(notice.code, notice.pointer) for notice in turn.warnings]


# What is taken


def test_the_body_that_the_official_client_sends_for_an_empty_thread() -> None:
    body = (
        b'{"threadId":"t","runId":"r","protocolVersion":"1.0","state":{},"messages":[],"tools":[],"context":[],'
        b'"forwardedProps":{}}'
    )
    assert inbound.read_run_input(body) == Turn("t", "r", state={}, forwarded_props={}, protocol_version="1.0")


def test_three_fields_are_enough() -> None:
    assert inbound.read_run_input(b'{"threadId":"t","runId":"r","messages":[]}') == Turn("t", "r")


def test_every_message_of_the_protocol_is_kept_as_it_came() -> None:
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "developer", "content": "be kind", "name": "dev"},
        {"id": "2", "role": "system", "content": "be brief", "encryptedValue": "x"},
        {"id": "3", "role": "user", "content": "hello", "metadata": {"a": None}},
        {"id": "4", "role": "assistant", "toolCalls": [CALL], "subagentRunId": "s"},
        {"id": "5", "role": "tool", "toolCallId": "c1", "content": [{"type": "text", "text": "ok"}], "error": "late"},
        {"id": "6", "role": "activity", "activityType": "plan", "content": {"steps": None}},
        {"id": "7", "role": "reasoning", "content": "hm", "encryptedValue": "y"},
    ]
    turn = read(messages=messages)
    assert turn.messages == messages
    assert turn.warnings == ()


@pytest.mark.parametrize(
    "source",
    [
        {"type": "data", "value": "aGk=", "mimeType": "image/png"},
        {"type": "url", "value": "https://example.org/a"},
        {"type": "file", "value": "file-1", "provider": "openai", "mimeType": "image/png"},
    ],
)
@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_a_media_part_takes_every_source(kind: str, source: dict[str, Any]) -> None:
    part = {"type": kind, "id": "p", "source": source, "metadata": "any value"}
    assert content(read_parts(part)) == [part]


def test_a_null_in_an_optional_position_reads_as_absent_at_the_top() -> None:
    keys = ["protocolVersion", "parentRunId", "state", "tools", "context", "forwardedProps", "resume"]
    assert read(**dict.fromkeys(keys)) == Turn("t", "r")


def test_a_null_in_an_optional_position_does_not_survive_in_a_message() -> None:
    call = {**CALL, "metadata": None, "encryptedValue": None}
    message = {"id": "1", "role": "assistant", "content": None, "name": None, "metadata": None, "toolCalls": [call]}
    assert read_messages(message) == [{"id": "1", "role": "assistant", "toolCalls": [CALL]}]


def test_a_null_in_an_optional_position_does_not_survive_in_parts_tools_and_context() -> None:
    source = {"type": "url", "value": "u"}
    part = {"type": "image", "id": None, "metadata": None, "source": {**source, "mimeType": None}}
    turn = read(
        messages=[{"id": "m", "role": "user", "content": [part]}],
        tools=[{"name": "n", "description": "", "parameters": None, "metadata": None}],
    )
    assert content(turn) == [{"type": "image", "source": source}]
    assert turn.tools == [{"name": "n", "description": ""}]


def test_a_null_inside_open_data_stays() -> None:
    tool = {"name": "n", "description": "d", "parameters": {"default": None}, "metadata": {"k": None}}
    turn = read(state={"a": None}, forwardedProps={"b": None}, tools=[tool])
    assert (turn.state, turn.forwarded_props, turn.tools) == ({"a": None}, {"b": None}, [tool])


def test_undescribed_fields_are_kept_as_they_are() -> None:
    message = {"id": "1", "role": "tool", "toolCallId": "c", "content": "", "name": None, "x": {"y": [None]}}
    context = {"description": "d", "value": "v", "weight": 3}
    turn = read(messages=[message], context=[context])
    assert (turn.messages, turn.context) == ([message], [context])


def test_an_undescribed_top_level_field_has_a_notice() -> None:
    assert notices(read(mood="good")) == [("FIELD_IGNORED", "/mood")]


def test_state_may_be_any_value_but_null() -> None:
    states: list[Any] = [0, False, "", [], {"a": 1}]
    assert [read(state=state).state for state in states] == states


def test_a_tool_call_without_a_type_is_a_function_call() -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": "not json"}}
    [message] = read_messages({"id": "1", "role": "assistant", "toolCalls": [call]})
    assert message["toolCalls"] == [{**call, "type": "function"}]


def test_half_a_surrogate_pair_in_a_text_is_kept() -> None:
    body = b'{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"\\ud83d"}]}'
    assert content(inbound.read_run_input(body)) == "\ud83d"


# Versions


@pytest.mark.parametrize("version", ["1.0", "0.9", "12.34"])
def test_a_readable_version_is_kept(version: str) -> None:
    turn = read(protocolVersion=version)
    assert (turn.protocol_version, turn.warnings) == (version, ())


@pytest.mark.parametrize("version", ["", "1", "v1.0", "1.0\n", "1.0.0", "１.０", "1." + "0" * 5000])
def test_an_unreadable_version_counts_as_none_with_a_notice(version: str) -> None:
    turn = read(protocolVersion=version)
    assert turn.protocol_version is None
    assert notices(turn) == [("INVALID_PROTOCOL_VERSION", "/protocolVersion")]


# What is newer than us


def test_a_message_of_an_unknown_role_is_skipped() -> None:
    known = {"id": "2", "role": "user", "content": "hi"}
    turn = read(messages=[{"role": "narrator", "id": 5}, known])
    assert turn.messages == [known]
    assert notices(turn) == [("UNKNOWN_ROLE", "/messages/0/role")]
    assert turn.warnings[0].message == '/messages/0/role "narrator" is not known here: the message is left out'


def test_a_part_of_an_unknown_type_is_skipped() -> None:
    turn = read_parts({"type": "text", "text": "see"}, {"type": "hologram", "beams": 3})
    assert content(turn) == [{"type": "text", "text": "see"}]
    assert notices(turn) == [("UNKNOWN_PART", "/messages/0/content/1/type")]


def test_a_part_with_an_unknown_source_is_skipped() -> None:
    turn = read_parts({"type": "image", "source": {"type": "satellite"}}, {"type": "text", "text": "see"})
    assert content(turn) == [{"type": "text", "text": "see"}]
    assert notices(turn) == [("UNKNOWN_SOURCE", "/messages/0/content/0/source/type")]


def test_notices_past_twenty_are_counted() -> None:
    turn = read(messages=[{"role": "narrator"}] * 25)
    assert len(turn.warnings) == 21
    assert turn.warnings[-1].code == "MORE_NOTICES"
    assert turn.warnings[-1].message.startswith("5 more")


def test_an_unknown_role_is_repeated_short_and_encodable() -> None:
    [notice] = read(messages=[{"role": "\ud83d" + "x" * 10_000}]).warnings
    assert len(notice.message.encode()) < 250


# What is older than us


@pytest.mark.parametrize(
    ("mime", "kind"),
    [
        ("image/png", "image"),
        ("Audio/WAV", "audio"),
        ("video/mp4", "video"),
        ("application/pdf", "document"),
        ("", "document"),
        ("imagery", "document"),
    ],
)
def test_a_binary_part_becomes_the_part_of_its_mime_type(mime: str, kind: str) -> None:
    turn = read_parts({"type": "binary", "mimeType": mime, "data": "aGk="})
    assert content(turn) == [{"type": kind, "source": {"type": "data", "value": "aGk=", "mimeType": mime}}]
    assert turn.warnings == ()


def test_a_binary_part_by_url_keeps_its_filename_in_the_metadata() -> None:
    part = {"type": "binary", "mimeType": "image/png", "url": "u", "data": None, "filename": "a.png", "x": 1}
    turn = read_parts(part)
    source = {"type": "url", "value": "u", "mimeType": "image/png"}
    assert content(turn) == [{"type": "image", "source": source, "metadata": {"filename": "a.png"}, "x": 1}]


def test_the_data_of_a_binary_part_goes_before_its_url_and_its_id_goes() -> None:
    turn = read_parts({"type": "binary", "mimeType": "image/png", "data": "aGk=", "url": "u", "id": "f"})
    assert content(turn) == [{"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}]


def test_a_filename_joins_the_metadata_that_a_binary_part_has() -> None:
    part = {"type": "binary", "mimeType": "image/png", "data": "aGk=", "filename": "a", "metadata": {"b": None}}
    assert content(read_parts(part))[0]["metadata"] == {"b": None, "filename": "a"}


def test_a_binary_part_with_only_an_id_is_left_out() -> None:
    turn = read_parts({"type": "binary", "mimeType": "image/png", "id": "file-1"})
    assert content(turn) == []
    assert notices(turn) == [("BINARY_BY_ID", "/messages/0/content/0")]


# Resume


def test_resume_entries_become_answers() -> None:
    turn = read(
        resume=[
            {"interruptId": "a", "status": "resolved", "payload": {"approved": False}},
            {"interruptId": "b", "status": "resolved", "payload": None},
            {"interruptId": "c", "status": "cancelled"},
        ]
    )
    assert turn.resume == (
        Answer("a", "resolved", {"approved": False}),
        Answer("b", "resolved"),
        Answer("c", "cancelled"),
    )
    assert turn.warnings == ()


def test_an_unused_field_of_an_answer_has_a_notice() -> None:
    turn = read(resume=[{"interruptId": "a", "status": "cancelled", "payload": 1, "metadata": {"signature": "x"}}])
    assert turn.resume == (Answer("a", "cancelled"),)
    assert notices(turn) == [("FIELD_IGNORED", "/resume/0/payload"), ("FIELD_IGNORED", "/resume/0/metadata")]


# Back again


def test_a_dump_is_the_input_as_it_was_understood() -> None:
    turn = read(
        messages=[
            {"role": "narrator"},
            {"id": "1", "role": "user", "content": [{"type": "binary", "mimeType": "image/png", "url": "u"}]},
        ],
        protocolVersion="new",
        state=None,
        resume=[{"interruptId": "a", "status": "cancelled", "payload": 1}],
        forwardedProps={"gateway": {"model": None, "effort": "low"}, "mine": None},
    )
    part = {"type": "image", "source": {"type": "url", "value": "u", "mimeType": "image/png"}}
    assert inbound.dump_run_input(turn) == {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "1", "role": "user", "content": [part]}],
        "tools": [],
        "context": [],
        "forwardedProps": {"gateway": {"effort": "low"}, "mine": None},
        "resume": [{"interruptId": "a", "status": "cancelled"}],
    }


def test_the_deepest_accepted_input_fits_into_run_started() -> None:
    levels = inbound.MAX_DEPTH - 1
    turn = inbound.read_run_input(
        b'{"threadId":"t","runId":"r","messages":[],"state":%b}' % (b"[" * levels + b"]" * levels)
    )
    assert jsonio.dumps({"type": "RUN_STARTED", "input": inbound.dump_run_input(turn)})
