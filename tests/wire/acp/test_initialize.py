"""`initialize`: what we offer, what an agent answers, and what the layer claims."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.acp.initialize import (
    AuthMethod,
    ClientCapabilities,
    Handshake,
    acp_view,
    agui_layer,
    initialize_params,
    read_handshake,
)
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import NAMES, replay_transcript

AGENTS = {  # agent → prompt, MCP beside stdio, session capabilities: as its `initialize` result has them
    "claude-agent-acp": ("ie", "http sse", "additional_directories close delete fork list load resume system_prompt"),
    "codex-acp": ("ie", "http", "additional_directories close delete fork list load resume set_title system_prompt"),
    "codex-acp-zed": ("ie", "http", "close list load resume"),
    "gemini-cli": ("iae", "http sse", "load"),
    "opencode": ("ie", "http sse", "close fork list load resume"),
    "qwen-code": ("iae", "http sse", "list load resume"),
    "copilot-cli": ("ie", "http sse", "close list load"),
    "hermes-agent": ("i", "", "fork list load resume"),
    "pi-acp": ("i", "", "delete list load"),
    "cline": ("i", "", "load"),
    "openhands": ("ie", "http sse", "load"),
    "fast-agent": ("ie", "http sse", "list load resume"),
    "deepagents-acp": ("i", "", ""),
    "auggie": ("i", "", "list load"),
    "factory-droid": ("ie", "", "list load resume"),
    "qoder": ("ie", "http sse", "additional_directories close delete fork list load resume"),
    "kimi-cli": ("ie", "http", "list load resume"),
}
SESSION = ["additional_directories", "close", "delete", "fork", "list", "load", "resume", "set_title", "system_prompt"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agents_capabilities_are_read(agent: str) -> None:
    handshake = replay_transcript(f"{agent}/init").handshakes[0]
    prompt = "i" * handshake.image + "a" * handshake.audio + "e" * handshake.embedded_context
    mcp = " ".join(name for name in ("http", "sse") if getattr(handshake, f"mcp_{name}"))
    assert (prompt, mcp, " ".join(name for name in SESSION if getattr(handshake, name))) == AGENTS[agent]


def test_version_2_is_read_only_from_its_own_form() -> None:
    wait_until_probed = {
        name: [handshake.protocol_version for handshake in replay_transcript(name).handshakes]
        for name in NAMES
        if name.endswith("/v2_both")
    }
    assert {name.split("/")[0] for name, versions in wait_until_probed.items() if versions == [2]} == {
        "claude-agent-acp",
        "codex-acp",
        "crow-cli-v2",
        "ts-sdk-dual-version",
    }
    echo = read_handshake({"protocolVersion": 2, "agentCapabilities": {}, "agentInfo": {"name": "echo"}})
    assert (echo.protocol_version, echo.name) == (1, "echo")
    assert read_handshake({"protocolVersion": 99}).protocol_version == 1


def test_version_2_has_the_same_shape_afterwards() -> None:
    handshake = replay_transcript("claude-agent-acp/v2").handshakes[0]
    assert (handshake.name, handshake.title, handshake.version) == (
        "@agentclientprotocol/claude-agent-acp",
        "Claude Agent",
        "0.99.1",
    )
    assert (handshake.resume, handshake.list, handshake.close, handshake.load) == (True, True, True, False)
    assert (handshake.image, handshake.audio, handshake.embedded_context) == (True, False, True)
    assert (handshake.mcp_stdio, handshake.mcp_http, handshake.mcp_sse) == (True, True, False)
    assert handshake.system_prompt_override


def test_ways_to_sign_in_are_kept() -> None:
    methods = replay_transcript("claude-agent-acp/init").handshakes[0].auth_methods
    assert [(method.id, method.type) for method in methods] == [
        ("claude-ai-login", "terminal"),
        ("console-login", "terminal"),
    ]
    assert methods[0].args == ("--cli", "auth", "login", "--claudeai")
    second = read_handshake(
        {
            "protocolVersion": 2,
            "info": {"name": "a"},
            "authMethods": [{"methodId": "k", "name": "Key", "env": [{"name": "A", "value": "b"}, 3]}, {"name": "?"}],
        }
    )
    assert second.auth_methods == (AuthMethod("k", "Key", env={"A": "b"}),)
    assert second.logout


def test_version_1_is_offered_in_its_own_shape() -> None:
    params = initialize_params(1, ClientCapabilities(fs_read=True, version="1.2"))
    assert params == {
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": False},
            "terminal": False,
            "auth": {"terminal": True},
            "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
            "plan": {},
            "subagents": {},
            "elicitation": {"form": {}, "url": {}},
        },
        "clientInfo": {"name": "agui-gateway", "title": "AG-UI gateway", "version": "1.2"},
    }


def test_a_probe_for_2_has_both_shapes() -> None:
    params = initialize_params(2, ClientCapabilities(elicitation_url=False, terminal_output=True))
    assert params["info"] == params["clientInfo"]
    assert params["capabilities"] == {"auth": {"terminal": {}}, "elicitation": {"form": {}}}
    assert params["clientCapabilities"]["_meta"] == {"terminal_output": True}


def test_nothing_is_offered_that_is_switched_off() -> None:
    off = ClientCapabilities(elicitation_form=False, elicitation_url=False, auth_terminal=False)
    params = initialize_params(2, off)
    assert "elicitation" not in params["clientCapabilities"]
    assert params["capabilities"] == {}
    assert params["clientCapabilities"]["auth"] == {"terminal": False}


def test_the_layer_claims_what_the_agent_stated_and_no_more() -> None:
    layer = agui_layer(replay_transcript("gemini-cli/init").handshakes[0])
    assert "identity.name" not in layer, "the name in the agent's file stays"
    assert layer["identity.metadata.acp.title"] == "Gemini CLI"
    assert (layer["multimodal.input.image"], layer["multimodal.input.audio"]) == (True, True)
    assert (layer["multimodal.input.pdf"], layer["multimodal.input.file"]) == (False, True), "ACP has no word for PDF"
    assert layer["multimodal.input.video"] is False
    assert layer["custom.acp.mcp.http"] is True
    assert [method["id"] for method in layer["custom.acp.authMethods"]][:2] == ["oauth-personal", "gemini-api-key"]
    silent = agui_layer(Handshake())
    assert not [key for key in silent if key.startswith(("identity.", "tools.", "reasoning.", "humanInTheLoop."))]


def test_the_view_is_the_hosts_shape() -> None:
    view = acp_view(replay_transcript("hermes-agent/init").handshakes[0])
    assert view == {
        "loadSession": True,
        "forkSession": True,
        "resumeSession": True,
        "closeSession": False,
        "listSessions": True,
        "additionalDirectories": False,
        "mcp": {"stdio": True, "http": False, "sse": False, "acp": False},
        "prompt": {"text": True, "image": True, "audio": False, "embeddedContext": False},
        "deleteSession": False,
        "logout": False,
        "authStatus": False,
        "providers": False,
        "archive": False,
        "status": False,
        "title": False,
        "systemPrompt": False,
        "protocolVersion": 1,
    }


KEYS = ["protocolVersion", "info", "agentInfo", "capabilities", "agentCapabilities", "authMethods", "session", "auth"]


@steady
@given(VALUES | st.dictionaries(st.sampled_from(KEYS), VALUES | st.dictionaries(st.sampled_from(KEYS), VALUES)))
def test_any_answer_is_read(result: Any) -> None:
    agui_layer(read_handshake(result))
