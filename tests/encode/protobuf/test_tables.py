"""The .proto and the official Python models describe the same events."""

from __future__ import annotations

import ag_ui.core as official
import pytest
from pydantic import BaseModel

from gateway.encode.protobuf.tables import ENUMS, EVENTS, MESSAGES, varint

FLATTENED = {"contentParts", "interrupts", "pendingToolCallIds", "interruptIds"}
"""Keys of a message that stand elsewhere in JSON."""
REQUIRED_IN_JSON = {("ToolCallResultEvent", "content")}
OPTIONAL_IN_JSON = {("RunFinishedEvent", "outcome"), ("SubagentFinishedEvent", "outcome")}

ALIASES = {"Usage": "TokenUsage"}
SHARED = ["RunAgentInput", "Interrupt", "Tool", "Context", "ResumeEntry", "Usage"]


def described(name: str) -> dict[str, bool]:
    """JSON key → required, by our tables."""
    fields = {field.key: field.required for field in MESSAGES[name] if field.key not in FLATTENED}
    if fields.pop("baseEvent", None):
        fields |= {field.key: field.required for field in MESSAGES["BaseEvent"]}
    fields |= {key: True for message, key in REQUIRED_IN_JSON if message == name}
    return fields | {key: False for message, key in OPTIONAL_IN_JSON if message == name}


def modelled(name: str) -> dict[str, bool]:
    """JSON key → required, by the official model. Only what defaults to None may be absent from the wire."""
    model = getattr(official, ALIASES.get(name, name))
    assert issubclass(model, BaseModel)
    return {field.alias or key: field.default is not None for key, field in model.model_fields.items()}


@pytest.mark.parametrize("name", [field.type_name for field in EVENTS.values()] + SHARED)
def test_keys_and_requiredness_are_the_official_ones(name: str) -> None:
    assert described(name) == modelled(name)


def test_every_event_type_has_its_arm_and_its_number() -> None:
    types = {kind.value for kind in official.EventType}
    assert set(EVENTS) == set(ENUMS["EventType"])
    assert set(EVENTS) <= types
    assert {kind for kind in types - set(EVENTS) if not kind.startswith("THINKING_")} == set()


@pytest.mark.parametrize(
    ("number", "bytes_"),
    [
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (2**14 - 1, "ff7f"),
        (2**14, "808001"),
        (2**63 - 1, "ff" * 8 + "7f"),
        (-1, "ff" * 9 + "01"),
    ],
)
def test_a_varint_has_seven_bits_a_byte(number: int, bytes_: str) -> None:
    assert varint(number).hex() == bytes_
