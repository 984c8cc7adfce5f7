"""The tools of a session, from all sources: `tools.items`. Pure.

In: the session's layer (the agent's own list, the state of its MCP servers and the tools that these list, names seen in
calls), and the items of the layers below. Out: each tool once, under the name by which the agent calls it, with
everything known of it; and the state of each server. The agent's own statement has precedence: a server that the agent
reports as failed contributes no tools. An item that the agent does not list itself names its source in its `metadata`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.capability_paths import GATEWAY_MCP, MCP_SERVERS, SEEN_TOOLS, escape_key, unescape_key
from gateway.events import Layer

ITEMS = "tools.items"
SUPPORTED = "tools.supported"
SERVERS = f"{GATEWAY_MCP}."
LISTED_TOOLS = ".listed"
"""Path in a session's layer, below a server: the tools that it lists. Folded into the items."""

NAME_PATTERNS = ("mcp__{server}__{tool}", "{server}__{tool}", "{server}.{tool}", "{server}/{tool}", "{server}-{tool}",
                 "{server}_{tool}", "mcp_{server}_{tool}", "mcp.{server}.{tool}", "mcp-{server}-{tool}")  # fmt: skip
"""How agents name a server's tool. The agent's file says which one it uses, or its calls show it."""

SERVER_STATUSES = {"connected": "connected", "ready": "connected", "pending": "connecting", "starting": "connecting"}
"""The agents' terms for a server's status → ours. Any other term means that the server failed."""

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    facts: Layer
    tools: Sequence[Mapping[str, Any]]
    """The tools that it lists to the gateway."""


def fold_session_layer(session_layer: Layer, below: Iterable[Layer], name_pattern: str | None) -> dict[str, Any]:
    """The session's layer as it is shown. `below`: the layers of lower precedence. `name_pattern`: by the agent's file;
    None if it names none."""
    values = {
        path: value for path, value in session_layer.items() if path != SEEN_TOOLS and not path.startswith(SERVERS)
    }
    servers = list(_read_servers(session_layer))
    reports = dict(_read_agent_reports(session_layer))
    for server in servers:
        values |= _server_values(server, reports.pop(server.name, None))
    for name, report in reports.items():
        values |= _server_values(Server(name, {}, ()), report)
    connected = [server for server in servers if _is_connected(values, server)]
    if ITEMS in session_layer or session_layer.get(SEEN_TOOLS) or any(server.tools for server in connected):
        values[ITEMS] = _merge_items(session_layer, below, connected, name_pattern)
    return values


def has_tools(stated: Sequence[Layer], items: Sequence[Mapping[str, Any]] | None, model: Layer) -> bool:
    """Whether the session shows that it has tools. `stated`: its own layer, and those of its mode. False if one of them
    states it, or the model has none."""
    is_stated = any(SUPPORTED in layer for layer in stated) or model.get(SUPPORTED) is False
    return not is_stated and (bool(items) or any(SEEN_TOOLS in layer for layer in stated))


