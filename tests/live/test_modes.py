"""The modes of real agents: each one changes what the snapshot says, and what it says is what happens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gateway.capability_paths import flatten
from gateway.catalog.load import bundled, load_file
from gateway.catalog.recorded_tools import recorded_tools
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.record_tools import offered_tools
from tests.live.selection import agents
from tests.support.gateway import Gateway, events_of, forced_sandbox, run_input

LIMIT_SECONDS = 120.0
APPROVALS = "humanInTheLoop.approvals"
INTERRUPTS = "humanInTheLoop.interrupts"
SANDBOXED = "execution.sandboxed"
CODE = "execution.codeExecution"

ASKS = {APPROVALS: True, INTERRUPTS: True, CODE: True}
ASKS_NOTHING = {APPROVALS: False, CODE: True}

LEAVES: dict[str, dict[str, dict[str, Any]]] = {
    "claude": {
        "default": ASKS,
        "acceptEdits": ASKS,
        "plan": {APPROVALS: True, CODE: False},
        "dontAsk": {APPROVALS: False, INTERRUPTS: False, "humanInTheLoop.approveWithEdits": False},
        "auto": {APPROVALS: True},
    },
    "codex": {
        "plan": {APPROVALS: True, SANDBOXED: True},
        "read-only": {APPROVALS: True, SANDBOXED: True},
        "agent": {APPROVALS: True, SANDBOXED: True},
        "auto": {APPROVALS: True, SANDBOXED: True},
        "full-access": {APPROVALS: False, INTERRUPTS: False, SANDBOXED: False},
    },
    "gemini": {
        "default": ASKS,
        "autoEdit": ASKS,
        "yolo": {**ASKS_NOTHING, INTERRUPTS: False},
        "plan": {CODE: False},
    },
    "opencode": {"build": ASKS, "plan": ASKS},
    "qwen-code": {
        "default": ASKS,
        "auto-edit": ASKS,
        "auto": ASKS,
        "yolo": ASKS_NOTHING,
        "plan": {CODE: False},
    },
    "copilot": {"interactive": ASKS, "plan": {APPROVALS: True, CODE: False}, "autopilot": ASKS},
}
"""Agent → mode → what its snapshot says."""
NO_WRITES = {"copilot": "plan", "gemini": "plan", "opencode": "plan", "qwen-code": "plan"}
"""Agent → a mode in which it changes no file, and does not ask whether it may."""
SETTINGS = {"gemini": "yolo", "opencode": "plan", "claude": "plan", "codex": "full-access", "copilot": "plan"}
"""Agent → a mode to set between runs."""

pytestmark = pytest.mark.live


@dataclass(frozen=True, slots=True)
class Outcome:
    is_interrupted: bool
    has_file: bool


@dataclass(frozen=True, slots=True)
class Bench:
    """One agent behind a gateway, with its model."""

    agent: str
    gateway: Gateway
    models: ModelServer
    work: Path

    def run(self, thread: str, text: str = "hello", mode: str | None = None) -> list[dict[str, Any]]:
        props = {} if mode is None else {"gateway": {"mode": mode}}
        response = self.gateway.post(self.agent, run_input(text, threadId=thread, forwardedProps=props))
        assert response.status_code == 200, response.text
        events = events_of(response.text)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        return events

    def leaves(self, thread: str) -> dict[str, Any]:
        response = self.gateway.client.get(f"/agents/{self.agent}/capabilities", params={"thread": thread})
        return flatten(response.json())

    def try_line(self, mode: str, line: str, file: Path) -> Outcome:
        """On a line of its own: some agents put their own words before the user's."""
        thread = f"{mode}-{file.name}"
        outcome = self.run(thread, f"please\n{line}", mode)[-1].get("outcome") or {}
        return Outcome(outcome.get("type") == "interrupt", file.exists())


@contextmanager
def bench(agent: str, home: Path) -> Iterator[Bench]:
    with ModelServer() as models, bundled_behind_gateway(agent, models.url, home) as gateway:
        gateway.client.timeout = LIMIT_SECONDS
        if agent == "opencode":
            forget_permissions(home / "home/.config/opencode/opencode.json")
        yield Bench(agent, gateway, models, home / "work")


def forget_permissions(config: Path) -> None:
    """A user's own rules would hold in every mode; the gateway asks without them."""
    settings = json.loads(config.read_text())
    del settings["permission"]
    config.write_text(json.dumps(settings))


every_agent = pytest.mark.parametrize("agent", agents(tuple(LEAVES), {"claude", "codex"}))


