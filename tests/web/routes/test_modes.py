"""Modes of an agent that is a function: each thread has its own, the snapshot says what differs, a restart keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.harness import eventually
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.problem import problem_in

MOODS = """
async def run(turn):
    yield f"in {turn.options.mode}"
"""
TOML = """
id = "moody"
driver = "python"
entry = "moody:run"
options = ["mode"]
identity.name = "Moody"

[capabilities]
human_in_the_loop.approvals = true
tools.items = [{ name = "look", description = "Looks." }, { name = "act", description = "Acts." }]

[[modes]]
id = "calm"

[[modes]]
id = "wild"
name = "Wild"
description = "Anything goes."
capabilities.human_in_the_loop.approvals = false
capabilities.tools.items = [{ name = "act", description = "" }]
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("modes")
    (home / "agents").mkdir()
    (home / "agents" / "moody.toml").write_text(TOML)
    (home / "agents" / "moody.py").write_text(MOODS)
    with Gateway(home / "gateway", "--agents", str(home / "agents")) as running:
        yield running


def snapshot(gateway: Gateway, **query: str) -> dict[str, Any]:
    body: dict[str, Any] = gateway.client.get("/agents/moody/capabilities", params=query).json()
    return body


def mode(gateway: Gateway, thread: str) -> str:
    return str(snapshot(gateway, thread=thread)["custom"]["session"]["modes"]["current"])


def test_two_threads_are_in_two_modes_and_their_snapshots_differ(gateway: Gateway) -> None:
    body = gateway.client.post("/agents/moody/threads/wild-one/mode", json={"mode": "wild"}).json()
    assert body["modes"]["current"] == "wild"
    calm, wild = snapshot(gateway, thread="calm-one"), snapshot(gateway, thread="wild-one")
    assert (mode(gateway, "calm-one"), mode(gateway, "wild-one")) == ("calm", "wild")
    assert (calm["humanInTheLoop"]["approvals"], wild["humanInTheLoop"]["approvals"]) == (True, False)
    assert [tool["name"] for tool in calm["tools"]["items"]] == ["look", "act"]
    assert wild["tools"]["items"] == [{"name": "act", "description": "Acts."}]
    explained = gateway.client.get("/agents/moody/capabilities?explain=1&thread=wild-one").json()["explain"]
    approvals = explained["humanInTheLoop.approvals"]
    assert (approvals["value"], approvals["layer"]) == (False, "session")
    assert approvals["overridden"][0]["layer"] == "profile"


def test_without_a_thread_it_says_which_there_are_and_not_which_it_is(gateway: Gateway) -> None:
    modes = snapshot(gateway)["custom"]["session"]["modes"]
    assert modes == {
        "available": [{"id": "calm"}, {"id": "wild", "name": "Wild", "description": "Anything goes."}],
    }


def test_a_run_gets_its_mode_and_may_set_it(gateway: Gateway) -> None:
    assert text_of(gateway.run("moody", threadId="r")) == "in calm"
    options = {"gateway": {"mode": "wild"}}
    assert text_of(gateway.run("moody", threadId="r", forwardedProps=options)) == "in wild"
    assert text_of(gateway.run("moody", threadId="r")) == "in wild", "it stays"


def test_a_mode_that_there_is_not_is_refused_before_anything_runs(gateway: Gateway) -> None:
    refused = gateway.post("moody", run_input(forwardedProps={"gateway": {"mode": "mad"}}))
    problem = problem_in(refused, 422, "CAPABILITY_ERROR")
    assert problem["capability"] == "custom.session.modes.available"
    assert problem["known"] == ["calm", "wild"]
    assert "moody.toml" in problem["source"]
    set_ = gateway.client.post("/agents/moody/threads/x/mode", json={"mode": "mad"})
    assert problem_in(set_, 422, "CAPABILITY_ERROR")["pointer"] == "/mode"
    for what, options in (("model", {"model": "m"}), ("config", {"id": "a", "value": "b"})):
        problem_in(gateway.client.post(f"/agents/moody/threads/x/{what}", json=options), 422, "CAPABILITY_ERROR")


def test_the_feed_of_a_thread_reports_that_its_mode_was_switched(gateway: Gateway) -> None:
    url, accept = "/agents/moody/capabilities?thread=watched", {"accept": "text/event-stream"}
    with gateway.client.stream("GET", url, headers=accept) as response:
        lines = response.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: snapshot"
        gateway.client.post("/agents/moody/threads/watched/mode", json={"mode": "wild"})
        assert next(line for line in lines if line.startswith("event:")) == "event: change"
        assert '"/humanInTheLoop/approvals"' in next(line for line in lines if line.startswith("data:"))


def test_it_outlives_the_session_and_the_gateway_and_goes_along_with_a_fork(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "moody.toml").write_text(TOML)
    (tmp_path / "agents" / "moody.py").write_text(MOODS)
    flags = ("--agents", str(tmp_path / "agents"))
    with Gateway(tmp_path / "gateway", *flags, env={"AGUI_GATEWAY_SESSION_IDLE_TIMEOUT": "0.1"}) as gateway:
        gateway.run("moody", threadId="kept")
        gateway.client.post("/agents/moody/threads/kept/mode", json={"mode": "wild"})
        eventually(lambda: not gateway.client.get("/agents/moody/threads/kept").json()["session"]["open"])
        assert mode(gateway, "kept") == "wild"
        gateway.kill()
        gateway.start()
        assert mode(gateway, "kept") == "wild"
        assert text_of(gateway.run("moody", threadId="kept")) == "in wild"
        forked = gateway.client.post("/agents/moody/threads/kept/fork", json={"threadId": "copy"})
        assert forked.status_code == 201
        assert text_of(gateway.run("moody", threadId="copy")) == "in wild"


def test_a_remote_agent_has_no_modes_in_its_file(tmp_path: Path) -> None:
    with Gateway(tmp_path) as gateway:
        remote = {"url": "http://192.0.2.1/agent"}
        named = {"identity": {"name": "X"}, "driver": "remote", "remote": remote, "modes": [{"id": "a"}]}
        problem = problem_in(gateway.client.put("/agents/x", json=named), 422, "INVALID_DEFINITION")
        assert "the agent's own gateway states them" in problem["detail"]
