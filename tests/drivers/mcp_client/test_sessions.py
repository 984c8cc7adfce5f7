"""Sessions with MCP servers, through a real gateway: what their snapshots list, how soon, and what remains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from tests.behaviour.acp.harness import OPTIONS, Stage, Talk
from tests.drivers.mcp_client.servers import pids, remote, serving, stdio
from tests.drivers.process_watch import alive, running, until
from tests.web.feed_reader import watching

CHANGE_SECONDS = 0.25
"""Until a change is in the feed: what the gateway promises."""
BUSY_FACTOR = 8
"""How many times slower a machine may be that runs all tests at once."""
SECRET = "hunter2hunter2"


def make_stage(home: Path, **settings: Any) -> Stage:
    """The agent's own instances of the servers are quick, whatever the gateway's instances are."""
    stage = Stage(home, **settings)
    for name, flags, more in (("plain", ("--full",), {}), ("named", (), {"mcp_tool_names": "mcp__{server}__{tool}"})):
        command = stage.command(name, *flags)
        command["env"]["FOR_THE_AGENT"] = "yes"
        stage.agent(name, *flags, command=command, options=[*OPTIONS, "mcpServers"], **more)
    return stage


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with make_stage(tmp_path_factory.mktemp("mcp"), allow_private_addresses=True) as started_stage:
        yield started_stage


def snapshot(talk: Talk, *more: str) -> dict[str, Any]:
    body: dict[str, Any] = talk.stage.asks("&".join((f"/agents/{talk.agent}/capabilities?thread={talk.id}", *more)))
    return body


def servers(talk: Talk) -> dict[str, Any]:
    body: dict[str, Any] = snapshot(talk)["custom"].get("gateway", {}).get("mcp", {})
    return body


def items(talk: Talk) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in snapshot(talk).get("tools", {}).get("items", [])}


def wait_until_known(talk: Talk) -> dict[str, Any]:
    until(lambda: {one["status"] for one in servers(talk).values()} <= {"connected", "failed"})
    return servers(talk)


def test_a_threads_snapshot_lists_the_tools_of_its_servers_with_their_schemas(stage: Stage) -> None:
    with serving("--http") as url:
        talk = Talk(
            stage, "plain", mcpServers=[stdio("calc", "--tools=2"), remote("web.calc", url), stdio("bad", "--crash")]
        )
        talk.say("hello")
        states = wait_until_known(talk)
        tree = snapshot(talk)
        assert {name: one["status"] for name, one in states.items()} == {
            "calc": "connected",
            "web.calc": "connected",
            "bad": "failed",
        }
        assert states["bad"]["reason"] == "it exited with code 1: the cellar is flooded, reports an unknown user"
        assert (states["calc"]["tools"], states["calc"]["transport"], states["web.calc"]["transport"]) == (
            2,
            "stdio",
            "http",
        )
        tools = AgentCapabilities.model_validate(tree, strict=True).tools
        assert tools is not None
        assert tools.items is not None
        assert [tool.name for tool in tools.items] == ["add", "tool1", "mcp__web_calc__add"]
        assert all((tool.parameters or {})["required"] == ["a", "b"] for tool in tools.items)
        explained = snapshot(talk, "explain=1")["explain"]["tools.items"]
        assert (explained["layer"], explained["source"]) == ("session", "tools/list of its MCP servers")


def test_each_thread_has_its_own_servers_and_the_agent_itself_has_none(stage: Stage) -> None:
    one = Talk(stage, "named", mcpServers=[stdio("calc")])
    other = Talk(stage, "named", mcpServers=[stdio("maths", "--tools=2")])
    none = Talk(stage, "named")
    for talk in (one, other, none):
        talk.say("hello")
    wait_until_known(one)
    wait_until_known(other)
    assert list(items(one)) == ["mcp__calc__add"]
    assert list(items(other)) == ["mcp__maths__add", "mcp__maths__tool1"]
    assert items(none) == {}
    assert "items" not in stage.asks("/agents/named/capabilities").get("tools", {})


def test_a_called_tool_is_listed_as_seen_if_the_call_names_it(stage: Stage) -> None:
    talk = Talk(stage, "plain", mcpServers=[stdio("calc", "--hang")])
    talk.say("use claude anything")
    assert items(talk)["mcp__calc__anything"] == {
        "name": "mcp__calc__anything",
        "description": "",
        "metadata": {"gateway": {"source": "seen"}},
    }
    talk.say("tools")
    assert list(items(talk)) == ["mcp__calc__anything"]


def test_a_change_of_tools_reaches_the_feed_of_the_thread(stage: Stage, tmp_path: Path) -> None:
    more = tmp_path / "more"
    talk = Talk(stage, "named", mcpServers=[stdio("calc", f"--more={more}")])
    talk.say("hello")
    wait_until_known(talk)
    with watching(stage, f"/agents/named/capabilities?thread={talk.id}") as feed:
        before = next(feed)
        more.write_text("sub")
        started_at = time.monotonic()
        update = next(feed)
        seconds = time.monotonic() - started_at
    assert update.follows(before)
    assert [item["name"] for item in update.snapshot["tools"]["items"]] == ["mcp__calc__add", "mcp__calc__sub"]
    assert update.snapshot["custom"]["gateway"]["mcp"]["calc"]["tools"] == 2
    assert seconds < CHANGE_SECONDS * BUSY_FACTOR


def test_a_change_of_tools_is_an_event_of_the_run(stage: Stage, tmp_path: Path) -> None:
    more = tmp_path / "more"
    talk = Talk(stage, "named", mcpServers=[stdio("calc", f"--more={more}")])
    talk.say("hello")
    wait_until_known(talk)
    with talk.streaming("slow") as events:
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        more.write_text("sub")
        states = next(event for event in events if event.get("name") == "capabilities.changed")
    [now] = [one["value"] for one in states["value"]["patch"] if one["path"] == "/tools/items"]
    assert [item["name"] for item in now] == ["mcp__calc__add", "mcp__calc__sub"]


def test_a_server_that_hangs_delays_neither_a_run_nor_a_snapshot(stage: Stage) -> None:
    talk = Talk(stage, "plain", mcpServers=[stdio("calc", "--hang")])
    talk.say("hello")
    talk.say("hello again")
    assert servers(talk)["calc"] == {"status": "connecting", "transport": "stdio", "source": "gateway"}
    assert "items" not in snapshot(talk).get("tools", {})


def test_a_secret_is_neither_shown_nor_logged(tmp_path: Path) -> None:
    configured = [
        stdio("calc", "--crash", WHO=SECRET),
        remote("web", f"http://127.0.0.1:9/mcp?key={SECRET}", authorization=f"Bearer {SECRET}"),
        remote("odd", "http://127.0.0.1:9/mcp", x_key=f"{SECRET}\n"),
    ]
    with make_stage(tmp_path, allow_private_addresses=True) as stage:
        stage.asks("/agents/plain/capabilities?probe=1")
        talk = Talk(stage, "plain", mcpServers=configured)
        talk.say("hello")
        assert {one["status"] for one in wait_until_known(talk).values()} == {"failed"}
        assert SECRET not in str(snapshot(talk))
        assert SECRET not in str(snapshot(talk, "explain=1"))
    assert SECRET not in stage.log.read_text()


def test_a_closed_thread_has_no_server_running(stage: Stage, tmp_path: Path) -> None:
    note = tmp_path / "note"
    talk = Talk(stage, "plain", mcpServers=[stdio("calc", f"--note={note}")])
    talk.say("hello")
    wait_until_known(talk)
    assert all(map(alive, pids(note)))
    stage.asks(f"{talk.path}/close", {})
    until(lambda: not any(map(alive, pids(note))))
    assert servers(talk) == {}


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_gateway_that_ends_has_no_server_running(tmp_path: Path, end: str) -> None:
    note = tmp_path / "note"
    with make_stage(tmp_path / "home") as stage:
        talk = Talk(stage, "plain", mcpServers=[stdio("calc", "--child", f"--note={note}")])
        talk.say("hello")
        wait_until_known(talk)
        assert len(pids(note)) == len(running(str(note))) == 1
        getattr(stage, end)()
        until(lambda: not any(map(alive, pids(note))) and not running(str(note)))
