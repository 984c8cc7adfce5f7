"""agent-mux §8.4 and §11, row by row (`rows/agent_mux.toml`): what is refused before a program is started.

In: the ten bundled agents, with programs that end at once, and one whose file denies every ability. Never: a run that
is accepted. The ten may be started all the same: to ask them for their capabilities or their models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.field_types import OPTIONS
from tests.behaviour.acp.harness import toml
from tests.drivers.programs import BASE, script
from tests.interfaces.answers import ABSENT, TEN, ask, capabilities, offered_options, value_at
from tests.interfaces.rows import ids
from tests.support.gateway import Gateway, run_input
from tests.web.problem import problem_in

DENIED = ("can_resume", "can_fork", "supports_mcp", "supports_skills", "supports_json_mode", "supports_text_streaming")
SERVER = {"name": "one", "command": "/bin/true", "args": [], "env": []}
PICTURE = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
PDF = {"type": "document", "source": {"type": "data", "value": "AAAA", "mimeType": "application/pdf"}}


@dataclass(frozen=True, slots=True)
class Machine:
    gateway: Gateway
    notes: Path

    def require_no_start(self) -> None:
        """No run began, and the program that is started for runs only was not started."""
        actions = [entry["action"] for entry in ask(self.gateway, "/audit")["entries"]]
        assert "run.start" not in actions
        assert not self.notes.exists()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    home = tmp_path_factory.mktemp("gates")
    notes = home / "notes"
    for name in TEN:
        script(home / "bin" / {"cursor": "cursor-agent"}.get(name, name), "exit 3")
    script(home / "bin" / "denies", f'echo "$*" >> {notes}')
    (home / "agents").mkdir()
    write_denying_agent(home / "agents")
    env = {"PATH": f"{home / 'bin'}:{BASE}", "HOME": str(home), "AGUI_GATEWAY_ALLOW_INSTALL": "true"}
    with Gateway(home / "gateway", "--agents", str(home / "agents"), env=env) as running:
        yield Machine(running, notes)


def write_denying_agent(folder: Path) -> None:
    """It takes every option by name, and its file denies every ability."""
    abilities = {
        "reasoning": {"supported": False},
        "output": {"structured_output": False},
        "multimodal": {"input": {"image": False, "pdf": False, "file": False}},
    }
    keys = {
        "id": "denies",
        "driver": "cli",
        "identity": {"name": "Denies"},
        "command": {"run": ["denies"]},
        "cli": {"dialect": "text", "process": "turn"},
        "options": OPTIONS,
        "capabilities": abilities,
        "manifest": {**dict.fromkeys(DENIED, False), "supports_plugins": False},
    }
    (folder / "denies.toml").write_text("\n".join(f"{key} = {toml(value)}" for key, value in keys.items()), "utf-8")


@dataclass(frozen=True, slots=True)
class Gate:
    """An option or an attachment of a run, and the field of the manifest that says whether an agent takes it."""

    ability: str
    refusing: tuple[str, ...]
    """Those of the ten that do not."""
    options: dict[str, Any] = field(default_factory=dict)
    part: dict[str, Any] | None = None

    def body(self) -> dict[str, Any]:
        """A run with nothing else in it."""
        content: Any = "hello" if self.part is None else [self.part]
        return run_input(content, forwardedProps={"gateway": self.options})

    @property
    def pointer(self) -> str:
        return "/messages/0/content/0" if self.part else f"/forwardedProps/gateway/{next(iter(self.options))}"


WITHOUT_BUDGET = tuple(name for name in TEN if name != "claude")
WITHOUT_JSON = ("gemini", "copilot", "cursor", "pi", "omp", "openclaw", "hermes")
WITHOUT_FILES = ("cursor", "pi", "omp", "openclaw")
GATES = {
    "thinkingEffort": Gate("supportsThinking", ("gemini",), {"effort": "high"}),
    "thinkingBudgetTokens": Gate("supportsThinkingBudgetTokens", WITHOUT_BUDGET, {"thinkingBudgetTokens": 2048}),
    "outputFormat": Gate("supportsJsonMode", WITHOUT_JSON, {"outputFormat": "json"}),
    "sessionId": Gate("canResume", (), {"sessionId": "s-1"}),
    "forkSessionId": Gate("canFork", ("gemini", "cursor"), {"forkSessionId": "s-1"}),
    "skills": Gate("supportsSkills", (), {"skills": ["review"]}),
    "mcpServers": Gate("supportsMCP", ("openclaw", "hermes"), {"mcpServers": [SERVER]}),
    "stream": Gate("supportsTextStreaming", (), {"stream": True}),
    "images": Gate("supportsImageInput", ("cursor",), part=PICTURE),
    "files": Gate("supportsFileAttachments", WITHOUT_FILES, part=PDF),
}


def has_path(served: Gateway, agent: str, path: str) -> bool:
    """Whether the path, or one below it, stands in the agent's snapshot."""
    return value_at(ask(served, f"/agents/{agent}/capabilities"), path) is not ABSENT


