"""Each option of a run, with the real program: it arrives in the request that the scripted model gets, in the agent's
command line, or in what the agent does. One table for all agents; an option that an agent has not is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.catalog.load import bundled, load_file
from tests.drivers.mcp_client.servers import remote, serving
from tests.drivers.process_watch import until
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import mcp_server_in
from tests.live.option_checks import LiveAgent, Seen, live_agent, value_at, write_skill
from tests.live.selection import agents
from tests.support.gateway import types_of

AGENTS = ("claude", "codex", "gemini", "copilot", "opencode")
PLUMS = "my favourite fruit is the plum"
SCHEMA = {"type": "object", "properties": {"animal": {"type": "string"}}, "required": ["animal"]}
ANSWER = 'CALL StructuredOutput {"animal": "otter"}\nplease'
"""What makes the scripted model answer as OpenCode wants it: by this tool."""
SKILL_FOLDERS = {
    "claude": ".claude/skills",
    "codex": ".codex/skills",
    "gemini": ".gemini/skills",
    "copilot": ".copilot/skills",
    "opencode": ".config/opencode/skills",
}
"""Below the agent's home: where it has its user's own skills."""
NATIVE_MENTIONS = ("claude", "codex")
"""These add a skill that the prompt mentions to the request themselves; the models of the others load it by a tool."""

pytestmark = pytest.mark.live

Check = Callable[[Seen, LiveAgent], object]


def in_request(path: str, value: Any) -> Check:
    return lambda seen, agent: value_at(seen.request, path) == value


def in_request_text(*texts: str) -> Check:
    return lambda seen, agent: all(text in seen.asked for text in texts)


def in_command(text: str) -> Check:
    return lambda seen, agent: any(text in line for line in seen.command_lines)


def in_command_at(flag: str, folder: str) -> Check:
    return lambda seen, agent: any(f"{flag} {agent.workspace / folder}" in line for line in seen.command_lines)


def folder_in_request(folder: str) -> Check:
    return lambda seen, agent: str(agent.workspace / folder) in seen.asked


def in_address(text: str) -> Check:
    return lambda seen, agent: any(text in path for path in seen.paths)


@dataclass(frozen=True, slots=True)
class Case:
    """The options of one run, and what must be seen of them."""

    check: Check
    options: dict[str, Any] = field(default_factory=dict)
    prompt: str = "hello"


CASES: dict[str, dict[str, Case]] = {
    "claude": {
        "model": Case(in_request("model", "claude-sonnet-5-5"), {"model": "claude-sonnet-5-5"}),
        "effort": Case(in_request("output_config.effort", "high"), {"effort": "high"}),
        "thinkingBudgetTokens": Case(
            in_request("thinking.budget_tokens", 2048), {"model": "claude-sonnet-4-5", "thinkingBudgetTokens": 2048}
        ),
        "thinkingOverride": Case(
            in_request("output_config.effort", "xhigh"), {"effort": "low", "thinkingOverride": {"effort": "xhigh"}}
        ),
        "mode": Case(in_command("--permission-mode plan"), {"mode": "plan"}),
        "cwd": Case(folder_in_request("sub"), {"cwd": "sub"}),
        "additionalDirectories": Case(in_command_at("--add-dir", "other"), {"additionalDirectories": ["other"]}),
        "outputSchema": Case(in_request_text("StructuredOutput"), {"outputSchema": SCHEMA}),
        "outputFormat": Case(in_request_text("StructuredOutput"), {"outputFormat": "json"}),
        "maxTurns": Case(in_command("--max-turns 3"), {"maxTurns": 3}),
    },
    "codex": {
        "model": Case(in_request("model", "gpt-6-sol"), {"model": "gpt-6-sol"}),
        "effort": Case(in_request("reasoning.effort", "high"), {"effort": "high"}),
        "thinkingOverride": Case(
            in_request("reasoning.summary", "concise"), {"thinkingOverride": {"summary": "concise"}}
        ),
        "mode": Case(in_request_text("read-only"), {"mode": "read-only"}),
        "cwd": Case(folder_in_request("sub"), {"cwd": "sub"}),
        "additionalDirectories": Case(folder_in_request("other"), {"additionalDirectories": ["other"]}),
        "outputSchema": Case(in_request("text.format.schema.required", ["animal"]), {"outputSchema": SCHEMA}),
        "outputFormat": Case(in_request("text.format.type", "json_schema"), {"outputFormat": "json"}),
    },
    "gemini": {
        "model": Case(in_address("gemini-3-flash-preview"), {"model": "gemini-3-flash-preview"}),
        "mode": Case(in_request_text("Plan Mode"), {"mode": "plan"}),
        "cwd": Case(folder_in_request("sub"), {"cwd": "sub"}),
        "additionalDirectories": Case(
            in_command_at("--include-directories", "other"), {"additionalDirectories": ["other"]}
        ),
    },
    "copilot": {
        "model": Case(in_request("model", "gpt-5.6-sol"), {"model": "gpt-5.6-sol"}),
        "effort": Case(in_request("reasoning_effort", "high"), {"effort": "high"}),
        "thinkingOverride": Case(
            in_request("reasoning_effort", "low"), {"thinkingOverride": {"reasoningEffort": "low"}}
        ),
        "mode": Case(in_request_text("plan"), {"mode": "plan"}),
        "cwd": Case(folder_in_request("sub"), {"cwd": "sub"}),
        "additionalDirectories": Case(folder_in_request("other"), {"additionalDirectories": ["other"]}),
    },
    "opencode": {
        "model": Case(in_request("model", "scripted-model"), {"model": "scripted/scripted-model"}),
        "effort": Case(in_request("reasoning_effort", "high"), {"effort": "high"}),
        "thinkingOverride": Case(in_request("reasoning_effort", "low"), {"thinkingOverride": {"variant": "low"}}),
        "mode": Case(in_request_text("Plan mode"), {"mode": "plan"}),
        "cwd": Case(folder_in_request("sub"), {"cwd": "sub"}),
        "outputSchema": Case(in_request_text("StructuredOutput"), {"outputSchema": SCHEMA}, ANSWER),
        "outputFormat": Case(in_request_text("StructuredOutput"), {"outputFormat": "json"}, ANSWER),
    },
}

REFUSED: dict[str, dict[str, Any]] = {
    "codex": {"maxTurns": 3, "thinkingBudgetTokens": 2048},
    "gemini": {
        "effort": "high",
        "thinkingBudgetTokens": 2048,
        "outputSchema": SCHEMA,
        "outputFormat": "json",
        "maxTurns": 3,
        "forkSessionId": "b938df85-0784-4d65-b590-f73a0947fbb2",
    },
    "copilot": {"maxTurns": 3, "thinkingBudgetTokens": 2048, "outputSchema": SCHEMA, "outputFormat": "json"},
    "opencode": {"maxTurns": 3, "thinkingBudgetTokens": 2048},
}
"""What the program has no way for."""


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def agent(
    request: pytest.FixtureRequest, models: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveAgent]:
    """One gateway for all cases of an agent. Servers of MCP are on this machine."""
    home = tmp_path_factory.mktemp(request.param)
    settings = home / "gateway.toml"
    settings.write_text("allow_private_addresses = true\n")
    with live_agent(request.param, models, home, "--config", str(settings)) as running:
        for name in ("sub", "other"):
            (running.workspace / name).mkdir()
        (running.workspace / "other" / "otters.txt").write_text("two\n")
        own = running.home / "home" / SKILL_FOLDERS[request.param]
        write_skill(own / "beaver-care", "beaver-care", "BEAVERS-BUILD-DAMS")
        yield running


@pytest.fixture(autouse=True)
def _new_thread(request: pytest.FixtureRequest) -> None:
    if "agent" in request.fixturenames:
        request.getfixturevalue("agent").new_thread()


def cases(table: dict[str, dict[str, Any]]) -> list[Any]:
    """(agent, option), as parameters of a test."""
    pairs = [(name, option) for name in AGENTS for option in table.get(name, ())]
    marks = dict(zip(AGENTS, agents(AGENTS), strict=True))
    return [
        pytest.param(name, option, id=f"{name}-{option}", marks=getattr(marks[name], "marks", ()))
        for name, option in pairs
    ]


@pytest.mark.parametrize(("agent", "option"), cases(CASES), indirect=["agent"])
def test_the_option_arrives(agent: LiveAgent, option: str) -> None:
    case = CASES[agent.name][option]
    seen = agent.run(case.prompt, **case.options)
    assert case.check(seen, agent), (seen.asked[-3000:], seen.paths, seen.command_lines)
    assert not set(seen.warnings) - {"STREAM_FALLBACK"}


@pytest.mark.parametrize(("agent", "option"), cases(REFUSED), indirect=["agent"])
def test_an_option_that_the_program_lacks_is_refused(agent: LiveAgent, option: str) -> None:
    problem = agent.refusal(**{option: REFUSED[agent.name][option]})
    assert problem["code"] == "CAPABILITY_ERROR", problem
    assert problem["pointer"].startswith(f"/forwardedProps/gateway/{option}"), problem


def test_every_option_of_these_agents_is_tried() -> None:
    """An option that a file lists, or that the protocol carries, has a case here."""
    others = {"approvals", "mcpServers", "sessionId", "forkSessionId", "skills", "stream"}
    for name in AGENTS:
        listed = set(load_file(bundled() / f"{name}.toml").options or ())
        # OpenCode's directories are a rule of the session, which no request shows: its dialect's tests have it.
        others_of_agent = others | ({"additionalDirectories"} if name == "opencode" else set())
        assert listed <= {*CASES[name], *others_of_agent}, name


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_a_skill_by_its_path_is_loaded(agent: LiveAgent) -> None:
    """agent-mux supportsSkills."""
    write_skill(agent.workspace / "kit" / "first", "otter-care", "OTTERS-LIKE-FISH")
    assert "otter-care" not in agent.run("hello").asked
    agent.new_thread()
    seen = agent.run("hello", skills=["kit/first"])
    assert "otter-care" in seen.asked, "its model can use the skill"
    assert not (agent.workspace / ".agents").exists()


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_a_skill_by_the_name_that_the_agent_lists_is_used(agent: LiveAgent) -> None:
    """agent-mux supportsSkills."""
    before = agent.run("hello").asked
    agent.new_thread()
    seen = agent.run("hello", skills=["beaver-care"])
    if agent.name in NATIVE_MENTIONS:
        assert "BEAVERS-BUILD-DAMS" in seen.asked and "BEAVERS-BUILD-DAMS" not in before
    else:
        assert seen.asked.count("beaver-care") > before.count("beaver-care"), "the prompt mentions it"


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_a_path_without_a_skill_is_refused(agent: LiveAgent) -> None:
    problem = agent.refusal(skills=["kit/none"])
    assert problem["code"] == "INVALID_INPUT" and "kit/none" in problem["detail"]


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_the_session_of_another_thread_is_continued(agent: LiveAgent) -> None:
    """agent-mux canResume. A session that is open elsewhere is closed first."""
    agent.run(PLUMS)
    session, first = agent.session_id, agent.thread_id
    closed = agent.gateway.client.post(f"/agents/{agent.name}/threads/{first}/close")
    assert closed.status_code == 200, closed.text
    agent.new_thread()
    seen = agent.run("which fruit?", sessionId=session)
    assert PLUMS in seen.asked and not seen.warnings
    assert agent.session_id == session


@pytest.mark.parametrize("agent", agents(name for name in AGENTS if name != "gemini"), indirect=True)
def test_a_copy_of_a_session_is_continued(agent: LiveAgent) -> None:
    """agent-mux canFork."""
    agent.run(PLUMS)
    session = agent.session_id
    agent.new_thread()
    seen = agent.run("which fruit?", forkSessionId=session)
    assert PLUMS in seen.asked and not seen.warnings
    assert agent.session_id != session


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_the_policy_for_approvals_is_carried_out(agent: LiveAgent) -> None:
    allowed = agent.run("SHELL touch auto.txt", approvals="auto")
    assert allowed.events[-1].get("outcome", {}).get("type") != "interrupt"
    assert (agent.workspace / "auto.txt").exists()
    agent.new_thread()
    agent.run("SHELL touch deny.txt", approvals="deny")
    assert not (agent.workspace / "deny.txt").exists()


@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_a_run_that_must_stream_streams(agent: LiveAgent) -> None:
    """agent-mux supportsTextStreaming."""
    for stream in (True, "auto"):
        seen = agent.run("LONG 60", stream=stream, merge=False)
        assert types_of(seen.events).count("TEXT_MESSAGE_CONTENT") > 3


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
@pytest.mark.parametrize("agent", agents(AGENTS), indirect=True)
def test_an_mcp_server_is_reached_by_each_transport_that_the_snapshot_states(agent: LiveAgent, transport: str) -> None:
    """agent-mux supportsMCP, agents-wire mcp.stdio, mcp.http, mcp.sse."""
    stated = agent.view("acp")
    assert not any(name.startswith("mcp.") for name in stated.get("unknown", ())), stated
    if transport == "stdio":
        check_server(agent, mcp_server_in(agent.workspace, "calc"), is_taken=stated["mcp"]["stdio"])
        return
    with serving(f"--{transport}") as url:
        check_server(agent, remote("calc", url, transport), is_taken=stated["mcp"][transport])


def check_server(agent: LiveAgent, server: dict[str, Any], *, is_taken: bool) -> None:
    if not is_taken:
        problem = agent.refusal(mcpServers=[server])
        assert problem["pointer"].startswith("/forwardedProps/gateway/mcpServers"), problem
        return
    agent.run("hello", mcpServers=[server])

    def lists_tool() -> bool:
        """Some connect after the first prompt; codex offers tools only by a search."""
        return "calc" in json.dumps(agent.run("hello again").request.get("tools"))

    until(lists_tool) if agent.name != "codex" else until(lambda: _is_connected(agent))


def _is_connected(agent: LiveAgent) -> bool:
    servers = value_at(agent.snapshot, "custom.session.mcpServers") or []
    return any(server.get("name") == "calc" and server.get("status") in ("connected", "ready") for server in servers)


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_codex_refuses_an_sse_server_before_it_is_started(agent: LiveAgent, models: ModelServer) -> None:
    """agents-wire mcp.sse: Codex has no such transport."""
    models.forget()
    problem = agent.refusal(mcpServers=[remote("calc", "http://127.0.0.1:9/sse", "sse")])
    assert "sse" in problem["detail"] and problem["capability"], problem
    assert not models.requests()


@pytest.mark.thorough
@pytest.mark.parametrize("agent", ["gemini"], indirect=True)
def test_gemini_resumes_a_thread_again_and_again(agent: LiveAgent) -> None:
    """agent-mux canResume: by the agent's own means, after the thread was closed and the gateway restarted."""
    agent.run(PLUMS)
    session = agent.session_id
    agent.gateway.client.post(f"/agents/gemini/threads/{agent.thread_id}/close")
    seen = agent.run("which fruit?")
    assert PLUMS in seen.asked and not seen.warnings
    agent.gateway.terminate()
    agent.gateway.start()
    seen = agent.run("and again?")
    assert PLUMS in seen.asked and "which fruit?" in seen.asked and not seen.warnings
    assert agent.session_id == session
