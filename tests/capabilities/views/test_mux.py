"""agent-mux's manifest, made of what is known now."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.capabilities.layers import LayerStatement, model_layer, profile_layer
from gateway.capabilities.merge import merge
from gateway.capabilities.views import mux
from gateway.capabilities.views.mux_lookup import find_fact
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import OPTIONS
from gateway.catalog.load import bundled, load_catalog
from tests.capabilities.layer_builders import snapshot
from tests.catalog.example_agent import otter

# fmt: off
REQUIRED = (
    "agent", "canResume", "canFork", "supportsMultiTurn", "sessionPersistence", "supportsTextStreaming",
    "supportsToolCallStreaming", "supportsThinkingStreaming", "supportsNativeTools", "supportsMCP",
    "supportsParallelToolCalls", "requiresToolApproval", "approvalModes", "supportsThinking",
    "thinkingEffortLevels", "supportsThinkingBudgetTokens", "supportsJsonMode", "supportsStructuredOutput",
    "supportsSkills", "supportsAgentsMd", "skillsFormat", "supportsSubagentDispatch", "supportsParallelExecution",
    "supportsInteractiveMode", "supportsStdinInjection", "supportsImageInput", "supportsImageOutput",
    "supportsFileAttachments", "supportsPlugins", "pluginFormats", "pluginRegistries", "supportedPlatforms",
    "requiresGitRepo", "requiresPty", "authMethods", "authFiles", "installMethods",
)
OPTIONAL = (
    "maxParallelTasks", "pluginInstallCmd", "pluginListCmd", "pluginUninstallCmd", "pluginMarketplaceUrl",
    "pluginSearchCmd",
)
# fmt: on
"""The fields of agent-mux's interface `AgentCapabilities`, as its specification has them."""

CHOICES: dict[str, set[Any]] = {
    "sessionPersistence": {"none", "file", "sqlite", "in-memory"},
    "approvalModes": {"yolo", "prompt", "deny"},
    "thinkingEffortLevels": {"low", "medium", "high", "max"},
    "skillsFormat": {"file", "directory", "npm-package", None},
    "pluginFormats": {
        "npm-package",
        "skill-file",
        "skill-directory",
        "extension-ts",
        "channel-plugin",
        "mcp-server",
    },
    "supportedPlatforms": {"darwin", "linux", "win32"},
}
INSTALL_TYPES = {"npm", "brew", "gh-extension", "curl", "winget", "scoop", "manual", "pip", "nix"}

CATALOG = load_catalog([bundled()])
DECLARED = [
    agent for agent in CATALOG.values() if agent.driver == "cli" or agent.manifest.model_dump(exclude_none=True)
]
"""Agents of the command line, which agent-mux knows, and whatever else has a manifest."""


def check_interface(fields: dict[str, Any]) -> None:
    assert set(REQUIRED) - set(fields.get("unknown", ())) <= set(fields) <= {*REQUIRED, *OPTIONAL, "unknown"}
    for name, value in fields.items():
        if name.startswith(("supports", "can", "requires")):
            assert isinstance(value, bool), name
        if name in CHOICES:
            assert set(value if isinstance(value, list) else [value]) <= CHOICES[name], name
    for install in fields["installMethods"]:
        assert set(install) - {"notes", "prerequisiteCheck"} == {"platform", "type", "command"}
        assert install["type"] in INSTALL_TYPES and install["command"]
    for method in fields.get("authMethods", ()):
        assert set(method) == {"type", "name"}


def test_the_view_has_the_fields_of_the_interface_and_no_other() -> None:
    assert sorted(mux.FIELDS) == sorted([*REQUIRED, *OPTIONAL])


@pytest.mark.parametrize("agent", CATALOG.values(), ids=list(CATALOG))
def test_every_bundled_agent_has_a_manifest_that_agent_mux_could_read(agent: AgentDefinition) -> None:
    fields = mux.view(merge([profile_layer(agent)]), agent)
    assert fields["agent"] == agent.id
    check_interface(fields)


