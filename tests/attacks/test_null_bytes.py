"""Input that no file, host or message can have: NUL bytes, control characters, keys of another role.

Attack: requests with such input, without a token where a path is open to all, to fill the log with tracebacks or to
find a place that fails open. Promise: a refusal in the one shape of errors, no 500, no traceback, and every response
states its own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.behaviour.acp.harness import Stage
from tests.support.gateway import Gateway, run_input, types_of

PATHS = [
    "/console/%00",
    "/console/a%00.js",
    "/console/..%00/",
    "/console/%0A",
    "/console/" + "a" * 5000 + ".js",
    "/console/" + "a/" * 2000 + "x.js",
    "/console/%ff%fe.js",
    "/console/index.html%00",
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("nulls")).agent("plain", acp={"fs": True}) as running:
        yield running


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:30])
def test_a_path_that_no_file_can_have_is_not_found(gateway: Gateway, path: str) -> None:
    logged = len(gateway.log.read_text())  # other tests share this gateway
    response = gateway.client.get(path)
    assert response.status_code in (400, 404), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in gateway.log.read_text()[logged:]


@pytest.mark.parametrize("name", ["a\0b", "\0", "a" * 300, "/".join("a" * 200 for _ in range(20)), "a\nb", "~root"])
@pytest.mark.parametrize("option", ["cwd", "additionalDirectories"])
def test_a_folder_that_cannot_be_is_refused(stage: Stage, option: str, name: str) -> None:
    value = name if option == "cwd" else [name]
    response = stage.client.post("/agents/plain", json=run_input("hello", forwardedProps={"gateway": {option: value}}))
    assert "INTERNAL" not in response.text and response.status_code < 500
    assert "RUN_FINISHED" not in response.text
    assert "Traceback" not in stage.log.read_text()


MISPLACED: list[dict[str, Any]] = [
    {"role": "tool", "toolCallId": "c", "content": "x", "toolCalls": {"a": 1}},
    {"role": "tool", "toolCallId": "c", "content": "x", "toolCalls": [1, None]},
    {"role": "tool", "toolCallId": "c", "content": "x", "toolCalls": "text"},
    {"role": "user", "content": "x", "toolCalls": [{"id": "c"}]},
    {"role": "user", "content": "x", "toolCallId": {}},
    {"role": "system", "content": "x", "toolCallId": ["c"], "toolCalls": 7},
    {"role": "reasoning", "content": "x", "toolCalls": {"id": {}}},
    {"role": "activity", "activityType": "a", "content": {}, "toolCalls": [[]], "toolCallId": []},
]


@pytest.mark.parametrize("agent", ["plain", "echo"])
@pytest.mark.parametrize("message", MISPLACED, ids=str)
def test_keys_of_another_role_are_not_read(stage: Stage, agent: str, message: dict[str, Any]) -> None:
    odd = {"id": uuid4().hex, **message}
    last = {"id": uuid4().hex, "role": "user", "content": "hello"}
    thread = uuid4().hex
    for _ in range(2):  # the second run reads the first one's history
        result = {"id": uuid4().hex, "role": "tool", "toolCallId": "other", "content": "r"}
        events = stage.run(agent, threadId=thread, messages=[odd, result, last])
        assert types_of(events)[-1] == "RUN_FINISHED", events[-1]
    stage.asks(f"/agents/{agent}/threads/{thread}")
    assert "Traceback" not in stage.log.read_text()


@pytest.mark.parametrize(
    "path", ["/", "/agents", "/healthz", "/agents/nobody", "/schemas/agent.json", "/console/app.js"]
)
def test_every_response_states_its_own_type(gateway: Gateway, path: str) -> None:
    response = gateway.client.get(path)
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_stream_and_a_refusal_state_their_own_type(gateway: Gateway) -> None:
    refused = gateway.client.get("/agents", headers={"origin": "http://evil.example"})
    run = gateway.post("echo", run_input("hello"))
    assert [answer.headers["x-content-type-options"] for answer in (refused, run)] == ["nosniff"] * 2
    assert refused.status_code == 403
