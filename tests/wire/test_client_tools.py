"""The client's own tools in the form that agents take them, and their results as MCP content."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gateway.turn import NO_RESULT, Answer
from gateway.wire.client_tools import by_safe_name, input_schema, result_blocks, result_text, tool_description
from tests.agui.streams import VALUES, steady

PNG = {"type": "data", "value": "AA==", "mimeType": "image/png"}


def resolved(**message: Any) -> Answer:
    return Answer("c", "resolved", {"role": "tool", "toolCallId": "c", **message})


def text_block(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def test_names_are_safe_and_the_first_of_two_keeps_it() -> None:
    tools = [{"name": "pick colour"}, {"name": "pick.colour"}, {"name": "ok-1"}]
    assert by_safe_name(tools) == {"pick_colour": tools[0], "ok-1": tools[2]}


def test_arguments_are_always_an_object() -> None:
    assert input_schema({"name": "a"}) == {"type": "object", "properties": {}}
    assert input_schema({"name": "a", "parameters": {"required": ["x"]}}) == {"required": ["x"], "type": "object"}
    assert (tool_description({"name": "a"}), tool_description({"name": "a", "description": "A"})) == ("", "A")


@pytest.mark.parametrize(
    ("source", "block"),
    [
        (PNG, {"type": "image", "data": "AA==", "mimeType": "image/png"}),
        ({"type": "data", "value": "AA=="}, {"type": "image", "data": "AA==", "mimeType": "image/png"}),
        (
            {"type": "url", "value": "data:image/gif;base64,BB=="},
            {"type": "image", "data": "BB==", "mimeType": "image/gif"},
        ),
    ],
)
def test_an_image_is_an_image_block(source: dict[str, Any], block: dict[str, Any]) -> None:
    content = [{"type": "image", "source": source}, {"type": "text", "text": "a dot"}]
    assert result_blocks(resolved(content=content)) == ([block, text_block("a dot")], False)
    assert result_text(resolved(content=content)) == ("[image]\na dot", False)


def test_content_without_a_block_is_json_text() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "https://example.org/a.png"}}
    [block] = result_blocks(resolved(content=[part]))[0]
    assert block["type"] == "text" and "https://example.org/a.png" in block["text"]


def test_an_error_is_part_of_the_result() -> None:
    assert result_blocks(resolved(content="no", error="offline")) == ([text_block("no"), text_block("offline")], True)
    assert result_blocks(resolved(content="")) == ([text_block("")], False)
    assert result_blocks(Answer("c", "cancelled")) == ([text_block(NO_RESULT)], True)


@steady
@given(VALUES, VALUES)
def test_any_message_is_read(payload: Any, content: Any) -> None:
    for answer in (Answer("c", "resolved", payload), resolved(content=content, error=content)):
        assert result_blocks(answer)[0]
        result_text(answer)