def test_of_an_agent_that_agent_mux_knows_no_field_is_open() -> None:
    fields = {agent.id: mux.view(merge([profile_layer(agent)]), agent) for agent in DECLARED}
    assert {name: set(fields["unknown"]) for name, fields in fields.items() if "unknown" in fields} == {}


# -- derived


def test_the_view_never_claims_what_a_run_would_be_refused() -> None:
    promised = {"can_resume": True, "can_fork": True, "supports_mcp": True, "supports_skills": True}
    agent = otter(manifest={**promised, "supports_json_mode": True}, options=())
    fields = mux.view(snapshot(agent), agent)
    for name in ("canResume", "canFork", "supportsMCP", "supportsSkills", "supportsJsonMode", "supportsThinking"):
        assert fields[name] is False, name
        assert snapshot(agent).get(f"custom.mux.{name}") is False, name


DERIVED = [
    ("supportsThinking", "reasoning.supported"),
    ("supportsThinkingStreaming", "reasoning.streaming"),
    ("supportsNativeTools", "tools.supported"),
    ("supportsParallelToolCalls", "tools.parallelCalls"),
    ("supportsImageInput", "multimodal.input.image"),
    ("supportsImageOutput", "multimodal.output.image"),
    ("supportsFileAttachments", "multimodal.input.file"),
    ("supportsStructuredOutput", "output.structuredOutput"),
    ("supportsSubagentDispatch", "multiAgent.delegation"),
    ("canFork", "custom.acp.forkSession"),
    ("canResume", "custom.acp.loadSession"),
    ("canResume", "custom.acp.resumeSession"),
    ("supportsMCP", "custom.acp.mcp.http"),
    ("supportsTextStreaming", "transport.streaming"),
    ("supportsJsonMode", "custom.mux.supportsJsonMode"),
]


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(("name", "path"), DERIVED)
def test_a_field_is_what_is_known_now(name: str, path: str, value: bool) -> None:
    agent = otter(models=(), options=OPTIONS)
    found = snapshot(agent, handshake={path: value})
    assert mux.view(found, agent)[name] is value
    assert find_fact(found, name).source.startswith("handshake (handshake's source")
    assert find_fact(found, name).path in (path, f"custom.mux.{name}")


def test_unknown_fields_are_absent_and_listed() -> None:
    agent = otter(driver="acp", cli=None, effort={}, models=())
    fields = mux.view(snapshot(agent), agent)
    assert (fields["agent"], fields["installMethods"]) == ("otter", [])
    refused = {"supportsJsonMode", "supportsStructuredOutput", "supportsThinkingBudgetTokens"}
    assert not any(fields[name] for name in refused), "the protocol has no request for these"
    assert set(fields) == {"agent", "installMethods", "unknown", *refused}
    assert set(fields["unknown"]) == {*REQUIRED} - {"agent", "installMethods", *refused}


def test_how_the_gateway_streams_is_no_fact_of_the_agent() -> None:
    agent = otter()
    found = snapshot(agent, gateway={"transport.streaming": True})
    assert "supportsTextStreaming" in mux.view(found, agent)["unknown"]


def test_one_way_back_into_a_session_is_enough() -> None:
    agent = otter(manifest={"can_resume": False}, options=("sessionId",))
    assert mux.view(snapshot(agent), agent)["canResume"] is False
    fields = {"custom.acp.loadSession": True, "custom.acp.resumeSession": False}
    assert mux.view(snapshot(agent, handshake=fields), agent)["canResume"] is True


def test_the_file_knows_better_whether_an_agent_takes_mcp_servers() -> None:
    agent = otter(manifest={"supports_mcp": False})
    assert mux.view(snapshot(agent, handshake={"custom.acp.mcp.stdio": True}), agent)["supportsMCP"] is False


