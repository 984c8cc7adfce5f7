"""Each option of a run with pi, omp and Hermes: it arrives in the request that their model gets, or in their command
line; what an agent cannot take is refused before anything starts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.drivers.process_watch import until
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import mcp_server_in
from tests.live.option_checks import LiveAgent, live_agent, write_skill
from tests.live.selection import LARGE, agents
from tests.support.gateway import events_of

AGENTS = ("pi", "hermes", "omp")
ALWAYS = tuple(name for name in AGENTS if name not in LARGE)

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def live(
    request: pytest.FixtureRequest, models: ModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveAgent]:
    name: str = request.param
    home = tmp_path_factory.mktemp(name)
    settings = home / "gateway.toml"
    settings.write_text("allow_private_addresses = true\n")  # nobody is at the address of the server
    with live_agent(name, models, home, "--config", str(settings)) as agent:
        add_model(agent)
        yield agent


every = pytest.mark.parametrize("live", agents(AGENTS, ALWAYS), indirect=True)


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("live", agents(names, ALWAYS), indirect=True)


def add_model(agent: LiveAgent) -> None:
    """A second one, so that a choice can be seen. Hermes takes any name."""
    files = {"pi": ".pi/agent/models.json", "omp": ".omp/agent/models.yml"}
    if agent.name in files:
        file = agent.home / "home" / files[agent.name]
        text = file.read_text()
        if agent.name == "pi":
            table = json.loads(text)
            [provider] = table["providers"].values()
            provider["models"].append({**provider["models"][0], "id": "other-model", "name": "Other"})
            file.write_text(json.dumps(table))
        else:
            head, dash, entry = text.partition("      - ")
            other = entry.replace("scripted-model", "other-model")
            file.write_text(f"{head}{dash}{entry}{dash}{other}")


@every
def test_the_model(live: LiveAgent) -> None:
    live.new_thread()
    name = "other-model" if live.name == "hermes" else "scripted/other-model"
    assert live.run(model=name).request["model"] == "other-model"


@every
@pytest.mark.parametrize("level", ["low", "high"])
def test_the_effort(live: LiveAgent, level: str) -> None:
    live.new_thread()
    assert live.run(effort=level).request["reasoning_effort"] == level


@every
def test_the_override_of_the_effort(live: LiveAgent) -> None:
    live.new_thread()
    parameter = "reasoning" if live.name == "hermes" else "thinking"
    assert live.run(effort="high", thinkingOverride={parameter: "low"}).request["reasoning_effort"] == "low"


@every
def test_the_directory(live: LiveAgent) -> None:
    live.new_thread()
    (live.workspace / "below").mkdir(exist_ok=True)
    seen = live.run("SHELL pwd", cwd="below", approvals="auto")
    assert str(live.workspace / "below") in json.dumps(seen.requests[-1])


@every
@pytest.mark.parametrize(("policy", "is_run"), [("auto", True), ("deny", False)])
def test_the_approvals(live: LiveAgent, policy: str, is_run: bool) -> None:
    live.new_thread()
    file = f"{policy}.txt"
    harmless = "" if live.name != "hermes" else "rm -rf none; "  # it asks only about what looks dangerous
    live.run(f"SHELL {harmless}touch {file}", approvals=policy)
    assert (live.workspace / file).exists() is is_run


@every
def test_a_session_is_continued_in_another_thread(live: LiveAgent) -> None:
    live.new_thread()
    live.run("the word is QUINCE")
    session_id = live.session_id
    live.gateway.client.post(f"/agents/{live.name}/threads/{live.thread_id}/close").raise_for_status()
    live.new_thread()
    assert "QUINCE" in live.run("which word?", sessionId=session_id).asked
    assert live.session_id == session_id


@every
def test_a_session_is_continued_in_a_copy(live: LiveAgent) -> None:
    live.new_thread()
    live.run("the word is MEDLAR")
    session_id = live.session_id
    live.new_thread()
    assert "MEDLAR" in live.run("which word?", forkSessionId=session_id).asked
    assert live.session_id != session_id


@every
def test_a_skill_by_its_directory(live: LiveAgent) -> None:
    live.new_thread()
    skill = write_skill(live.workspace / "skills" / "heron-notes", "heron-notes", "Always mention the HERONRY.")
    seen = live.run("hello", skills=[str(skill)])
    listed = "HERONRY" in seen.asked or "heron-notes" in seen.asked
    assert listed, "its instructions, or where the model can read them"


@every
def test_a_skill_that_the_agent_has_by_its_name(live: LiveAgent) -> None:
    live.new_thread()
    folder = {"pi": ".pi/agent/skills", "hermes": ".hermes/skills", "omp": ".omp/agent/skills"}[live.name]
    write_skill(live.home / "home" / folder / "otter-notes", "otter-notes", "Always mention the HOLT.")
    assert "HOLT" in live.run("hello", skills=["otter-notes"]).asked


@only("hermes")
def test_a_skill_that_hermes_does_not_have_is_an_error(live: LiveAgent) -> None:
    live.new_thread()
    last = events_of(live.post("hello", skills=["no-such-skill"]).text)[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "SKILL_NOT_FOUND")


@only("pi", "omp")
def test_an_mcp_server(live: LiveAgent) -> None:
    live.new_thread()
    server = mcp_server_in(live.workspace)
    name = {"pi": "mcp__one__say", "omp": "mcp__one_say"}[live.name]
    seen = next(each for each in (live.run(mcpServers=[server]) for _ in range(5)) if name in each.asked)  # it connects
    assert any("mcp_server.py" in line for line in seen.command_lines)
    words = 'WRITE xd://mcp__one_say {"text": "hi"}' if live.name == "omp" else 'CALL say {"text": "hi"}'
    called = live.run(f"{words}\n", mcpServers=[server], approvals="auto")
    assert "say: hi" in json.dumps(called.events), "its tool was called"


@only("omp")
def test_omp_gets_no_header_that_it_would_run(live: LiveAgent) -> None:
    live.new_thread()
    headers = [{"name": "authorization", "value": f"!touch {live.workspace / 'ran.txt'}"}]
    server = {"type": "http", "name": "web", "url": "http://127.0.0.1:9/mcp", "headers": headers}
    last = events_of(live.post("hello", mcpServers=[server]).text)[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "INVALID_INPUT")
    assert "would not take literally" in last["message"]
    assert not (live.workspace / "ran.txt").exists()


@only("omp")
def test_further_directories(live: LiveAgent) -> None:
    live.new_thread()
    (live.workspace / "beside").mkdir(exist_ok=True)
    seen = live.run(additionalDirectories=["beside"])
    assert any(f"--add-dir {live.workspace / 'beside'}" in line for line in seen.command_lines)


@every
def test_what_the_agent_cannot_take_is_refused(live: LiveAgent) -> None:
    refused = {"outputSchema": {"type": "object"}, "outputFormat": "json", "maxTurns": 3, "thinkingBudgetTokens": 2000}
    if live.name == "hermes":
        refused["mcpServers"] = [mcp_server_in(live.workspace)]
    for option, value in refused.items():
        problem = live.refusal(**{option: value})
        assert problem["code"] == "CAPABILITY_ERROR", (option, problem)
        assert problem["agent"] == live.name
        assert problem["capability"] and problem["pointer"] == f"/forwardedProps/gateway/{option}"


@only("hermes")
def test_hermes_offers_its_memory(live: LiveAgent) -> None:
    live.new_thread()
    tools = [tool["function"]["name"] for tool in live.run().request["tools"]]
    assert "memory" in tools and live.snapshot["state"]["memory"] is True


@only("hermes")
def test_a_message_posted_to_a_thread_reaches_the_tool_at_work(live: LiveAgent) -> None:
    live.new_thread()
    live.run()
    posted = {"message": {"id": "m1", "content": "mind the GAP"}, "delivery": "next-tool-call"}
    events = []
    with live.gateway.stream(live.name, "SHELL sleep 3; seq 200", threadId=live.thread_id) as stream:
        for event in stream:
            events.append(event)
            if event["type"] == "TOOL_CALL_START":
                told = live.gateway.client.post(f"/agents/{live.name}/threads/{live.thread_id}/messages", json=posted)
                assert told.status_code == 202, told.text
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    assert any(event.get("messageId") == "m1" and event["type"] == "TEXT_MESSAGE_START" for event in events)
    until(lambda: any("mind the GAP" in json.dumps(request["body"]) for request in live.models.requests()))
