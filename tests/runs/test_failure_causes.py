"""One cause has one code, whichever agent reports it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.runs.failure_causes import CODES, find_cause

TEXTS = [
    ("AUTH_REQUIRED", "API Error: 401 invalid x-api-key"),
    (
        "AUTH_REQUIRED",
        "answered session/prompt with error -32603: Internal error: 401 Incorrect API key provided",
    ),
    ("AUTH_REQUIRED", "unexpected status 401 Unauthorized: bad key"),
    ("AUTH_REQUIRED", '{"error":{"code":403,"message":"forbidden"}}'),
    ("QUOTA_EXCEEDED", "HTTP 429: slow down"),
    ("QUOTA_EXCEEDED", "You exceeded your current quota, please check your plan"),
    ("QUOTA_EXCEEDED", "status: RESOURCE_EXHAUSTED"),
    ("MODEL_OVERLOADED", "API Error: 529 Overloaded"),
    ("MODEL_OVERLOADED", "Error code: 503 - the model is overloaded"),
    ("CONTEXT_TOO_LONG", "400 prompt is too long: 210000 tokens > 200000 maximum"),
    ("CONTEXT_TOO_LONG", "This model's maximum context length is 8192 tokens"),
    ("CONTEXT_TOO_LONG", "ContextOverflowError: context window exceeded"),
    ("MODEL_ERROR", "HTTP 400: no such parameter"),
    ("MODEL_ERROR", "Error: 500 the provider failed"),
]


@pytest.mark.parametrize("code", ["MODEL_ERROR", "AGENT_ERROR"])
@pytest.mark.parametrize(("cause", "text"), TEXTS)
def test_the_text_of_a_provider_tells_the_cause(cause: str, text: str, code: str) -> None:
    assert find_cause(code, text) == cause


@pytest.mark.parametrize("text", ["", "the tool failed with exit code 1", "line 401 of main.py is wrong"])
def test_a_text_that_tells_nothing_keeps_the_code(text: str) -> None:
    assert find_cause("AGENT_ERROR", text) == "AGENT_ERROR"


def test_a_code_that_names_a_cause_already_is_kept() -> None:
    assert find_cause("AGENT_DIED", "HTTP 401") == "AGENT_DIED"
    assert find_cause("SESSION_NOT_FOUND", "HTTP 404") == "SESSION_NOT_FOUND"


@given(st.sampled_from(["MODEL_ERROR", "AGENT_ERROR"]), st.text())
def test_every_text_has_a_known_cause(code: str, text: str) -> None:
    assert find_cause(code, text) in CODES
