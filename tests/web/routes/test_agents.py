"""`GET /`, `GET /agents`, `GET /agents/{agent}`: what there is, and whether it works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway import __version__
from tests.support.gateway import Gateway, run_input
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in


def test_the_front_page_leads_on(gateway: Gateway) -> None:
    page = gateway.client.get("/").json()
    assert (page["name"], page["version"]) == ("agui-gateway", __version__)
    assert page["agents"]["echo"] == "/agents/echo"
    assert gateway.client.get(page["agents"]["echo"]).status_code == 200
    assert any("/capabilities" in route for route in page["routes"])


def test_the_agents_are_listed_as_they_are_shown_one_by_one(gateway: Gateway) -> None:
    listed = gateway.client.get("/agents").json()["agents"]
    assert {"demo", "echo"} <= {agent["id"] for agent in listed}
    assert [gateway.client.get(f"/agents/{agent['id']}").json() for agent in listed] == listed


def test_an_agent_is_shown_with_what_a_list_needs(gateway: Gateway) -> None:
    shown = gateway.client.get("/agents/echo").json()
    assert shown["identity"]["name"] == "Echo"
    assert shown["availability"] == {"status": "ready"}
    named = {name: f"/agents/echo/{name}" for name in ("capabilities", "models", "threads", "install")}
    assert shown["links"] == {"run": "/agents/echo", **named}
    assert gateway.client.get(shown["links"]["capabilities"]).json()["identity"] == shown["identity"]


@pytest.mark.parametrize("path", ["/", "/agents", "/agents/echo", "/agents/echo/capabilities", "/healthz"])
def test_a_head_request_is_a_get_without_a_body(gateway: Gateway, path: str) -> None:
    get, head = gateway.client.get(path), gateway.client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"]


def test_an_unknown_agent_is_answered_with_the_known_ones(gateway: Gateway) -> None:
    detail = problem_in(gateway.client.get("/agents/ghost"), 404, "UNKNOWN_AGENT")["detail"]
    assert "demo" in detail and "echo" in detail


@pytest.mark.parametrize("name", ["%2e%2e", "a%2Fb", "ECHO", "echo%20", "é", "x" * 2000])
def test_a_name_that_no_agent_can_have_is_simply_unknown(gateway: Gateway, name: str) -> None:
    assert gateway.client.get(f"/agents/{name}").status_code == 404


# -- a user's own folder


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("own")
    write_agent(home / "agents", "mine", "async def agent(turn):\n    yield 'mine'\n")
    write_agent(home / "agents", "echo", "async def agent(turn):\n    yield 'not the bundled one'\n", name="Louder")
    write_agent(home / "agents", "typo", "async def agent(turn)\n    yield 'never'\n")
    (home / "agents" / "lost.toml").write_text(
        'id = "lost"\ndriver = "python"\nentry = "nowhere:agent"\nidentity = { name = "Lost" }\n', "utf-8"
    )
    with Gateway(home, "--agents", str(home / "agents")) as running:
        yield running


def test_a_folder_of_one_s_own_comes_beside_the_bundled_one(own: Gateway) -> None:
    assert {"demo", "echo", "mine"} <= {agent["id"] for agent in own.client.get("/agents").json()["agents"]}
    assert "mine" in own.post("mine", run_input()).text


def test_the_same_id_replaces_the_bundled_agent(own: Gateway) -> None:
    assert own.client.get("/agents/echo").json()["identity"]["name"] == "Louder"
    assert "not the bundled one" in own.post("echo", run_input()).text


@pytest.mark.parametrize(("agent", "reason"), [("typo", "SyntaxError"), ("lost", "nowhere")])
def test_a_broken_agent_is_listed_with_the_reason(own: Gateway, agent: str, reason: str) -> None:
    availability = own.client.get(f"/agents/{agent}").json()["availability"]
    assert availability["status"] == "broken"
    assert reason in availability["reason"] and f"{agent}.toml" in availability["reason"]
    assert availability["hint"]


@pytest.mark.parametrize("path", ["/agents/typo", "/copilotkit/agent/typo/run"])
def test_a_broken_agent_does_not_run_and_says_why(own: Gateway, path: str) -> None:
    problem = problem_in(own.client.post(path, json=run_input()), 422, "AGENT_BROKEN")
    assert "SyntaxError" in problem["detail"]


# -- health


def test_the_process_answers(gateway: Gateway) -> None:
    assert gateway.client.get("/healthz").json() == {"status": "ok"}


def test_it_would_take_a_run(gateway: Gateway) -> None:
    ready = gateway.client.get("/readyz").json()
    assert (ready["status"], ready["agents"]) == ("ready", len(gateway.client.get("/agents").json()["agents"]))
    with gateway.stream("demo", "slow 600") as events:
        next(events)
        assert gateway.client.get("/readyz").json()["runs"] == ready["runs"] + 1
