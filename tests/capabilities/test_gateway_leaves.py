"""Leaves that the gateway itself knows: never absent for an agent that is a process, and as the official models have
them."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from gateway.capabilities.agent_facts import AgentFacts, SnapshotBasis, agent_layers, gateway_layer, profile_layers
from gateway.capabilities.gateway_leaves import time_limit
from gateway.capabilities.merge import Snapshot
from gateway.capability_paths import MODES, STEERING, TRUST
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.transports import link_transports, list_transports
from gateway.drivers.driver_facts import driver_facts
from gateway.runs.facts_cache import driver_layers
from tests.catalog.example_agent import otter

CATALOG = link_transports(load_folder(bundled()))
TRANSPORTS = [
    (f"{agent.id}:{each.name}", each.definition)
    for agent in CATALOG.values()
    if agent.is_local_process
    for each in list_transports(agent)
]
NEVER_ABSENT = (
    "humanInTheLoop.interrupts",
    "state.snapshots",
    "state.deltas",
    "state.persistentState",
    "multiAgent.handoffs",
    "output.supportedMimeTypes",
)

every_transport = pytest.mark.parametrize(
    "definition", [each for _, each in TRANSPORTS], ids=[name for name, _ in TRANSPORTS]
)


def snapshot_of(definition: AgentDefinition, handshake: dict[str, Any] | None = None, **more: Any) -> Snapshot:
    layers = agent_layers(definition, gateway_layer({}), [], handshake or {}, more.get("trust"))
    layers += driver_layers(definition)
    facts = AgentFacts(definition, ModelRegistry(definition), handshake or {}, tuple(layers))
    return SnapshotBasis(facts, more.get("session")).compute().snapshot


def acp_agent(**capabilities: Any) -> AgentDefinition:
    return otter(driver="acp", cli=None, models=(), effort={}, capabilities=capabilities)


@every_transport
def test_what_the_gateway_knows_is_stated_before_the_agent_was_started(definition: AgentDefinition) -> None:
    found = snapshot_of(definition)
    assert [path for path in NEVER_ABSENT if found.get(path) is None] == []


@every_transport
def test_the_official_models_accept_the_snapshot_unchanged(definition: AgentDefinition) -> None:
    tree = snapshot_of(definition).tree()
    model = AgentCapabilities.model_validate(tree, strict=True)
    assert model.model_dump(by_alias=True, mode="json", exclude_unset=True) == tree


@every_transport
def test_edits_of_a_call_need_an_interrupt(definition: AgentDefinition) -> None:
    """AG-UI approveWithEdits: only meaningful when interrupts is true."""
    found = snapshot_of(definition)
    if found.get("humanInTheLoop.approveWithEdits") is True:
        assert found.get("humanInTheLoop.interrupts") is True


@every_transport
def test_thoughts_are_readable_where_there_are_any(definition: AgentDefinition) -> None:
    """AG-UI reasoning.encrypted: opaque values instead of readable content."""
    found = snapshot_of(definition)
    expected = False if found.get("reasoning.supported") else None
    assert found.get("reasoning.encrypted") is expected or found.get("reasoning.encrypted") is False


@pytest.mark.parametrize("approvals", [True, None])
def test_an_agent_that_may_ask_interrupts(approvals: bool | None) -> None:
    """AG-UI humanInTheLoop.interrupts: also where the file does not know whether the agent asks."""
    stated = {} if approvals is None else {"human_in_the_loop": {"approvals": approvals}}
    assert snapshot_of(acp_agent(**stated)).get("humanInTheLoop.interrupts") is True


def test_an_agent_that_never_asks_does_not_interrupt() -> None:
    agent = acp_agent(human_in_the_loop={"approvals": False, "feedback": False, "approve_with_edits": True})
    found = snapshot_of(agent)
    assert found.get("humanInTheLoop.interrupts") is False
    assert found.get("humanInTheLoop.approveWithEdits") is False


def test_questions_of_the_agent_are_interrupts() -> None:
    """Of an agent that asks for no approvals, its file says so."""
    agent = acp_agent(human_in_the_loop={"approvals": False, "interrupts": True})
    assert snapshot_of(agent).get("humanInTheLoop.interrupts") is True


@pytest.mark.parametrize(
    ("name", "feedback"),
    [
        *((name, True) for name in ("claude", "codex", "copilot", "opencode", "pi")),
        *((name, False) for name in ("omp", "hermes", "openclaw", "gemini", "goose", "claude-agent-acp")),
    ],
)
def test_feedback_is_claimed_where_the_text_of_a_denial_reaches_the_agent(name: str, feedback: bool) -> None:
    """AG-UI humanInTheLoop.feedback."""
    assert snapshot_of(CATALOG[name]).get("humanInTheLoop.feedback") is feedback


def test_the_gateway_s_own_question_about_a_folder_is_an_interrupt() -> None:
    agent = acp_agent(human_in_the_loop={"approvals": False})
    trust = {f"{TRUST}.state": "unknown", f"{TRUST}.decidedBy": "none"}
    assert snapshot_of(agent, trust=trust).get("humanInTheLoop.interrupts") is True


def test_words_during_a_turn_are_interventions() -> None:
    """AG-UI humanInTheLoop.interventions, of ACP agents by their handshake."""
    agent = acp_agent()
    assert snapshot_of(agent).get("humanInTheLoop.interventions") is None
    acp = {"custom.acp.loadSession": True}
    assert snapshot_of(agent, acp).get("humanInTheLoop.interventions") is False
    assert snapshot_of(agent, acp | {STEERING: True}).get("humanInTheLoop.interventions") is True


def test_json_is_a_type_of_answers_that_fit_a_schema() -> None:
    """AG-UI output.supportedMimeTypes."""
    plain = ["text/plain", "text/markdown"]
    assert snapshot_of(acp_agent()).get("output.supportedMimeTypes") == plain
    structured = acp_agent(output={"structured_output": True})
    assert snapshot_of(structured).get("output.supportedMimeTypes") == [*plain, "application/json"]


def test_what_the_file_states_of_its_types_stays() -> None:
    agent = acp_agent(output={"supported_mime_types": ["text/csv"]})
    assert snapshot_of(agent).get("output.supportedMimeTypes") == ["text/csv"]


@pytest.mark.parametrize(("stated", "expected"), [(None, 90_000), (60_000, None), (120_000, 90_000)])
def test_the_shorter_limit_of_a_run_s_time_is_the_one_that_holds(stated: int | None, expected: int | None) -> None:
    """AG-UI execution.maxExecutionTime: None where the agent's own statement stays."""
    agent = acp_agent(execution={} if stated is None else {"max_execution_time": stated})
    limit = time_limit(agent, 90.0, profile_layers(agent))
    assert (None if limit is None else limit.values["execution.maxExecutionTime"]) == expected


