"""What `inbound.read_run_input` refuses, where it points, and what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.agui import inbound
from gateway.errors import BadInput, NotJson
from gateway.turn import Turn

MINIMAL: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}
CALL: dict[str, Any] = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def read(**fields: Any) -> Turn:
    return inbound.read_run_input(json.dumps({**MINIMAL, **fields}).encode())


def refusal(**fields: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read(**fields)
    return caught.value


def pointers(error: BadInput) -> list[str]:
    return [problem["pointer"] for problem in error.extra["errors"]]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"threadId":', b"[" * 5000, b"[" * 195 + b"]" * 195])
def test_what_is_no_json_is_not_json(body: bytes) -> None:
    with pytest.raises(NotJson):
        inbound.read_run_input(body)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"hi"', b"5", b"true"])
def test_a_body_that_is_no_object_is_refused_at_the_root(body: bytes) -> None:
    with pytest.raises(BadInput) as caught:
        inbound.read_run_input(body)
    assert caught.value.extra["pointer"] == ""
    assert caught.value.detail.startswith("the body must be an object, not ")


@pytest.mark.parametrize("key", ["threadId", "runId", "messages"])
def test_a_required_field_that_is_missing_or_null_is_refused(key: str) -> None:
    without = {name: value for name, value in MINIMAL.items() if name != key}
    for body, word in ((without, "missing"), ({**MINIMAL, key: None}, "null")):
        with pytest.raises(BadInput) as caught:
            inbound.read_run_input(json.dumps(body).encode())
        assert caught.value.extra["pointer"] == f"/{key}"
        assert caught.value.detail.startswith(f"/{key} is {word}: ")


def test_a_refusal_is_a_sentence() -> None:
    error = refusal(messages=[{"id": "1", "role": "tool", "content": ""}])
    assert error.detail == "/messages/0/toolCallId is missing: a tool message names the call it answers"
    assert error.problem()["pointer"] == "/messages/0/toolCallId"
    assert error.problem()["errors"] == [{"pointer": "/messages/0/toolCallId", "message": error.detail}]


@pytest.mark.parametrize(
    ("fields", "pointer", "message"),
    [
        ({"threadId": 5}, "/threadId", "must be a string, not a number"),
        ({"runId": True}, "/runId", "must be a string, not a boolean"),
        ({"parentRunId": {}}, "/parentRunId", "must be a string, not an object"),
        ({"protocolVersion": 1.0}, "/protocolVersion", "must be a string, not a number"),
        ({"messages": {}}, "/messages", "must be an array, not an object"),
        ({"messages": [None]}, "/messages/0", "must be an object, not null"),
        ({"messages": [{"id": "1"}]}, "/messages/0/role", "is missing: it says which kind this is"),
        ({"messages": [{"role": None}]}, "/messages/0/role", "is null: it says which kind this is"),
        ({"messages": [{"role": 1}]}, "/messages/0/role", "must be a string, not a number"),
        (
            {"messages": [{"id": "1", "role": "user", "content": {}}]},
            "/messages/0/content",
            "must be a string or an array of content parts, not an object",
        ),
        (
            {"messages": [{"id": "1", "role": "assistant", "content": []}]},
            "/messages/0/content",
            "must be a string, not an array",
        ),
        (
            {"messages": [{"id": "1", "role": "assistant", "toolCalls": [{**CALL, "type": None}]}]},
            "/messages/0/toolCalls/0/type",
            'must be "function", not null',
        ),
        (
            {"messages": [{"id": "1", "role": "activity", "activityType": "plan", "content": "x"}]},
            "/messages/0/content",
            "must be an object, not a string",
        ),
        ({"tools": [{"name": "n"}]}, "/tools/0/description", "is missing: "),
        ({"tools": "n"}, "/tools", "must be an array, not a string"),
        ({"context": [{"description": "d", "value": 1}]}, "/context/0/value", "must be a string, not a number"),
    ],
)
def test_a_malformed_field_is_refused_at_its_place(fields: dict[str, Any], pointer: str, message: str) -> None:
    error = refusal(**fields)
    assert pointers(error) == [pointer]
    assert error.detail.startswith(f"{pointer} {message}")


@pytest.mark.parametrize("key", ["threadId", "runId"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "is empty"),
        ("x" * 513, "has 513 characters, at most 512 are allowed"),
        ("a\nb", "has a control character"),
        ("a\x00", "has a control character"),
        ("\ud83d", "has a control character or half a surrogate pair"),
    ],
)
def test_an_id_that_no_address_can_carry_is_refused_with_the_reason(key: str, value: str, message: str) -> None:
    error = refusal(**{key: value})
    assert error.detail.startswith(f"/{key} {message}")
    assert error.detail.endswith("the gateway's URLs name threads and runs by it")


def test_an_id_of_512_characters_of_any_script_is_taken() -> None:
    assert read(threadId="é/ ~" * 128).thread_id == "é/ ~" * 128


def test_every_problem_is_listed_and_the_first_is_the_detail() -> None:
    error = refusal(threadId=5, tools=[{}], messages=[{"id": 1, "role": "user"}])
    assert pointers(error) == [
        "/threadId",
        "/messages/0/id",
        "/messages/0/content",
        "/tools/0/name",
        "/tools/0/description",
    ]
    assert error.extra["pointer"] == "/threadId"
    assert error.detail == "/threadId must be a string, not a number (and 4 more, see errors)"


def test_problems_past_twenty_are_counted() -> None:
    error = refusal(context=[1] * 1000)
    assert pointers(error) == [f"/context/{index}" for index in range(20)]
    assert error.detail.endswith("(and 999 more, see errors)")


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        ({"type": "binary", "mimeType": "image/png", "data": ""}, "/messages/0/content/0"),
        ({"type": "binary", "data": "aGk="}, "/messages/0/content/0/mimeType"),
        ({"type": "binary", "mimeType": "image/png", "url": 5}, "/messages/0/content/0/url"),
    ],
)
def test_a_malformed_binary_part_is_refused(part: dict[str, Any], pointer: str) -> None:
    assert pointers(refusal(messages=[{"id": "m", "role": "user", "content": [part]}])) == [pointer]


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        (
            {"interruptId": "a", "status": "denied"},
            '/resume/0/status must be "resolved" or "cancelled", not "denied"',
        ),
        ({"interruptId": "a", "status": 1}, '/resume/0/status must be "resolved" or "cancelled", not a number'),
        ({"status": "resolved"}, "/resume/0/interruptId is missing: an answer names the interrupt it answers"),
    ],
)
def test_a_malformed_answer_is_refused(entry: dict[str, Any], detail: str) -> None:
    assert refusal(resume=[entry]).detail == detail


def test_two_answers_to_one_interrupt_are_refused() -> None:
    entry = {"interruptId": "a", "status": "resolved"}
    error = refusal(resume=[entry, {"interruptId": "b", "status": "cancelled"}, entry])
    assert error.detail == "/resume/2/interruptId is the same as /resume/0/interruptId"
