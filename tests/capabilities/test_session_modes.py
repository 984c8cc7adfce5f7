"""`[[modes]]` of an agent's file: what is true of a session while it is in a mode, and what the mode is called."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.capabilities.agent_facts import AgentFacts, SnapshotBasis, agent_layers, gateway_layer
from gateway.capabilities.merge import Snapshot
from gateway.capability_paths import CONFIG, MODE, MODES, PERMISSION_MODE, SANDBOX
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.transports import link_transports, list_transports
from tests.catalog.example_agent import otter

CATALOG = link_transports(load_folder(bundled()))
APPROVALS = "humanInTheLoop.approvals"
EDITS = "humanInTheLoop.approveWithEdits"
INTERRUPTS = "humanInTheLoop.interrupts"
SANDBOXED = "execution.sandboxed"
CODE = "execution.codeExecution"

PLAN = {"id": "plan", "name": "Plan", "capabilities": {"execution": {"code_execution": False}}}


def snapshot_in(
    definition: AgentDefinition, session: dict[str, Any], handshake: dict[str, Any] | None = None
) -> Snapshot:
    layers = agent_layers(definition, gateway_layer({}), [], handshake or {})
    facts = AgentFacts(definition, ModelRegistry(definition), handshake or {}, tuple(layers))
    return SnapshotBasis(facts, session).compute().snapshot


def acp_agent(*modes: dict[str, Any]) -> AgentDefinition:
    capabilities = {"execution": {"code_execution": True}, "human_in_the_loop": {"approvals": True}}
    return otter(driver="acp", cli=None, models=(), effort={}, modes=modes, capabilities=capabilities)


def test_a_mode_of_the_file_decides_while_the_session_is_in_it() -> None:
    agent = acp_agent(PLAN)
    assert snapshot_in(agent, {MODE: "plan"}).get(CODE) is False
    assert snapshot_in(agent, {MODE: "build"}).get(CODE) is True


def test_the_statement_names_the_file_and_its_key() -> None:
    explained = snapshot_in(acp_agent(PLAN), {MODE: "plan"}).explain()[CODE]
    assert (explained["layer"], explained["source"]) == ("session", "otter.toml")
    assert explained["key"] == "modes.plan.capabilities.execution.code_execution"
    assert explained["overridden"][0]["key"] == "capabilities.execution.code_execution"


def test_a_mode_gets_the_name_that_the_agent_does_not_give() -> None:
    agent = acp_agent(PLAN, {"id": "absent", "name": "Absent"})
    listed = [{"id": "plan"}, {"id": "other"}]
    assert snapshot_in(agent, {MODES: listed}).get(MODES) == [{"id": "plan", "name": "Plan"}, {"id": "other"}]


def test_the_agent_s_own_name_of_a_mode_stays() -> None:
    listed = [{"id": "plan", "name": "Think first", "description": "d"}]
    assert snapshot_in(acp_agent(PLAN), {MODES: listed}).get(MODES) == listed


def test_modes_that_the_program_lists_at_its_start_are_named_before_a_session() -> None:
    agent = acp_agent(PLAN)
    layers = agent_layers(agent, gateway_layer({}), [], {MODES: [{"id": "plan"}]})
    facts = AgentFacts(agent, ModelRegistry(agent), {}, tuple(layers))
    assert SnapshotBasis(facts).compute().snapshot.get(MODES) == [{"id": "plan", "name": "Plan"}]


def test_permissions_sandbox_and_settings_select_statements_too() -> None:
    agent = acp_agent(
        {"id": "never", "setting": "permissions", "capabilities": {"human_in_the_loop": {"approvals": False}}},
        {"id": "none", "setting": "sandbox", "capabilities": {"execution": {"sandboxed": False}}},
        {"id": "yes=true", "setting": "config", "capabilities": {"human_in_the_loop": {"approvals": False}}},
    )
    assert snapshot_in(agent, {PERMISSION_MODE: "never"}).get(APPROVALS) is False
    assert snapshot_in(agent, {SANDBOX: "none"}).get(SANDBOXED) is False
    assert snapshot_in(agent, {CONFIG: [{"id": "yes", "value": True}]}).get(APPROVALS) is False
    assert snapshot_in(agent, {CONFIG: [{"id": "yes", "value": False}]}).get(APPROVALS) is True
    assert snapshot_in(agent, {MODE: "never"}).get(APPROVALS) is True, "it is no mode"


def test_an_agent_with_a_process_for_each_turn_has_the_modes_of_its_file() -> None:
    cli = {"dialect": "text", "process": "turn"}
    agent = otter(driver="cli", cli=cli, models=(), effort={}, modes=(PLAN,))
    layers = agent_layers(agent, gateway_layer({}), [], {})
    facts = AgentFacts(agent, ModelRegistry(agent), {}, tuple(layers))
    assert SnapshotBasis(facts).compute().snapshot.get(MODES) == [{"id": "plan", "name": "Plan"}]


def test_two_entries_of_one_setting_are_refused() -> None:
    with pytest.raises(ValueError, match="plan more than once"):
        acp_agent(PLAN, PLAN)


def test_a_python_agent_has_a_mode_and_no_other_setting() -> None:
    with pytest.raises(ValueError, match="has no setting 'sandbox'"):
        otter(driver="python", entry="a:b", modes=({"id": "x", "setting": "sandbox"},))


def test_a_remote_agent_has_no_modes_in_its_file() -> None:
    with pytest.raises(ValueError, match="the agent's own gateway states them"):
        otter(driver="remote", remote={"url": "http://otter.example"}, modes=(PLAN,))


def test_a_mode_without_tools_has_none_even_if_some_were_recorded_or_seen() -> None:
    """goose in chat mode."""
    chat = {"id": "chat", "capabilities": {"tools": {"supported": False}}}
    session = {MODE: "chat", "custom.gateway.tools.seen": ["shell"]}
    assert snapshot_in(acp_agent(chat), session).get("tools.supported") is False


def test_the_tools_of_a_mode_keep_the_descriptions_of_the_file() -> None:
    agent = acp_agent({"id": "plan", "capabilities": {"tools": {"items": [{"name": "look", "description": ""}]}}})
    items = [{"name": "look", "description": "Looks."}, {"name": "act", "description": "Acts."}]
    agent = agent.model_copy(update={"capabilities": {"tools": {"items": items}}})
    found = snapshot_in(agent, {MODE: "plan"})
    assert found.get("tools.items") == [{"name": "look", "description": "Looks."}]
    assert found.source_of("tools.items") == "session (otter.toml)"


# -- the bundled agents


CASES = [
    ("claude", {MODE: "default"}, {APPROVALS: True, EDITS: True, INTERRUPTS: True, CODE: True}),
    ("claude", {MODE: "acceptEdits"}, {APPROVALS: True, EDITS: True, INTERRUPTS: True}),
    ("claude", {MODE: "plan"}, {APPROVALS: True, CODE: False}),
    ("claude", {MODE: "dontAsk"}, {APPROVALS: False, EDITS: False, INTERRUPTS: False}),
    ("claude", {MODE: "bypassPermissions"}, {APPROVALS: False, EDITS: False, CODE: True}),
    ("codex", {PERMISSION_MODE: "untrusted", SANDBOX: "workspaceWrite"}, {APPROVALS: True, SANDBOXED: True}),
    ("codex", {PERMISSION_MODE: "on-request", SANDBOX: "readOnly"}, {APPROVALS: True, SANDBOXED: True}),
    (
        "codex",
        {MODE: "full-access", PERMISSION_MODE: "never", SANDBOX: "dangerFullAccess"},
        {APPROVALS: False, SANDBOXED: False, INTERRUPTS: False},
    ),
    ("codex", {PERMISSION_MODE: "never", SANDBOX: "workspaceWrite"}, {APPROVALS: False, SANDBOXED: True}),
    ("gemini", {MODE: "default"}, {APPROVALS: True, CODE: True, INTERRUPTS: True}),
    ("gemini", {MODE: "autoEdit"}, {APPROVALS: True, CODE: True, INTERRUPTS: True}),
    (
        "gemini",
        {MODE: "yolo"},
        {APPROVALS: False, CODE: True, INTERRUPTS: False, "humanInTheLoop.supported": False},
    ),
    ("gemini", {MODE: "plan"}, {CODE: False}),
    ("qwen-code", {MODE: "yolo"}, {APPROVALS: False, CODE: True}),
    ("qwen-code", {MODE: "plan"}, {CODE: False}),
    ("copilot", {MODE: "interactive"}, {APPROVALS: True}),
    ("copilot", {MODE: "autopilot"}, {APPROVALS: True}),
    ("copilot", {MODE: "plan"}, {APPROVALS: True, CODE: False}),
    ("pi", {PERMISSION_MODE: "gate"}, {APPROVALS: True, EDITS: True}),
    ("pi", {PERMISSION_MODE: "none"}, {APPROVALS: False, EDITS: False}),
    ("hermes", {PERMISSION_MODE: "manual"}, {APPROVALS: True}),
    ("hermes", {PERMISSION_MODE: "off"}, {APPROVALS: False}),
    ("kimi-code", {MODE: "yolo"}, {APPROVALS: False}),
    ("mistral-vibe", {MODE: "auto-approve"}, {APPROVALS: False}),
    ("openhands", {MODE: "always-approve"}, {APPROVALS: False}),
    ("cline", {MODE: "plan"}, {APPROVALS: True, CODE: False}),
    ("cline", {MODE: "act", CONFIG: [{"id": "auto_approve", "value": True}]}, {APPROVALS: False}),
    ("openclaw", {MODE: "full"}, {APPROVALS: False}),
    ("openclaw", {MODE: "read-only"}, {APPROVALS: False, CODE: False}),
]


@pytest.mark.parametrize(("name", "session", "leaves"), CASES)
def test_what_is_true_in_each_mode_of_a_bundled_agent(
    name: str, session: dict[str, Any], leaves: dict[str, bool]
) -> None:
    found = snapshot_in(CATALOG[name], session)
    assert {path: found.get(path) for path in leaves} == leaves


def test_a_mode_of_the_agent_s_file_holds_for_its_other_transports() -> None:
    [acp] = [each.definition for each in list_transports(CATALOG["claude"]) if each.definition.driver == "acp"]
    found = snapshot_in(acp, {MODE: "dontAsk"})
    assert found.get(APPROVALS) is False
    assert (
        found.explain()[APPROVALS]["source"] == "what follows from the other capabilities" or found.sources[APPROVALS]
    )
    assert found.sources[APPROVALS][-1].source == "claude.toml"


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_every_mode_of_claude_and_codex_has_a_name_and_a_description(name: str) -> None:
    modes = [mode for mode in CATALOG[name].modes if mode.setting == "mode"]
    assert all(mode.name and mode.description for mode in modes)