# -- what the driver knows


@pytest.mark.parametrize(
    ("name", "leaves"),
    [
        ("opencode", {"tools.clientProvided": False, "humanInTheLoop.interventions": True}),
        ("claude", {"tools.clientProvided": True, "humanInTheLoop.interventions": True, "state.memory": True}),
        ("codex", {"tools.clientProvided": True, "humanInTheLoop.interventions": True, "state.memory": False}),
        ("hermes", {"tools.clientProvided": False, "humanInTheLoop.interventions": True, "state.memory": True}),
        ("openclaw", {"tools.clientProvided": False, "state.memory": True}),
    ],
)
def test_what_the_dialect_can_do_is_stated(name: str, leaves: dict[str, bool]) -> None:
    found = snapshot_of(CATALOG[name])
    assert {path: found.get(path) for path in leaves} == leaves


def test_a_process_for_each_turn_that_resumes_nothing_keeps_no_state() -> None:
    """AG-UI state.persistentState."""
    forgetful = otter(driver="cli", cli={"dialect": "text", "process": "turn"}, models=(), effort={})
    assert driver_facts(forgetful)["state.persistentState"] is False
    flags = {"resume": ["--resume", "{session}"]}
    resuming = otter(driver="cli", cli={"dialect": "text", "process": "turn", "flags": flags}, models=(), effort={})
    assert driver_facts(resuming)["state.persistentState"] is True


def test_a_program_that_writes_ag_ui_may_send_state() -> None:
    agent = otter(driver="cli", cli={"dialect": "ag-ui", "process": "turn"}, models=(), effort={})
    assert "state.snapshots" not in driver_facts(agent)


def test_a_dialect_that_cannot_ask_approves_nothing() -> None:
    agent = otter(driver="cli", cli={"dialect": "text", "process": "turn"}, models=(), effort={})
    found = snapshot_of(agent)
    assert (found.get("humanInTheLoop.approvals"), found.get("humanInTheLoop.interrupts")) == (False, False)


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("claude", {"default", "acceptEdits", "plan", "dontAsk", "auto"}),
        ("codex", {"plan", "read-only", "agent", "auto", "full-access"}),
        ("copilot", {"interactive", "plan", "autopilot"}),
        ("openclaw", {"read-only", "guarded", "workspace", "full"}),
    ],
)
def test_modes_that_the_dialect_sets_are_listed_before_a_session(name: str, modes: set[str]) -> None:
    listed = snapshot_of(CATALOG[name]).get(MODES)
    assert {mode["id"] for mode in listed} == modes
    assert all(mode.get("name") for mode in listed)
