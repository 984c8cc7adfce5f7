"""A provider's JSON body inside an error text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.errors import unwrap_provider_json
from tests.agui.streams import steady


@pytest.mark.parametrize(
    ("message", "text", "status"),
    [
        ('{"error":{"message":"No quota","code":429}}', "No quota", 429),
        (' {"type":"error","error":{"type":"x","message":"Overloaded"}}', "Overloaded", None),
        ('{"message":"No model"}', "No model", None),
        ('{"error":{"code":"429"}}', '{"error":{"code":"429"}}', None),
        ("{no JSON", "{no JSON", None),
        ("plain", "plain", None),
        ("[1]", "[1]", None),
    ],
)
def test_the_providers_own_message_is_found(message: str, text: str, status: int | None) -> None:
    assert unwrap_provider_json(message) == (text, status)


@steady
@given(st.text())
def test_any_text_is_read(message: str) -> None:
    unwrap_provider_json(message)
    unwrap_provider_json("{" + message)