@pytest.mark.parametrize("name", GATES, ids=ids("mux.gate", GATES))
def test_a_run_that_asks_for_what_the_agent_lacks_is_refused_before_any_start(
    machine: Machine, served: Gateway, name: str
) -> None:
    gate = GATES[name]
    refusing = [agent for agent in TEN if capabilities(served, agent, "mux")[gate.ability] is False]
    assert sorted(refusing) == sorted(gate.refusing)
    for agent in (*refusing, "denies"):
        problem = problem_in(machine.gateway.post(agent, gate.body()), 422, "CAPABILITY_ERROR")
        assert problem["agent"] == agent and problem["pointer"] == gate.pointer, problem
        assert problem["source"] and (agent == "denies" or has_path(served, agent, problem["capability"])), problem
    machine.require_no_start()


def test_a_run_that_may_come_whole_is_refused_by_no_agent(served: Gateway) -> None:
    """§11 `stream: "auto"`."""
    for agent in ask(served, "/agents")["agents"]:
        assert "auto" in offered_options(served, agent["id"])["stream"]["values"], agent["id"]


def test_plugins_of_an_agent_without_any_are_refused(machine: Machine) -> None:
    """§11 plugin operations."""
    for method, body in (("GET", None), ("POST", {"name": "review"}), ("DELETE", {"name": "review"})):
        response = machine.gateway.client.request(method, "/agents/denies/plugins", json=body)
        problem = problem_in(response, 422, "CAPABILITY_ERROR")
        assert (problem["agent"], problem["capability"]) == ("denies", "custom.mux.supportsPlugins")
    machine.require_no_start()


# -- §8.4, with the models of the ten

REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "agent": ("denies", {"effort": "high"}, "Agent 'denies' does not support thinking/reasoning mode"),
    "model": (
        "openclaw",
        {"model": "xai/grok-4.20-0309-non-reasoning", "effort": "high"},
        "Model 'xai/grok-4.20-0309-non-reasoning' on agent 'openclaw' does not support thinking",
    ),
    "level": (
        "claude",
        {"model": "claude-opus-4-5", "effort": "max"},
        "Model 'claude-opus-4-5' does not support thinking effort level 'max'",
    ),
    "number": (
        "claude",
        {"model": "opus", "thinkingBudgetTokens": 2048},
        "Agent 'claude' does not support numeric thinking budget",
    ),
    "range": (
        "claude",
        {"model": "claude-sonnet-4-5", "thinkingBudgetTokens": 10},
        "Thinking budget 10 is outside valid range [1024, 31999] for model 'claude-sonnet-4-5'",
    ),
}


@pytest.mark.parametrize("case", REFUSALS, ids=ids("mux.refusal", REFUSALS))
def test_thinking_that_is_not_there_is_refused_in_agent_mux_s_words(machine: Machine, case: str) -> None:
    agent, options, message = REFUSALS[case]
    response = machine.gateway.post(agent, run_input(forwardedProps={"gateway": options}))
    assert problem_in(response, 422, "CAPABILITY_ERROR")["detail"].startswith(f"{message}: ")
    machine.require_no_start()


@pytest.mark.parametrize("agent", TEN)
def test_a_refusal_names_the_agent_the_capability_and_where_it_stands(
    machine: Machine, served: Gateway, agent: str
) -> None:
    """§8.4 `CapabilityError`: its capability is a path of the agent's own snapshot."""
    response = machine.gateway.post(agent, run_input(forwardedProps={"gateway": {"thinkingOverride": {"no-such": 1}}}))
    problem = problem_in(response, 422, "CAPABILITY_ERROR")
    assert (problem["agent"], problem["pointer"][:40]) == (agent, "/forwardedProps/gateway/thinkingOverride")
    assert problem["source"] and has_path(served, agent, problem["capability"])
    machine.require_no_start()
