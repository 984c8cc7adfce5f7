"""agent-mux's manifest of the bundled agents: complete, and without claims that the gateway does not keep."""

from __future__ import annotations

import pytest

from gateway.capabilities.layers import profile_layer
from gateway.capabilities.merge import merge
from gateway.capabilities.views.mux import view
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from gateway.catalog.transports import link_transports
from gateway.wire.dialects import DIALECTS

AGENTS = [each for each in link_transports(load_folder(bundled())).values() if each.transport_of is None]
INSTALL_TYPES = {"npm", "brew", "gh-extension", "curl", "winget", "scoop", "manual", "pip", "nix"}
"""agent-mux's `InstallMethod.type`."""

every = pytest.mark.parametrize("definition", AGENTS, ids=[each.id for each in AGENTS])


def find(name: str) -> AgentDefinition:
    return next(each for each in AGENTS if each.id == name)


def view_of(definition: AgentDefinition) -> dict[str, object]:
    """Before the agent was started: what its file says."""
    return view(merge([profile_layer(definition)]), definition)


@every
def test_every_required_field_of_agent_mux_is_known(definition: AgentDefinition) -> None:
    assert "unknown" not in view_of(definition)


@every
def test_file_attachments_are_one_truth(definition: AgentDefinition) -> None:
    stated = definition.manifest.supports_file_attachments
    assert stated is None or stated == view_of(definition)["supportsFileAttachments"]


@every
def test_install_methods_have_types_of_agent_mux(definition: AgentDefinition) -> None:
    """agent-mux InstallMethod: an installer of PowerShell is no `curl`."""
    methods = view_of(definition)["installMethods"]
    assert isinstance(methods, list)
    for method in methods:
        assert method["type"] in INSTALL_TYPES
        assert method["type"] != "curl" or "curl " in method["command"], method


@every
def test_an_agent_with_plugins_says_what_they_are(definition: AgentDefinition) -> None:
    """agent-mux §9."""
    shown = view_of(definition)
    assert bool(shown["pluginFormats"]) == shown["supportsPlugins"]
    if not shown["supportsPlugins"]:
        assert not [name for name in shown if name.startswith("plugin") and name.endswith("Cmd")]


@pytest.mark.parametrize("name", ["pi", "omp"])
def test_events_in_json_are_no_answers_in_json(name: str) -> None:
    """agent-mux supportsJsonMode."""
    assert view_of(find(name))["supportsJsonMode"] is False


@pytest.mark.parametrize(("name", "is_steered"), [("hermes", True), ("openclaw", False), ("pi", True), ("omp", True)])
def test_input_during_a_turn_is_claimed_where_the_dialect_steers(name: str, is_steered: bool) -> None:
    """agent-mux supportsStdinInjection."""
    definition = find(name)
    assert definition.cli is not None
    assert DIALECTS[definition.cli.dialect].can_steer is is_steered
    assert view_of(definition)["supportsStdinInjection"] is is_steered


def test_hermes_keeps_memory() -> None:
    assert merge([profile_layer(find("hermes"))]).get("state.memory") is True
