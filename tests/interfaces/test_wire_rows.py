"""agents-wire's document, row by row (`rows/agents_wire.toml`): its fields, and what a session may be opened with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.acp.harness import ROOT, Stage, Talk, custom, outcome_of
from tests.drivers.mcp_client.servers import FAKE
from tests.interfaces import interface
from tests.interfaces.answers import TEN, capabilities, value_at
from tests.interfaces.rows import ids
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.problem import problem_in

FIELDS = [field.path for field in interface("acp").fields if not field.extra]
BASELINE = ("mcp.stdio", "prompt.text")
"""What every agent of ACP 1 has, whether it says so or not."""

MIXED: dict[str, dict[str, bool]] = {
    "loadSession": {"plain": True, "second": False},
    "forkSession": {"plain": False, "second": False},
    "resumeSession": {"plain": False, "second": True},
    "closeSession": {"plain": True, "second": True},
    "listSessions": {"plain": False, "second": True},
    "additionalDirectories": {"plain": False, "second": False},
    "mcp.stdio": {"plain": True, "second": False},  # the draft of version 2 has a flag for it
    "mcp.http": {"plain": False, "second": False},
    "mcp.sse": {"plain": False, "second": False},
    "prompt.text": {"plain": True, "second": True},
    "prompt.image": {"plain": True, "second": False},
    "prompt.audio": {"plain": False, "second": False},
    "prompt.embeddedContext": {"plain": True, "second": False},
}
"""Field → agents that announce some of them."""
STATED: dict[str, dict[str, bool]] = {
    "mcp.http": {"claude": True, "codex": True, "copilot": True, "opencode": True, "hermes": False, "openclaw": False},
    "mcp.sse": {"claude": True, "codex": False, "hermes": False, "openclaw": False},
    "mcp.stdio": {"claude": True, "codex": True, "pi": True, "omp": True, "hermes": False, "openclaw": False},
}
"""Field → what the files of agents without ACP state, before anything is started."""


def server(transport: str) -> dict[str, Any]:
    if transport == "stdio":
        program, *args = FAKE
        return {"name": "own", "command": program, "args": args, "env": [{"name": "PYTHONPATH", "value": str(ROOT)}]}
    return {"type": transport, "name": "web", "url": "http://127.0.0.1:9/mcp", "headers": []}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Agents of five lines that never ran, one for each case."""
    stage = Stage(tmp_path_factory.mktemp("fresh"), probe_mcp_stdio="false", allow_private_addresses="true")
    for name in ("no-http", "no-sse", "no-load", "takes-stdio"):
        stage.agent(name, "--bare", options=["mcpServers", "sessionId"])
    stage.agent("text-only", "--bare")
    with stage:
        yield stage


@pytest.mark.parametrize("path", FIELDS, ids=ids("wire.field", FIELDS))
def test_a_field_is_what_the_handshake_announced(stage: Stage, served: Gateway, path: str) -> None:
    """With all of ACP's capabilities, with none, and with some; and for agents without ACP, what their files state."""
    expected = {"full": True, "bare": path in BASELINE, **MIXED[path]}
    answers = {agent: capabilities(stage, agent, "acp", probe="1") for agent in expected}
    assert {agent: value_at(answer, path) for agent, answer in answers.items()} == expected
    stated = STATED.get(path, {})
    assert {agent: value_at(capabilities(served, agent, "acp"), path) for agent in stated} == stated
    for agent in TEN:
        answer = capabilities(served, agent, "acp")
        assert isinstance(value_at(answer, path), bool) is (path not in answer.get("unknown", ())), agent


# -- rules


def refused_first_run(stage: Stage, agent: str, **options: Any) -> dict[str, Any]:
    """Before the agent has a session, and before any was requested of it."""
    body = run_input("hello", forwardedProps={"gateway": options})
    problem = problem_in(stage.post(agent, body), 422, "CAPABILITY_ERROR")
    assert problem["agent"] == agent and problem["source"].startswith("handshake")
    assert stage.received(agent, method="session/new") == stage.received(agent, method="session/load") == []
    return problem


def test_a_session_is_not_loaded_where_the_agent_cannot(fresh: Stage) -> None:
    problem = refused_first_run(fresh, "no-load", sessionId="s-1")
    assert problem["capability"] in ("custom.acp.loadSession", "custom.acp.resumeSession")


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_an_mcp_server_that_the_agent_cannot_reach_is_refused_before_any_request(fresh: Stage, transport: str) -> None:
    problem = refused_first_run(fresh, f"no-{transport}", mcpServers=[server(transport)])
    assert problem["capability"] == f"custom.acp.mcp.{transport}"
    assert problem["pointer"] == "/forwardedProps/gateway/mcpServers/0"


def test_an_mcp_server_over_stdio_is_always_taken(fresh: Stage) -> None:
    assert outcome_of(Talk(fresh, "takes-stdio", mcpServers=[server("stdio")]).say("hello")) == "success"
    [opened] = fresh.received("takes-stdio", method="session/new")
    assert [each["name"] for each in opened["params"]["mcpServers"]] == ["own"]


def test_parts_that_the_agent_cannot_take_are_dropped_by_name(fresh: Stage) -> None:
    """On the first run of an agent that never ran, too."""
    data = {"image": "image/png", "audio": "audio/wav"}
    parts = [
        {"type": kind, "source": {"type": "data", "value": "AAAA", "mimeType": mime}} for kind, mime in data.items()
    ]
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}, *parts]}
    events = Talk(fresh, "text-only").say("", messages=[message])
    warnings = custom(events, "gateway.warning")
    assert [warning["code"] for warning in warnings] == ["CONTENT_DROPPED"] * 2
    for kind, warning in zip(data, warnings, strict=True):
        assert f"the {kind} was left out" in warning["message"] and f"promptCapabilities.{kind}" in warning["message"]
    assert text_of(events) == "You said: look"


def test_capabilities_are_those_of_the_agent_and_of_each_session(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    assert capabilities(stage, "full", "acp", thread=talk.id) == capabilities(stage, "full", "acp")


def test_the_agent_s_list_of_sessions_is_asked_for_page_by_page(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    body = {"method": "session/list", "params": {"cursor": "page-2"}}
    listed = stage.asks(f"{talk.path}/acp", body)["result"]["sessions"]
    assert talk.session in [session["sessionId"] for session in listed]
    assert stage.received("full", method="session/list")[-1]["params"]["cursor"] == "page-2"