def test_with_a_model_its_limits_are_in_it() -> None:
    agent = otter(capabilities={"reasoning": {"supported": True}, "multimodal": {"input": {"image": True}}})
    fields = mux.view(snapshot(agent, model_layer(agent, agent.models[1])), agent)
    assert (fields["supportsThinking"], fields["supportsImageInput"]) == (False, False)
    assert (fields["thinkingEffortLevels"], fields["supportsThinkingBudgetTokens"]) == ([], False)


def test_an_agent_without_thinking_has_no_levels() -> None:
    agent = otter(driver="acp", cli=None, effort={}, models=())
    fields = mux.view(merge([LayerStatement("handshake", "x", {"reasoning.supported": False})]), agent)
    assert (fields["thinkingEffortLevels"], fields["supportsThinkingBudgetTokens"]) == ([], False)


def test_an_agent_without_skills_has_no_format_for_them() -> None:
    for manifest, expected in (
        ({"supports_skills": False}, (None, False)),
        ({"supports_skills": True}, (None, True)),
        ({"supports_skills": True, "skills_format": "file"}, ("file", False)),
    ):
        agent = otter(manifest=manifest, options=OPTIONS)
        fields = mux.view(snapshot(agent), agent)
        assert (fields.get("skillsFormat"), "skillsFormat" in fields["unknown"]) == expected


def test_an_agent_without_plugins_has_no_formats_for_them() -> None:
    agent = otter(manifest={"supports_plugins": False})
    fields = mux.view(snapshot(agent), agent)
    assert (fields["pluginFormats"], fields["pluginRegistries"]) == ([], [])
    assert "pluginFormats" not in fields["unknown"]
    assert "pluginFormats" in mux.view(snapshot(otter()), otter())["unknown"]


# -- installing and signing in


def test_install_methods_have_agent_mux_s_terms() -> None:
    agent = otter(
        install=(
            {"kind": "npm", "package": "@otter/cli", "notes": "Node 22", "prerequisite_check": ("node", "--version")},
            {"kind": "uv", "package": "otter", "platform": "linux"},
            {"kind": "shell", "package": "curl -fsSL https://otter.example | sh"},
            {"kind": "nix", "package": "nix run github:otter/otter"},
        )
    )
    assert mux.view(snapshot(agent), agent)["installMethods"] == [
        {
            "platform": "all",
            "type": "npm",
            "command": "npm install -g @otter/cli",
            "notes": "Node 22",
            "prerequisiteCheck": "node --version",
        },
        {"platform": "linux", "type": "pip", "command": "uv tool install otter"},
        {"platform": "all", "type": "curl", "command": "curl -fsSL https://otter.example | sh"},
        {"platform": "all", "type": "nix", "command": "nix run github:otter/otter"},
    ]


def test_auth_methods_come_from_the_manifest_or_the_auth_checks() -> None:
    agent = otter(manifest={"auth_methods": ("oauth", "api-key"), "auth_files": ("~/.otter",)})
    fields = mux.view(snapshot(agent), agent)
    assert fields["authMethods"] == [{"type": "oauth", "name": "OAuth"}, {"type": "api-key", "name": "API key"}]
    assert fields["authFiles"] == ["~/.otter"]
    signs = otter(auth=({"kind": "env", "name": "OTTER_KEY"}, {"kind": "file", "name": "~/.otter/auth"}))
    fields = mux.view(snapshot(signs), signs)
    assert fields["authMethods"] == [{"type": "api-key", "name": "API key"}]
    assert fields["authFiles"] == ["~/.otter/auth"]


def test_a_file_does_not_show_how_the_user_signed_in() -> None:
    signs = otter(auth=({"kind": "file", "name": "~/.otter/auth"},))
    assert "authMethods" in mux.view(snapshot(signs), signs)["unknown"]
    unknown_agent = otter(auth=({"kind": "none"},))
    fields = mux.view(snapshot(unknown_agent), unknown_agent)
    assert fields["authMethods"] == [] and "authMethods" not in fields["unknown"]
