"""A session's tools, from all who know of them: each once, under the agent's name for it, with where it is from."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import AgentCapabilities
from pydantic import ValidationError

from gateway.capabilities.layers import LayerStatement, model_layer, session_layers
from gateway.capabilities.merge import merge
from gateway.capabilities.session_tools import (
    ITEMS,
    LISTED_TOOLS,
    SERVERS,
    SUPPORTED,
    fold_session_layer,
)
from gateway.capability_paths import MCP_SERVERS, SEEN_TOOLS, unflatten
from gateway.catalog.models.definition import Model
from tests.catalog.example_agent import otter

OTTER = otter()
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
ADD = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
SUB = {"name": "sub", "description": "Subtracts.", "parameters": SCHEMA}


def server(name: str, *tools: dict[str, Any], **facts: Any) -> dict[str, Any]:
    """As a session tells of one that is connected."""
    items = {"status": "connected", "transport": "stdio", "tools": len(tools), **facts}
    return {f"{SERVERS}{name}.{key}": value for key, value in items.items()} | {
        f"{SERVERS}{name}{LISTED_TOOLS}": list(tools)
    }


def items(
    session_layer: dict[str, Any], *below: dict[str, Any], naming: str | None = None
) -> dict[str, dict[str, Any]]:
    """By name. There is none twice."""
    items = fold_session_layer(session_layer, below, naming)[ITEMS]
    assert len({item["name"] for item in items}) == len(items)
    return {item["name"]: item for item in items}


def own(*names: str) -> dict[str, Any]:
    return {ITEMS: [{"name": name, "description": ""} for name in names]}


def test_a_servers_tool_has_its_description_its_schema_and_where_it_is_from() -> None:
    found = items(server("calc", {**ADD, "title": "Sum", "annotations": {"readOnlyHint": True}}))
    mcp = {"server": "calc", "tool": "add", "title": "Sum", "annotations": {"readOnlyHint": True}}
    assert found == {"add": {**ADD, "metadata": {"gateway": {"source": "mcp"}, "mcp": mcp}}}


def test_a_tool_has_the_name_by_the_agents_file() -> None:
    assert list(items(server("my calc", ADD), naming="mcp__{server}__{tool}")) == ["mcp__my_calc__add"]
    assert list(items(server("my calc", ADD), naming="{server}.{tool}")) == ["my calc.add"]


@pytest.mark.parametrize("called", ["mcp__calc__add", "calc.add", "calc-add", "calc_add", "calc__add", "mcp_calc_add"])
def test_a_call_shows_how_the_agent_names_a_servers_tools(called: str) -> None:
    found = items({**server("calc", ADD, SUB), SEEN_TOOLS: [called]})
    assert list(found) == [called, called.replace("add", "sub")]
    assert all(item["metadata"]["gateway"]["source"] == "mcp" for item in found.values())


def test_what_the_agent_lists_by_name_alone_gets_the_server_s_description() -> None:
    found = items({**own("Bash", "mcp__calc__add"), **server("calc", ADD)})
    assert list(found) == ["Bash", "mcp__calc__add"]
    assert found["Bash"] == {"name": "Bash", "description": ""}
    assert found["mcp__calc__add"]["description"] == "Adds."
    assert found["mcp__calc__add"]["parameters"] == SCHEMA


def test_two_servers_may_have_a_tool_of_the_same_name() -> None:
    found = items(server("one", ADD) | server("two", ADD))
    assert list(found) == ["add", "mcp__two__add"]
    assert [item["metadata"]["mcp"]["server"] for item in found.values()] == ["one", "two"]


def test_a_tool_that_was_only_seen_is_marked_so() -> None:
    found = items({**own("Bash"), SEEN_TOOLS: ["Bash", "Grep"]})
    assert found["Grep"] == {"name": "Grep", "description": "", "metadata": {"gateway": {"source": "seen"}}}
    assert "metadata" not in found["Bash"]


def test_what_the_layers_below_list_stays() -> None:
    handshake_layer = {ITEMS: [{"name": "search", "description": "Searches.", "parameters": SCHEMA}]}
    found = items({**own("search"), SEEN_TOOLS: ["fetch"]}, handshake_layer)
    assert found["search"] == handshake_layer[ITEMS][0]
    assert list(found) == ["search", "fetch"]


def test_a_session_without_tools_has_no_items() -> None:
    assert fold_session_layer({"custom.session.cwd": "/"}, [{ITEMS: [ADD]}], None) == {"custom.session.cwd": "/"}


def test_an_empty_list_of_the_session_is_kept() -> None:
    assert fold_session_layer({ITEMS: []}, [], None)[ITEMS] == []


@pytest.mark.parametrize(
    ("reported", "status", "tools"),
    [("connected", "connected", ["add"]), ("pending", "connecting", []), ("needs-auth", "failed", [])],
)
def test_the_agents_own_report_on_a_server_has_precedence(reported: str, status: str, tools: list[str]) -> None:
    session_layer = {MCP_SERVERS: [{"name": "calc", "status": reported}], **server("calc", ADD)}
    shown = fold_session_layer(session_layer, (), None)
    assert [item["name"] for item in shown.get(ITEMS, [])] == tools
    assert (shown[f"{SERVERS}calc.status"], shown[f"{SERVERS}calc.source"]) == (status, "agent")
    assert (f"{SERVERS}calc.reason" in shown) == (status == "failed")


def test_a_server_that_only_the_agent_can_reach_has_a_reason() -> None:
    failed = {f"{SERVERS}calc.status": "failed", f"{SERVERS}calc.reason": "it exited with code 3"}
    shown = fold_session_layer({MCP_SERVERS: [{"name": "calc", "status": "ready"}], **failed, **own("Bash")}, (), None)
    assert shown[f"{SERVERS}calc.status"] == "connected"
    assert "could not be listed: it exited with code 3" in shown[f"{SERVERS}calc.reason"]
    assert [item["name"] for item in shown[ITEMS]] == ["Bash"]


def test_a_server_of_the_agents_own_is_included() -> None:
    shown = fold_session_layer({MCP_SERVERS: [{"name": "git.hub", "status": "failed", "error": "no key"}]}, (), None)
    items = unflatten(shown)["custom"]["gateway"]["mcp"]
    assert items == {"git.hub": {"status": "failed", "source": "agent", "reason": "no key"}}


def test_a_server_that_is_not_there_has_no_tools_and_a_reason() -> None:
    session_layer = {f"{SERVERS}calc.status": "failed", f"{SERVERS}calc.reason": "it exited with code 3"}
    shown = fold_session_layer(session_layer, (), None)
    assert ITEMS not in shown
    assert shown[f"{SERVERS}calc.reason"] == "it exited with code 3"


def test_what_was_folded_in_is_not_shown_beside() -> None:
    shown = fold_session_layer({**server("calc", ADD), SEEN_TOOLS: ["Bash"]}, (), None)
    assert not [path for path in shown if path.endswith(LISTED_TOOLS) or path == SEEN_TOOLS]


def test_each_part_of_a_sessions_layer_names_its_source() -> None:
    session_layer = {"custom.session.cwd": "/", **own("Bash"), **server("calc", ADD), SEEN_TOOLS: ["Grep"]}
    snapshot = merge(session_layers(OTTER, session_layer, []))
    assert snapshot.source_of("custom.session.cwd") == "session (what the session reported)"
    assert snapshot.source_of(f"{SERVERS}calc.status") == "session (what became of its MCP servers)"
    source = "session (what the agent lists, tools/list of its MCP servers, calls that were seen)"
    assert snapshot.source_of(ITEMS) == source


def test_the_official_model_accepts_the_items() -> None:
    session_layer = {**own("Bash"), **server("calc", ADD, SUB), SEEN_TOOLS: ["Grep"]}
    tree = merge(session_layers(OTTER, session_layer, [LayerStatement("handshake", "", {ITEMS: [ADD]})])).tree()
    tools = AgentCapabilities.model_validate(tree, strict=True).tools
    assert tools is not None
    assert tools.items is not None
    assert [tool.name for tool in tools.items] == ["Bash", "add", "sub", "Grep"]


def test_what_the_session_lists_is_all_it_has_and_others_only_describe_it() -> None:
    below = [LayerStatement("profile", "", {ITEMS: [{"name": "Bash", "description": "Runs a command."}, ADD]})]
    shown = merge([*below, *session_layers(OTTER, own("Bash"), below)])
    assert shown.get(ITEMS) == [{"name": "Bash", "description": "Runs a command."}]


@pytest.mark.parametrize("can", [True, False, None])
def test_whether_calls_run_side_by_side_is_stated_by_the_model(can: bool | None) -> None:
    snapshot = merge([model_layer(OTTER, Model(id="large", parallel_tools=can))])
    assert snapshot.get("tools.parallelCalls") is can


@pytest.mark.parametrize("naming", ["{server}", "mcp__{tool}", "{server}{tool}", "{tool}{tool}"])
def test_a_name_pattern_must_separate_server_and_tool(naming: str) -> None:
    with pytest.raises(ValidationError, match="mcp_tool_names"):
        otter(mcp_tool_names=naming)


# -- that it has any


def supported(session_layer: dict[str, Any], *below: LayerStatement, model: LayerStatement | None = None) -> Any:
    """What the snapshot says of it, and who said so."""
    layers = [*below, *([] if model is None else [model]), *session_layers(OTTER, session_layer, below, model)]
    items = merge(layers).explain().get(SUPPORTED)
    return None if items is None else (items["value"], items["layer"], items["source"])


@pytest.mark.parametrize(
    ("session_layer", "source"),
    [
        (own("Bash"), "what the agent lists"),
        (server("calc", ADD), "tools/list of its MCP servers"),
        ({SEEN_TOOLS: ["Bash"]}, "calls that were seen"),
        ({SEEN_TOOLS: []}, "calls that were seen"),
    ],
    ids=["its own list", "a server's", "a call", "a call without a name"],
)
def test_a_session_that_has_tools_or_calls_one_supports_tools(session_layer: dict[str, Any], source: str) -> None:
    assert supported(session_layer) == (True, "session", source)
    assert supported(session_layer, LayerStatement("handshake", "an older word", {SUPPORTED: False})) == (
        True,
        "session",
        source,
    )


@pytest.mark.parametrize(
    "session_layer", [{"custom.session.cwd": "/"}, own(), server("calc"), server("calc", ADD, status="failed")]
)
def test_a_session_without_known_tools_does_not_state_support(session_layer: dict[str, Any]) -> None:
    assert supported(session_layer) is None


def test_a_no_of_the_session_s_own_or_of_its_model_s_stands() -> None:
    assert supported({SEEN_TOOLS: ["Bash"], SUPPORTED: False}) == (False, "session", "what the session reported")
    blunt = LayerStatement("model", "a model without tools", {SUPPORTED: False})
    assert supported({SEEN_TOOLS: ["Bash"]}, model=blunt) == (False, "model", "a model without tools")
