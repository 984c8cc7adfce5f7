"""Whether an ACP agent uses client tools shows when it asks the gateway's MCP server for them, and is stated then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.acp.harness import Stage, Talk, json_of, warnings_of
from tests.behaviour.acp.test_client_tools import CARD, ClientWithTools

CLIENT_TOOLS = "tools.clientProvided"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("listing"))
    stage.agent("plain").agent("ignores", "--no-mcp").agent("late", "--late-mcp").agent("second", "--second")
    stage.agent("second-ignores", "--second", "--no-mcp", acp={"protocol": 2})
    stage.agent("table", "--one-table", acp={"client_tools_server": "unique"})
    stage.agent("claims", "--no-mcp", capabilities={"tools": {"client_provided": True}})
    with stage:
        yield stage


def stated(stage: Stage, agent: str, talk: Talk | None = None) -> object:
    thread = "" if talk is None else f"?thread={talk.id}"
    return stage.asks(f"/agents/{agent}/capabilities{thread}").get("tools", {}).get("clientProvided")


def test_an_agent_that_nobody_profiled_claims_nothing_before_a_session_listed_the_tools(stage: Stage) -> None:
    stage.asks("/agents/plain/capabilities?probe=1")
    assert stated(stage, "plain") is None
    talk = ClientWithTools(stage, "plain", CARD)
    assert not warnings_of(talk.say("hello"))
    assert stated(stage, "plain", talk) is True
    explained = stage.asks(f"/agents/plain/capabilities?explain=1&thread={talk.id}")["explain"]
    assert explained[CLIENT_TOOLS]["layer"] == "session"


def test_a_session_without_tools_shows_nothing_of_them(stage: Stage) -> None:
    talk = Talk(stage, "plain")
    talk.say("hello")
    assert stated(stage, "plain", talk) is None


@pytest.mark.parametrize("agent", ["ignores", "second-ignores", "claims"])
def test_an_agent_that_never_lists_them_is_reported_once_and_the_session_states_it(stage: Stage, agent: str) -> None:
    talk = ClientWithTools(stage, agent, CARD)
    assert warnings_of(talk.say("hello")) == ["TOOLS_DROPPED"]
    assert stated(stage, agent, talk) is False
    assert not warnings_of(talk.say("again"))


def test_a_first_prompt_waits_for_an_agent_that_starts_its_servers_beside_it(stage: Stage) -> None:
    talk = ClientWithTools(stage, "late", CARD)
    events = talk.say("list")
    assert json_of(events) == {"agui": ["show_card"]}
    assert not warnings_of(events)


def test_every_thread_may_bring_tools_to_an_agent_with_one_table_of_servers(stage: Stage) -> None:
    """fast-agent refused every further thread: its server had the same name and another socket."""
    names = set()
    for _ in range(3):
        talk = ClientWithTools(stage, "table", CARD)
        [(name, tools)] = json_of(talk.say("list")).items()
        assert tools == ["show_card"]
        names.add(name)
    assert len(names) == 3
    assert len(stage.received("table", method="initialize")) == 1, "all of them in one process"


def test_other_agents_know_the_server_by_the_same_name(stage: Stage) -> None:
    for _ in range(2):
        assert json_of(ClientWithTools(stage, "plain", CARD).say("list")) == {"agui": ["show_card"]}