def item_sources(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """`agent`, `described`, `mcp`, `recorded`, `seen`."""
    return sorted({(item.get("metadata") or {}).get("gateway", {}).get("source", "agent") for item in items})


# -- servers


def _read_servers(session_layer: Layer) -> Iterator[Server]:
    paths = [path for path in session_layer if path.startswith(SERVERS)]
    for segment in dict.fromkeys(path[len(SERVERS) :].partition(".")[0] for path in paths):
        prefix = f"{SERVERS}{segment}."
        facts = {path[len(prefix) :]: session_layer[path] for path in paths if path.startswith(prefix)}
        yield Server(unescape_key(segment), facts, facts.pop(LISTED_TOOLS[1:], ()))


def _read_agent_reports(session_layer: Layer) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for report in session_layer.get(MCP_SERVERS) or ():
        match report:
            case {"name": str(name), "status": str()}:
                yield name, report


def _server_values(server: Server, report: Mapping[str, Any] | None) -> dict[str, Any]:
    """`report`: the agent's own, which has precedence."""
    facts = {"source": "gateway", **server.facts}
    if report is not None:
        facts["status"] = SERVER_STATUSES.get(report["status"], "failed")
        facts["source"] = "agent"
        facts["reason"] = _explain_report(server, report)
    prefix = f"{SERVERS}{escape_key(server.name)}."
    return {prefix + key: value for key, value in facts.items() if value is not None}


def _explain_report(server: Server, report: Mapping[str, Any]) -> str | None:
    """Why the server is not connected; or, if it is, why its tools are not known."""
    if report["status"] not in SERVER_STATUSES:
        return str(report.get("error") or f"the agent says: {report['status']}")
    if server.facts.get("status") != "failed":
        return None
    return f"the agent has it, but its tools could not be listed: {server.facts.get('reason')}"


def _is_connected(values: Layer, server: Server) -> bool:
    return values.get(f"{SERVERS}{escape_key(server.name)}.status") == "connected"


# -- items


def _merge_items(
    session_layer: Layer, below: Iterable[Layer], servers: Sequence[Server], name_pattern: str | None
) -> list[Item]:
    items: dict[str, Item] = {}
    for layer in (*below, session_layer):
        for item in layer.get(ITEMS) or ():
            items[item["name"]] = _merge_item(items.get(item["name"]), item)
    if ITEMS in session_layer:  # The session's own list is complete; the layers below can only add descriptions.
        items = {item["name"]: _mark_described(items[item["name"]]) for item in session_layer[ITEMS]}
    seen = [name for name in session_layer.get(SEEN_TOOLS) or () if isinstance(name, str)]
    name_pattern = name_pattern or _find_name_pattern(servers, {*items, *seen})
    for server in servers:
        for tool in server.tools:
            name = _name_tool(server, tool["name"], name_pattern, items)
            items[name] = _merge_item(_to_item(server, tool, name), items.get(name, {}))
    for name in seen:
        items.setdefault(name, {"name": name, "description": "", "metadata": {"gateway": {"source": "seen"}}})
    return list(items.values())


def _merge_item(known: Item | None, item: Mapping[str, Any]) -> Item:
    """The fields of `item` win where they are not empty."""
    stated = {key: value for key, value in item.items() if value not in ("", None)}
    return {"name": item.get("name"), "description": "", **(known or {}), **stated}


def _mark_described(item: Item) -> Item:
    """A tool that the agent lists itself, and of which more was recorded."""
    source = (item.get("metadata") or {}).get("gateway", {}).get("source")
    return item if source != "recorded" else {**item, "metadata": {"gateway": {"source": "described"}}}


def _to_item(server: Server, tool: Mapping[str, Any], name: str) -> Item:
    details = {key: tool[key] for key in ("title", "annotations") if key in tool}
    item = {"name": name, "description": tool.get("description", "")}
    if "parameters" in tool:
        item["parameters"] = tool["parameters"]
    return item | {
        "metadata": {"gateway": {"source": "mcp"}, "mcp": {"server": server.name, "tool": tool["name"], **details}}
    }


def _name_tool(server: Server, tool: str, name_pattern: str | None, taken: Mapping[str, Item]) -> str:
    if name_pattern is not None:
        return _apply_pattern(name_pattern, server.name, tool)
    return tool if tool not in taken else _apply_pattern(NAME_PATTERNS[0], server.name, tool)


def _apply_pattern(name_pattern: str, server: str, tool: str) -> str:
    """Models accept letters, digits, `_` and `-` in a name. A pattern with another character is not shown to models."""
    if re.search(r"[./]", name_pattern):
        return name_pattern.format(server=server, tool=tool)
    return name_pattern.format(server=re.sub(r"[^\w-]", "_", server, flags=re.ASCII), tool=tool)


def _find_name_pattern(servers: Sequence[Server], names: set[str]) -> str | None:
    """The pattern by which one of the known names is a tool of a server."""
    for pattern in NAME_PATTERNS:
        if any(
            _apply_pattern(pattern, server.name, tool["name"]) in names for server in servers for tool in server.tools
        ):
            return pattern
    return None
