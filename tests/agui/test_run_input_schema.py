"""The tables of `shapes` describe the fields that the official models describe, and require what they require."""

from __future__ import annotations

from typing import Any, cast, get_args

import pytest
from ag_ui.core import types as official
from pydantic import BaseModel

from gateway.agui import run_input_schema
from gateway.agui.schema import Object, Schema, TaggedUnion

PARTS = cast(TaggedUnion, run_input_schema.PARTS.item)

PAIRS: list[tuple[Schema, type[BaseModel]]] = [
    (run_input_schema.RUN_AGENT_INPUT, official.RunAgentInput),
    (run_input_schema.TOOL, official.Tool),
    (run_input_schema.CONTEXT, official.Context),
    (run_input_schema.RESUME_ENTRY, official.ResumeEntry),
    (run_input_schema.TOOL_CALL, official.ToolCall),
    (run_input_schema.MESSAGE.arms["developer"], official.DeveloperMessage),
    (run_input_schema.MESSAGE.arms["system"], official.SystemMessage),
    (run_input_schema.MESSAGE.arms["user"], official.UserMessage),
    (run_input_schema.MESSAGE.arms["assistant"], official.AssistantMessage),
    (run_input_schema.MESSAGE.arms["tool"], official.ToolMessage),
    (run_input_schema.MESSAGE.arms["activity"], official.ActivityMessage),
    (run_input_schema.MESSAGE.arms["reasoning"], official.ReasoningMessage),
    (PARTS.arms["text"], official.TextPart),
    (PARTS.arms["image"], official.ImagePart),
    (PARTS.arms["audio"], official.AudioPart),
    (PARTS.arms["video"], official.VideoPart),
    (PARTS.arms["document"], official.DocumentPart),
    (run_input_schema.SOURCE.arms["data"], official.DataSource),
    (run_input_schema.SOURCE.arms["url"], official.UrlSource),
    (run_input_schema.SOURCE.arms["file"], official.FileSource),
]


@pytest.mark.parametrize(("shape", "model"), PAIRS, ids=[model.__name__ for _, model in PAIRS])
def test_a_table_describes_what_the_official_model_describes(shape: Schema, model: type[BaseModel]) -> None:
    assert isinstance(shape, Object)
    gateway_schema = {field.key: field.required_because is not None for field in shape.fields}
    official_schema = {str(field.alias): field.is_required() for field in model.model_fields.values()}
    # The tag of a union is read by `TaggedUnion`, before the table.
    tags = {"role", "type"} - gateway_schema.keys()
    assert gateway_schema == {key: required for key, required in official_schema.items() if key not in tags}


@pytest.mark.parametrize("union", [official.Message, official.ContentPart, official.PartSource])
def test_every_member_of_a_union_has_a_table(union: Any) -> None:
    members = get_args(get_args(union)[0])
    assert {model for _, model in PAIRS}.issuperset(members)
