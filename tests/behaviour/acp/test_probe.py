"""Whether an agent can run here, and when it is probed before its first run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk, outcome_of, pid_of
from tests.runs.harness import eventually
from tests.support.gateway import text_of

SLOW = 1.5


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """These agents have not been started yet."""
    stage = Stage(tmp_path_factory.mktemp("house"))
    signs = [{"kind": "env", "name": "NOBODY_SETS_THIS"}, {"kind": "file", "name": "/no/such/file", "hint": "Sign in"}]
    stage.agent("slow", f"--slow-start={SLOW}", capabilities={"multimodal": {"input": {"audio": True}}})
    stage.agent("many").agent("never", "--never-initialize", acp={"start_timeout": 0.5}).agent("listed")
    stage.agent("missing", command={"run": ["no-such-agent"]}, install=[{"kind": "npm", "package": "@scope/agent"}])
    stage.agent("unset", auth=signs)
    stage.agent("set", auth=[{"kind": "env", "name": "PATH"}, *signs])
    stage.agent("checked", auth=[{"kind": "command", "run": ["false"], "hint": "Run `login`"}])
    with stage:
        yield stage


def availability(stage: Stage, agent: str) -> dict[str, Any]:
    found: dict[str, Any] = stage.asks(f"/agents/{agent}")["availability"]
    return found


def starts(stage: Stage, agent: str) -> int:
    return len(stage.received(agent, method="initialize"))


def test_an_agent_that_never_ran_is_described_at_once_and_probed_in_the_background(gateway: Stage) -> None:
    began = time.monotonic()
    first = gateway.asks("/agents/slow/capabilities")
    assert time.monotonic() - began < SLOW
    assert (first["identity"]["name"], first["multimodal"]["input"]["audio"]) == ("slow", True)
    known = eventually(lambda: gateway.asks("/agents/slow/capabilities").get("custom", {}).get("acp"))
    assert known["loadSession"] is True
    found = gateway.asks("/agents/slow/capabilities")
    assert (found["identity"]["name"], found["multimodal"]["input"]["audio"]) == ("slow", False)
    assert starts(gateway, "slow") == 1


def test_with_probe_it_answers_after_the_handshake(gateway: Stage) -> None:
    """All who ask meanwhile wait for the same process. It ignores projects, so a session in a trusted folder gets
    another."""
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: gateway.asks("/agents/many/capabilities?probe=1"), range(4)))
    assert all(answer["custom"]["acp"]["closeSession"] for answer in found)
    assert starts(gateway, "many") == 1
    talk = Talk(gateway, "many")
    talk.say("hello")
    assert starts(gateway, "many") == 2
    assert pid_of(talk.session) in gateway.processes("many")


def test_the_list_of_agents_starts_none(gateway: Stage) -> None:
    names = {agent["id"] for agent in gateway.asks("/agents")["agents"]}
    assert {"slow", "many", "never", "missing", "unset", "listed"} <= names
    assert starts(gateway, "listed") == 0


def test_an_agent_that_is_not_installed_has_the_install_command(gateway: Stage) -> None:
    assert availability(gateway, "missing") == {
        "status": "not-installed",
        "reason": "'no-such-agent' is not on the PATH",
        "hint": "npm install -g @scope/agent",
    }
    assert gateway.asks("/agents/missing/capabilities")["identity"]["name"] == "missing"
    probed = gateway.asks("/agents/missing/capabilities?probe=1")
    assert probed["custom"]["gateway"]["availability"]["status"] == "not-installed"


@pytest.mark.parametrize(("agent", "hint"), [("unset", "Sign in"), ("checked", "Run `login`")])
def test_an_agent_that_needs_a_sign_in_has_a_hint(gateway: Stage, agent: str, hint: str) -> None:
    found = availability(gateway, agent)
    assert (found["status"], found["hint"]) == ("needs-auth", hint)


def test_one_sign_is_enough(gateway: Stage) -> None:
    assert availability(gateway, "set") == {"status": "ready"}


def test_an_agent_that_does_not_start_is_broken_with_the_reason(gateway: Stage) -> None:
    assert availability(gateway, "never") == {"status": "ready"}
    assert gateway.asks("/agents/never/capabilities?probe=1", status=502)["code"] == "AGENT_STALLED"
    found = availability(gateway, "never")
    assert (found["status"], "initialize" in found["reason"]) == ("broken", True)


def test_an_agent_that_starts_again_is_ready(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    stage = Stage(tmp_path)
    stage.agent("plain")
    run = stage.command("plain")["run"]
    line = f'[ -e {gate} ] && exec "$0" "$@"; echo "no gate" >&2; exit 7'
    stage.agent("plain", command=stage.command("plain") | {"run": ["/bin/sh", "-c", line, *run]})
    with stage:
        events = Talk(stage).say("hello")
        assert (outcome_of(events), "no gate" in events[-1]["message"]) == ("AGENT_DIED", True)
        assert availability(stage, "plain")["status"] == "broken"
        gate.touch()
        assert text_of(Talk(stage).say("hello")) == "You said: hello"
        assert availability(stage, "plain") == {"status": "ready"}
