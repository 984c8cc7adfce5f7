"""How a failed tool call is marked in the metadata of its result."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.agui.tool_results import failure_mark, result_metadata
from gateway.events import ToolCallResult

MARKED: list[dict[str, Any]] = [
    {"acp": {"status": "failed"}},
    {"pi": {"isError": True}},
    {"copilot": {"success": False}},
]


@pytest.mark.parametrize("metadata", MARKED)
def test_an_agents_own_mark_is_enough(metadata: dict[str, Any]) -> None:
    assert result_metadata(ToolCallResult("c", "", metadata=metadata, is_error=True)) == metadata


@pytest.mark.parametrize("metadata", [None, {}, {"cursor": {"outcome": "rejected"}}])
def test_the_gateway_marks_a_failure_that_the_agents_metadata_does_not(metadata: dict[str, Any] | None) -> None:
    marked = result_metadata(ToolCallResult("c", "", metadata=metadata, is_error=True))
    assert marked == {**(metadata or {}), "gateway": {"isError": True}}
    assert failure_mark(marked) == "failed"


@pytest.mark.parametrize("is_error", [None, False])
def test_a_result_that_did_not_fail_is_left_as_it_is(is_error: bool | None) -> None:
    assert result_metadata(ToolCallResult("c", "", is_error=is_error)) is None
