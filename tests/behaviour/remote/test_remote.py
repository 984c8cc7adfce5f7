"""A gateway behind a gateway: the one in front has the other's `demo` as a remote agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import Gateway, events_of, run_input, text_of

OPTIONS = '["model", "effort", "mode", "approvals", "sessionId"]'


@dataclass(frozen=True, slots=True)
class Pair:
    far: Gateway
    near: Gateway


def definition(folder: Path, name: str, url: str, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    body = [f'id = "{name}"', 'driver = "remote"', f"options = {OPTIONS}", f'identity = {{ name = "{name}" }}']
    (folder / f"{name}.toml").write_text("\n".join([*body, "[remote]", f'url = "{url}"', *lines]) + "\n")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("pair")
    with Gateway(home / "far") as far:
        definition(home / "agents", "binary", f"{far.url}/agents/demo", 'format = "protobuf"')
        definition(home / "agents", "lines", f"{far.url}/agents/demo", 'format = "sse"')
        definition(
            home / "agents",
            "nowhere",
            "http://127.0.0.1:9/agents/x",
            "retries = 0",
            "circuit_breaker = { failures = 2 }",
        )
        definition(home / "agents", "missing", f"{far.url}/agents/unknown")
        with Gateway(home / "near", "--agents", str(home / "agents")) as near:
            for name in ("binary", "lines"):  # else a first run would report the capabilities it learns
                near.client.get(f"/agents/{name}/capabilities", params={"probe": "1"})
            yield Pair(far, near)


def shape(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Types, names and text; where deltas are cut depends on timing."""
    shapes: list[tuple[str, str]] = []
    for event in events:
        kind, prompt = event["type"], event.get("delta")
        if isinstance(prompt, str) and shapes and shapes[-1][0] == kind:
            shapes[-1] = (kind, shapes[-1][1] + prompt)
        else:
            shapes.append((kind, prompt if isinstance(prompt, str) else str(event.get("name", ""))))
    return shapes


@pytest.mark.parametrize("way", ["binary", "lines"])
@pytest.mark.parametrize("prompt", ["hello", "think", "tool", "state", "plan", "usage", "error"])
def test_a_remote_agent_looks_to_the_client_like_a_local_one(pair: Pair, way: str, prompt: str) -> None:
    here = pair.near.run(way, prompt, threadId=f"{way}-{prompt}")
    there = pair.far.run("demo", prompt, threadId=f"direct-{way}-{prompt}")
    assert shape(here) == shape(there)


@pytest.mark.parametrize("way", ["binary", "lines"])
def test_an_interrupt_of_a_remote_agent_is_answered_through_the_gateway(pair: Pair, way: str) -> None:
    thread = f"asked-{way}"
    first = run_input("approve", threadId=thread)
    first_run = events_of(pair.near.post(way, first).text)
    [interrupt] = first_run[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    body = {**run_input(threadId=thread), "messages": first["messages"], "resume": resume}
    done = events_of(pair.near.post(way, body).text)
    assert done[-1]["type"] == "RUN_FINISHED"
    assert "interrupts" not in json.dumps(done[-1])


def test_its_capabilities_are_its_own_but_for_what_this_gateway_carries(pair: Pair) -> None:
    body = pair.near.client.get("/agents/binary/capabilities", params={"probe": "1"}).json()
    own = pair.far.client.get("/agents/demo/capabilities").json()
    for category in ("tools", "reasoning", "humanInTheLoop", "state", "multimodal"):
        assert body.get(category) == own.get(category)
    explained = pair.near.client.get("/agents/binary/capabilities", params={"explain": "1"}).json()
    assert explained["explain"]["reasoning.supported"]["layer"] == "handshake"


def test_a_run_is_stopped_at_the_remote_when_it_is_stopped_here(pair: Pair) -> None:
    with pair.near.stream("binary", "slow", threadId="stopped") as events:
        first = next(events)
        assert first["type"] == "RUN_STARTED"
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        pair.near.client.post(f"/runs/{first['runId']}/cancel")
        last = list(events)[-1]
    assert last["outcome"] == {"type": "cancelled"}
    again = pair.far.run("demo", "hello", threadId="stopped")
    assert again[-1]["type"] == "RUN_FINISHED", "the thread is free there"


def test_an_endpoint_that_cannot_be_reached_is_broken_and_gets_no_requests_for_a_while(pair: Pair) -> None:
    codes = [pair.near.run("nowhere", "hello")[-1]["code"] for _ in range(3)]
    assert codes[-1] == "AGENT_CIRCUIT_OPEN"
    assert set(codes) <= {"AGENT_UNREACHABLE", "AGENT_CIRCUIT_OPEN"}
    agents = {agent["id"]: agent for agent in pair.near.client.get("/agents").json()["agents"]}
    assert agents["nowhere"]["availability"]["status"] == "broken"
    assert "in a row" in agents["nowhere"]["availability"]["reason"]


def test_an_error_of_the_remote_has_the_remotes_own_text(pair: Pair) -> None:
    last = pair.near.run("missing", "hello")[-1]
    assert last["type"] == "RUN_ERROR"
    assert last["code"] == "UNKNOWN_AGENT"
    assert "there is no agent 'unknown'" in last["message"]


def test_a_header_that_names_what_is_not_set_makes_the_agent_broken_and_no_other(tmp_path: Path) -> None:
    header = 'headers = { authorization = "Bearer {NO_KEY}" }'
    definition(tmp_path / "agents", "keyless", "http://127.0.0.1:9/x", header)
    with Gateway(tmp_path / "home", "--agents", str(tmp_path / "agents")) as gateway:
        body = gateway.client.get("/agents/keyless").json()
        assert body["availability"]["status"] == "broken"
        assert "NO_KEY is not set" in body["availability"]["reason"]
        assert text_of(gateway.run("echo", "hello"))


def test_a_token_is_read_from_the_environment_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "tokens.txt").write_text("near:sekret-token-1234567890\n")
    (tmp_path / "tokens.txt").chmod(0o600)
    with Gateway(tmp_path / "far", "--token-file", str(tmp_path / "tokens.txt")) as far:
        header = 'headers = { authorization = "Bearer {FAR_TOKEN}" }'
        definition(tmp_path / "agents", "guarded", f"{far.url}/agents/demo", header)
        env = {"FAR_TOKEN": "sekret-token-1234567890"}
        with Gateway(tmp_path / "near", "--agents", str(tmp_path / "agents"), env=env) as near:
            assert text_of(near.run("guarded", "hello"))
            for path in ("/agents/guarded", "/agents/guarded/capabilities?explain=1&probe=1"):
                assert "sekret" not in near.client.get(path).text
            assert "sekret" not in near.log.read_text()