@every_agent
def test_what_the_snapshot_of_each_mode_says_is_what_happens(agent: str, tmp_path: Path) -> None:
    with bench(agent, tmp_path) as tried:
        for mode, leaves in LEAVES[agent].items():
            shell, written = tried.work / f"shell-{mode}.txt", tried.work / f"written-{mode}.txt"
            by_shell = tried.try_line(mode, f"SHELL touch {shell}", shell)
            by_writing = tried.try_line(mode, f"WRITE {written} hi", written)
            found = tried.leaves(f"{mode}-{shell.name}")
            leaves = {**leaves, SANDBOXED: True} if forced_sandbox() else leaves
            assert {path: found.get(path) for path in leaves} == leaves, mode
            if found[APPROVALS] is False:
                assert not by_shell.is_interrupted and not by_writing.is_interrupted, mode
            if found[CODE] is False:
                assert by_shell == Outcome(is_interrupted=False, has_file=False), mode
            if NO_WRITES.get(agent) == mode:
                assert by_writing == Outcome(is_interrupted=False, has_file=False), mode
            assert not (by_shell.is_interrupted and by_shell.has_file), mode
        listed = tried.leaves(f"{mode}-{shell.name}")["custom.session.modes.available"]
        assert {each["id"] for each in listed} == set(LEAVES[agent])
        assert all(each.get("name") for each in listed)


@every_agent
def test_the_recorded_tools_are_those_that_the_model_gets(agent: str, tmp_path: Path) -> None:
    recorded = recorded_tools(load_file(bundled() / f"{agent}.toml"))
    assert recorded is not None
    with bench(agent, tmp_path) as tried:
        for mode in LEAVES[agent]:
            tried.models.forget()
            tried.run(f"tools-{mode}", mode=mode)
            offered = offered_tools(tried.models.requests())
            items = tried.leaves(f"tools-{mode}")["tools.items"]
            assert {item["name"] for item in items} == set(offered), mode
            schemas = {item["name"]: item["parameters"] for item in items}
            assert schemas == {name: schema for name, (_, schema) in offered.items()}, mode
            assert all(item["description"] for item in items)


@pytest.mark.parametrize("agent", agents(tuple(SETTINGS), {"opencode"}))
def test_a_mode_is_set_at_once_or_refused_with_the_modes_there_are(agent: str, tmp_path: Path) -> None:
    with bench(agent, tmp_path) as tried:
        client, address = tried.gateway.client, f"/agents/{agent}/threads/t/mode"
        tried.run("t")
        before = client.get(f"/agents/{agent}/capabilities?thread=t")
        refused = client.post(address, json={"mode": "zz"})
        assert refused.status_code == 422, refused.text
        assert set(refused.json()["known"]) == set(LEAVES[agent])
        assert refused.json()["agent"] == agent
        by_run = tried.gateway.post(agent, run_input(threadId="t", forwardedProps={"gateway": {"mode": "zz"}}))
        assert (by_run.status_code, by_run.json()["code"]) == (422, "CAPABILITY_ERROR")
        first = tried.gateway.post(agent, run_input(threadId="new", forwardedProps={"gateway": {"mode": "zz"}}))
        assert "CAPABILITY_ERROR" in first.text, "a run that opens the session is refused too, and does not hang"
        mode = SETTINGS[agent]
        answer = client.post(address, json={"mode": mode})
        assert answer.status_code == 200, answer.text
        assert answer.json()["modes"]["current"] == mode
        after = client.get(f"/agents/{agent}/capabilities?thread=t")
        assert flatten(after.json())["custom.session.modes.current"] == mode
        assert after.headers["etag"] != before.headers["etag"]
        leaves = LEAVES[agent][mode]
        assert {path: flatten(after.json()).get(path) for path in leaves} == leaves
        tried.run("t")  # and the next run goes on in it
        assert tried.leaves("t")["custom.session.modes.current"] == mode


@pytest.mark.skipif(forced_sandbox() is not None, reason="the gateway's sandbox does not let it out")
def test_codex_with_full_access_writes_outside_the_workspace_without_a_question(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with bench("codex", tmp_path) as tried:
        file = outside / "out.txt"
        assert tried.try_line("full-access", f"WRITE {file} hi", file) == Outcome(is_interrupted=False, has_file=True)
        kept = outside / "kept.txt"
        assert tried.try_line("agent", f"WRITE {kept} hi", kept) == Outcome(is_interrupted=True, has_file=False)
