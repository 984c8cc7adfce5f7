"""An agent's errors: a code for programs, its own words for people."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.acp.errors import DATA_MAX_CHARS, ERROR_TEXTS, agent_fault, is_cancellation
from gateway.wire.jsonrpc import Fault
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import NAMES, entries


def errors(name: str) -> list[tuple[str, Fault]]:
    """(method, error) of every error answer in a recording."""
    methods: dict[Any, str] = {}
    found = []
    for entry in entries(name):
        message = entry.get("msg")
        if not isinstance(message, dict):
            continue
        if entry["dir"] == "out" and "method" in message and "id" in message:
            methods[message["id"]] = message["method"]
        elif entry["dir"] == "in" and "error" in message and message.get("id") in methods:
            error = message["error"]
            found.append((methods[message["id"]], Fault(error["code"], error["message"], error.get("data"))))
    return found


def test_all_recorded_errors_get_a_code_and_a_message() -> None:
    codes = {(method, agent_fault(fault, method).code) for name in NAMES for method, fault in errors(name)}
    assert {code for method, code in codes if method == "session/new"} == {
        "AUTH_REQUIRED",
        "AGENT_ERROR",
        "INVALID_PARAMS",
    }
    assert ("session/prompt", "SESSION_NOT_FOUND") in codes
    assert ("session/prompt", "MODEL_ERROR") in codes
    assert ("no/such_method", "METHOD_NOT_FOUND") in codes


@pytest.mark.parametrize("agent", sorted({name.split("/")[0] for name in NAMES if name.endswith("/bad")}))
def test_a_prompt_to_a_lost_session_is_recognised_however_the_agent_reports_it(agent: str) -> None:
    message = [agent_fault(fault, method) for method, fault in errors(f"{agent}/bad") if method == "session/prompt"]
    # hermes-agent and fast-agent answer with a refusal, the Python SDK's examples with success; two name the id alone.
    silent = ("hermes-agent", "fast-agent", "fast-agent-passthrough", "python-sdk-echo", "python-sdk-example")
    obscure = ("deepagents-acp", "openhands")
    if agent in silent:
        assert message == []
    elif agent not in obscure:
        assert [fault.code for fault in message] == ["SESSION_NOT_FOUND"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(-32603, "Internal error", {"details": "400 scripted"}), "error -32603: Internal error: 400 scripted"),
        (Fault(400, '{"error":{"message":"scripted error 400"}}'), "error 400: scripted error 400"),
        (Fault(-32602, "Invalid params", "Unknown modelId: x"), "error -32602: Invalid params: Unknown modelId: x"),
        (Fault(-32602, "Bad: x", {"reason": "x"}), "error -32602: Bad: x"),
        (Fault(-32603, "", [{"message": "expected string"}]), "error -32603: expected string"),
        (Fault(-32602, "Invalid", {"errors": [{"msg": "Field required"}]}), "error -32602: Invalid: Field required"),
        (Fault(-32603, ""), "error -32603: no reason given"),
        (Fault(-32603, "{not json"), "error -32603: {not json"),
    ],
)
def test_the_agents_message_is_kept(fault: Fault, message: str) -> None:
    assert agent_fault(fault, "session/prompt").detail == f"the agent answered session/prompt with {message}"


def test_a_required_sign_in_names_the_methods() -> None:
    ((method, fault),) = errors("kimi-cli/init")
    failure = agent_fault(fault, method)
    assert failure.code == "AUTH_REQUIRED"
    (way,) = failure.extra["agentData"]["authMethods"]
    assert way["id"] == "login"
    assert "_meta" not in json.dumps(failure.problem())


def test_large_or_private_data_is_left_out() -> None:
    assert agent_fault(Fault(1, "x", {"a": "y" * DATA_MAX_CHARS}), "m").extra["agentData"] is None
    assert agent_fault(Fault(1, "x", {"a": 1, "_meta": {"key": "s"}}), "m").extra["agentData"] == {"a": 1}


def test_an_exception_after_a_cancel_is_the_cancels_end() -> None:
    """hermes-agent, while a tool runs."""
    for method, fault in errors("hermes-agent/cancel_tool"):
        assert is_cancellation(fault, method, requested=True)
        assert not is_cancellation(fault, method, requested=False)
    assert is_cancellation(Fault(-32800, "cancelled"), "session/prompt", requested=False)
    assert not is_cancellation(Fault(-32603, "no"), "session/load", requested=True)


@pytest.mark.parametrize(
    "message",
    [
        '{"type":"error","error":{"type":"api_error","message":"scripted error 400","code":400}}\n\n',
        "Error: 400 scripted error 400",
        "Info: Request failed due to a transient API error. Retrying...Error: Failed to get response from the AI model",
        "HTTP 400: scripted error 400",
        "API Error: 400 scripted error 400",
        "agent error: Error code: 400 - scripted error 400",
        "I hit an internal error while calling the model: generic request failed",
    ],
)
def test_a_failure_dressed_as_an_answer_is_known(message: str) -> None:
    assert any(pattern.search(message) for pattern in ERROR_TEXTS)


@pytest.mark.parametrize("message", ["Error: is a word", "I got HTTP 400: that is why", "You said: Error: 400 x", ""])
def test_an_answer_about_failures_is_none(message: str) -> None:
    assert not any(pattern.search(message) for pattern in ERROR_TEXTS)


@steady
@given(st.integers(-40000, 40000), st.text(), VALUES)
def test_any_error_is_read(code: int, message: str, data: Any) -> None:
    agent_fault(Fault(code, message, data), "session/prompt")
