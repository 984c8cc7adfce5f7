"""A whole gateway mounted in another: its agents under a prefix, with their options, and never in a circle."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import define
from gateway.catalog.sections import Remote
from gateway.drivers.remote.mount import define_agents
from gateway.drivers.remote.requests import request_headers
from gateway.errors import ConfigError
from tests.behaviour.acp.harness import Stage
from tests.behaviour.remote.test_remote import shape
from tests.runs.harness import eventually
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.problem import problem_in

FAR = "https://far.example"


@dataclass(frozen=True, slots=True)
class Pair:
    far: Stage
    near: Gateway


def mount(folder: Path, name: str, url: str, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = [f'id = "{name}"', 'driver = "remote"', f'identity.name = "{name}"', "[remote]", f'url = "{url}"']
    refresh = [] if any("refresh" in line for line in lines) else ["refresh = 0.3"]
    (folder / f"{name}.toml").write_text("\n".join([*table, *refresh, *lines]) + "\n")


def ids(gateway: Gateway) -> set[str]:
    return {agent["id"] for agent in gateway.client.get("/agents").json()["agents"]}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("mounted")
    far = Stage(home / "far").agent("worker", options=["cwd", "model", "thinkingOverride", "onDisconnect"])
    (far.workspace / "inner").mkdir()
    with far:
        mount(home / "agents", "far", far.url, 'agents = "*"')
        mount(home / "agents", "some", far.url, 'agents = ["echo"]')
        with Gateway(home / "near", "--agents", str(home / "agents")) as near:
            eventually(lambda: {"far.demo", "some.echo"} <= ids(near))
            near.client.get("/agents/far.demo/capabilities", params={"probe": "1"})
            yield Pair(far, near)


def test_its_agents_appear_under_a_prefix_and_the_mount_itself_does_not(pair: Pair) -> None:
    there, here = ids(pair.far), ids(pair.near)
    assert {f"far.{name}" for name in there} <= here
    assert {name for name in here if name.startswith("some.")} == {"some.echo"}
    assert not {"far", "some"} & here


@pytest.mark.parametrize("prompt", ["hello", "think", "tool", "state", "approve"])
def test_a_mounted_agent_looks_to_the_client_like_a_local_one(pair: Pair, prompt: str) -> None:
    here = pair.near.run("far.demo", prompt, threadId=f"mounted-{prompt}")
    there = pair.far.run("demo", prompt, threadId=f"direct-{prompt}")
    assert shape(here) == shape(there)


def test_identity_capabilities_and_options_are_the_far_side_s(pair: Pair) -> None:
    here, there = (pair.near.client.get("/agents/far.demo").json(), pair.far.client.get("/agents/demo").json())
    assert here["identity"]["name"] == there["identity"]["name"]
    assert here["options"] == there["options"]
    assert here["via"] == [pair.far.client.get("/agents").json()["gateway"]]
    table = pair.near.client.get("/agents/far.demo/capabilities").json()
    own = pair.far.client.get("/agents/demo/capabilities").json()
    assert table["reasoning"] == own["reasoning"] and table["tools"] == own["tools"]


def test_a_folder_is_the_far_side_s_and_is_not_looked_for_here(pair: Pair) -> None:
    props = {"gateway": {"cwd": "inner"}}
    assert text_of(pair.near.run("far.worker", "hello", forwardedProps=props)) == "You said: hello"
    opened = pair.far.received("worker", method="session/new")[-1]["params"]
    assert opened["cwd"] == str(pair.far.workspace / "inner")
    outside = pair.near.run("far.worker", "hello", forwardedProps={"gateway": {"cwd": "/etc"}})[-1]
    assert (outside["type"], outside["code"]) == ("RUN_ERROR", "PATH_OUTSIDE_WORKSPACE")
    refused = pair.near.post("far.worker", run_input(forwardedProps={"gateway": {"mode": "plan"}}))
    problem_in(refused, 422, "CAPABILITY_ERROR")


def test_what_its_availability_is_there_it_is_here(pair: Pair) -> None:
    def missing(gateway: Gateway, prefix: str = "") -> set[str]:
        agents = gateway.client.get("/agents").json()["agents"]
        found = {one["id"] for one in agents if one["availability"]["status"] == "not-installed"}
        return {name.removeprefix(prefix) for name in found if name.startswith(prefix)}

    there = missing(pair.far)
    assert there
    eventually(lambda: missing(pair.near, "far.") == there)


def test_a_new_agent_there_is_a_new_agent_here(pair: Pair) -> None:
    body = {"driver": "acp", "command": {"run": ["nowhere"]}, "identity": {"name": "New"}}
    assert pair.far.client.put("/agents/fresh", json=body).status_code == 201
    eventually(lambda: "far.fresh" in ids(pair.near))
    pair.far.client.delete("/agents/fresh")
    eventually(lambda: "far.fresh" not in ids(pair.near))


def test_one_that_goes_down_keeps_its_agents_which_are_broken_and_comes_back(tmp_path: Path) -> None:
    with Gateway(tmp_path / "far") as far:
        mount(
            tmp_path / "agents", "far", far.url, 'agents = "*"', "retries = 0", "circuit_breaker = { cooldown = 0.2 }"
        )
        with Gateway(tmp_path / "near", "--agents", str(tmp_path / "agents")) as near:

            def status() -> Any:
                return near.client.get("/agents/far.echo").json().get("availability", {}).get("status")

            eventually(lambda: status() == "ready")
            port = far.url.rpartition(":")[2]
            far.terminate()
            eventually(lambda: status() == "broken")
            listed = near.client.get("/agents").json()["agents"]
            mounted = [one["availability"] for one in listed if one["id"].startswith("far.")]
            assert {one["status"] for one in mounted} == {"broken"}, "all of them, even without a request to each"
            assert all("cannot be reached" in one["reason"] for one in mounted)
            assert near.run("far.echo")[-1]["code"] in ("AGENT_UNREACHABLE", "AGENT_CIRCUIT_OPEN")
            with Gateway(tmp_path / "again", "--port", port) as again:
                eventually(lambda: status() == "ready")
                assert text_of(near.run("far.echo", "back")) == text_of(again.run("echo", "back"))


def test_one_that_was_never_there_is_shown_with_the_reason(tmp_path: Path) -> None:
    mount(tmp_path / "agents", "gone", "http://127.0.0.1:9", 'agents = "*"')
    with Gateway(tmp_path / "near", "--agents", str(tmp_path / "agents")) as near:
        reason = eventually(lambda: near.client.get("/agents/gone").json()["availability"].get("reason"))
        eventually(lambda: "cannot be reached" in near.client.get("/agents/gone").json()["availability"]["reason"])
        assert reason
        problem_in(near.post("gone", run_input()), 422, "AGENT_BROKEN")


def test_gateways_that_are_mounted_in_each_other_go_in_no_circle(tmp_path: Path) -> None:
    one, two = tmp_path / "one-agents", tmp_path / "two-agents"
    one.mkdir()
    two.mkdir()
    with Gateway(tmp_path / "one", "--agents", str(one)) as first:
        few = ('agents = ["echo", "mark", "one.echo", "two.echo"]', "refresh = 1")
        mount(two, "one", first.url, *few)
        with Gateway(tmp_path / "two", "--agents", str(two)) as second:
            mount(one, "two", second.url, *few)
            eventually(lambda: "two.echo" in ids(first) and "one.echo" in ids(second))
            body = {"driver": "acp", "command": {"run": ["nowhere"]}, "identity": {"name": "Mark"}}
            first.client.put("/agents/mark", json=body)
            eventually(lambda: "one.mark" in ids(second))
            second.client.put("/agents/mark", json=body)
            eventually(lambda: "two.mark" in ids(first))  # so each has listed the other with all that it has mounted
            assert [name for name in ids(first) | ids(second) if name.count(".") > 1] == []
            assert text_of(first.run("two.echo", "through")) == "through "


def test_a_run_that_was_here_before_is_refused(pair: Pair) -> None:
    own = pair.far.client.get("/agents").json()["gateway"]
    problem_in(pair.far.post("echo", run_input(), **{"agui-gateway-hops": f"x, {own}"}), 409, "GATEWAY_LOOP")
    problem_in(pair.far.post("echo", run_input(), **{"agui-gateway-hops": ", ".join("abcdefgh")}), 409, "GATEWAY_LOOP")
    assert pair.far.post("echo", run_input(), **{"agui-gateway-hops": "x"}).status_code == 200


def test_a_run_that_outlives_its_client_goes_on_there_until_it_is_stopped_here(pair: Pair) -> None:
    props = {"gateway": {"onDisconnect": "continue"}}
    with pair.near.stream("far.demo", "slow", threadId="left", forwardedProps=props) as events:
        first = next(events)
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    pair.near.client.post(f"/runs/{first['runId']}/cancel")
    eventually(lambda: pair.far.post("demo", run_input("hello", threadId="left")).status_code == 200)


# -- threads of a mounted agent, from here


def test_a_mode_that_is_set_here_is_set_there_and_both_snapshots_say_so(pair: Pair) -> None:
    table = pair.near.client.post("/agents/far.demo/threads/moved/mode", json={"mode": "plan"})
    assert table.json()["modes"]["current"] == "plan"
    for gateway, agent in ((pair.near, "far.demo"), (pair.far, "demo")):
        snapshot = gateway.client.get(f"/agents/{agent}/capabilities", params={"thread": "moved"}).json()
        assert snapshot["custom"]["session"]["modes"]["current"] == "plan"
        assert [tool["name"] for tool in snapshot["tools"]["items"]] == ["get_weather"]
    assert "I change nothing" in text_of(pair.near.run("far.demo", "approve", threadId="moved"))
    explained = pair.near.client.get("/agents/far.demo/capabilities?explain=1&thread=moved").json()["explain"]
    assert explained["humanInTheLoop.approvals"]["layer"] == "session"


def test_what_a_run_changes_there_is_seen_here_once_it_is_over(pair: Pair) -> None:
    pair.near.run("far.demo", "hello", threadId="with-mode", forwardedProps={"gateway": {"mode": "auto"}})

    def mode() -> Any:
        request = pair.near.client.get("/agents/far.demo/capabilities", params={"thread": "with-mode"}).json()
        return request["custom"]["session"]["modes"].get("current")

    assert eventually(lambda: mode() == "auto")


def test_an_error_of_the_other_gateway_has_its_own_text(pair: Pair) -> None:
    refused = pair.near.client.post("/agents/far.demo/threads/x/config", json={"id": "depth", "value": "7"})
    assert "no option 'depth'" in problem_in(refused, 422, "CAPABILITY_ERROR")["detail"]
    with pair.far.stream("demo", "slow 50", threadId="busy") as events:
        next(events)
        problem_in(
            pair.near.client.post("/agents/far.demo/threads/busy/mode", json={"mode": "ask"}), 409, "RUN_IN_PROGRESS"
        )


def test_a_thread_is_forked_and_deleted_on_both_sides(pair: Pair) -> None:
    pair.near.run("far.demo", "hello", threadId="original/1", forwardedProps={"gateway": {"mode": "auto"}})
    forked = pair.near.client.post("/agents/far.demo/threads/original%2F1/fork", json={"threadId": "copied"})
    assert forked.status_code == 201, forked.text
    assert "I need not ask" in text_of(pair.near.run("far.demo", "approve", threadId="copied"))
    assert pair.near.client.delete("/agents/far.demo/threads/original%2F1").status_code == 204
    assert pair.far.client.get("/agents/demo/threads/original%2F1").status_code == 404


def test_clients_of_one_gateway_do_not_meet_in_a_thread_of_another(tmp_path: Path) -> None:
    with Gateway(tmp_path / "far") as far:
        mount(tmp_path / "agents", "far", far.url, 'agents = ["demo"]')
        (tmp_path / "tokens").write_text("ann:ann-0123456789abcdef\nbob:bob-0123456789abcdef\n")
        (tmp_path / "tokens").chmod(0o600)
        flags = ("--agents", str(tmp_path / "agents"), "--token-file", str(tmp_path / "tokens"))
        with Gateway(tmp_path / "near", *flags) as near:
            for name in ("ann", "bob"):
                near.client.headers["authorization"] = f"Bearer {name}-0123456789abcdef"
                eventually(lambda: near.client.get("/agents/far.demo").status_code == 200)
                assert text_of(near.run("far.demo", f"I am {name}", threadId="mine")).startswith("You said")
        threads = far.client.get("/agents/demo/threads").json()["threads"]
        conversations = [
            far.client.get(f"/agents/demo/threads/{one['threadId']}").json()["messages"] for one in threads
        ]
        assert sorted(messages[0]["content"] for messages in conversations) == ["I am ann", "I am bob"]


def far(**remote: Any) -> tuple[AgentDefinition, Remote]:
    table = {"id": "far", "driver": "remote", "identity": {"name": "Far"}, "remote": {"url": FAR, **remote}}
    definition = define(table, Path("far.toml"))
    assert definition.remote is not None
    return definition, definition.remote


def test_an_option_of_a_newer_gateway_is_left_out_and_the_agent_stays() -> None:
    table = {"gateway": "g", "agents": [{"id": "worker", "options": ["cwd", "teleport", "onDisconnect"]}]}
    [agent] = define_agents(*far(agents="*"), table, "own")
    assert (agent.id, agent.options) == ("far.worker", ("cwd", "onDisconnect"))


@pytest.mark.parametrize("secret", ["two\nlines", "end\n", "schlüssel"])
def test_the_error_of_a_value_that_fits_no_header_does_not_show_it(secret: str) -> None:
    definition, remote = far(headers={"authorization": "Bearer {TOKEN}"})
    with pytest.raises(ConfigError) as caught:
        request_headers(remote, definition, {"TOKEN": secret})
    assert "remote.headers.authorization: must be one line" in caught.value.detail and secret not in caught.value.detail


@pytest.mark.parametrize(
    "path",
    [
        "models",
        "models/opus",
        "models/opus/cost?inputTokens=1000&outputTokens=10",
        "models:validate?model=opsu",
        "models/no-such-model",
        "capabilities?model=opus",
        "capabilities?view=mux",
        "capabilities?view=acp",
    ],
)
def test_what_only_the_definition_holds_is_fetched_there(pair: Pair, path: str) -> None:
    here, there = (pair.near.client.get(f"/agents/far.claude/{path}"), pair.far.client.get(f"/agents/claude/{path}"))
    assert (here.status_code, here.headers["content-type"]) == (there.status_code, there.headers["content-type"])
    assert here.json() == there.json()


@pytest.mark.parametrize("path", ["models/../threads", "models/%2e%2e/threads", "models/../../echo", "models/./x"])
def test_no_path_leads_out_of_the_agents_url(pair: Pair, path: str) -> None:
    host, _, port = pair.near.url.removeprefix("http://").partition(":")
    request = f"GET /agents/far.claude/{path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n"
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b" 404 " in answer.partition(b"\r\n")[0] and b"UNKNOWN_MODEL" in answer


@pytest.mark.parametrize("thread", ["..", ".", "../..", "a/../.."])
def test_a_thread_whose_name_is_dots_is_a_thread(pair: Pair, thread: str) -> None:
    """Deleted here, it is deleted there, and nothing else is."""
    pair.near.run("far.demo", "hello", threadId=thread)
    far = [one["threadId"] for one in pair.far.client.get("/agents/demo/threads").json()["threads"]]
    assert thread in far
    name = quote(thread, safe="").replace(".", "%2E")
    assert pair.near.client.delete(f"/agents/far.demo/threads/{name}").status_code == 204
    after = [one["threadId"] for one in pair.far.client.get("/agents/demo/threads").json()["threads"]]
    assert set(far) - set(after) == {thread}
    assert "demo" in ids(pair.far)
