"""Whether a tool failed, by every agent's own word for it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.threads.tool_errors import tool_error
from gateway.turn import CANCELLED, NO_RESULT, UNREPORTED


@pytest.mark.parametrize(
    "metadata",
    [
        {"acp": {"status": "failed", "kind": "fetch"}},
        {"acp": {"status": "cancelled", "lastStatus": "pending"}},
        {"claude": {"isError": True}},
        {"codex": {"status": "failed", "exitCode": 1}},
        {"codex": {"status": "declined"}},
        {"copilot": {"success": False, "code": "denied"}},
        {"cursor": {"outcome": "rejected"}, "gateway": {"isError": True}},
        {"gemini": {"status": "error", "errorType": "file_not_found"}},
        {"omp": {"isError": True, "durationMs": 3}},
        {"openclaw": {"isError": True}},
        {"opencode": {"status": "error"}},
        {"pi": {"isError": True}},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_every_agent_s_own_mark_of_a_failure_is_understood(metadata: dict[str, Any]) -> None:
    assert tool_error("no network", metadata) == "no network"
    assert tool_error("", metadata)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"acp": {"status": "completed"}},
        {"claude": {"result": {"status": "failed"}}},
        {"codex": {"status": "completed", "exitCode": 0, "success": True}},
        {"copilot": {"success": True}},
        {"cursor": {"outcome": "success"}},
        {"cursor": {"outcome": "unknown"}},
        {"gateway": {"isError": False}},
        {"mine": {"outcome": "rejected"}},
        {"status": "failed"},
        "failed",
    ],
    ids=str,
)
def test_what_is_not_known_to_have_failed_has_not(metadata: Any) -> None:
    assert tool_error("failed", metadata) is None
    assert tool_error("", metadata) is None


@pytest.mark.parametrize("words", [UNREPORTED, CANCELLED, NO_RESULT, f"{UNREPORTED} Permission: allow."])
def test_a_call_that_never_had_a_result_failed(words: str) -> None:
    assert tool_error(words, None) == words
    assert tool_error(words, {"codex": {"status": "inProgress"}}) == words
