"""What a session's tools are, from all who know of them: `tools.items`. Pure.

In: what a session has learned (the agent's own list, what became of MCP servers and what they list, names seen in
calls), and the items of the layers below. Out: each tool once, under the name by which the agent calls it, with all
that is known of it; and how each server stands. The agent's own word comes first: a server that it calls failed gives
it no tools. An item says in its `metadata` where it is from, but for those that the agent itself lists.
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
LISTED = ".listed"
"""A session's leaf below a server: what it lists. Folded into the items."""

NAMINGS = ("mcp__{server}__{tool}", "{server}__{tool}", "{server}.{tool}", "{server}/{tool}", "{server}-{tool}",
           "{server}_{tool}", "mcp_{server}_{tool}", "mcp.{server}.{tool}", "mcp-{server}-{tool}")  # fmt: skip
"""What agents make of a server's tool. Which one an agent has, its file says, or its calls show."""

WORDS = {"connected": "connected", "ready": "connected", "pending": "connecting", "starting": "connecting"}
"""How agents say that a server stands; any other word of theirs means that it is not there."""

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    facts: Layer
    tools: Sequence[Mapping[str, Any]]
    """What it lists to the gateway."""


def folded(session_layer: Layer, below: Iterable[Layer], naming: str | None) -> dict[str, Any]:
    """The session's layer as it is shown. `below`: the layers that it stands over. `naming`: as the agent's file says;
    None: nobody knows."""
    found = {
        path: value for path, value in session_layer.items() if path != SEEN_TOOLS and not path.startswith(SERVERS)
    }
    servers, words = list(_servers(session_layer)), dict(_agents_words(session_layer))
    for server in servers:
        found |= _standing(server, words.pop(server.name, None))
    for name, word in words.items():
        found |= _standing(Server(name, {}, ()), word)
    there = [server for server in servers if _there(found, server)]
    if ITEMS in session_layer or session_layer.get(SEEN_TOOLS) or any(server.tools for server in there):
        found[ITEMS] = _items(session_layer, below, there, naming)
    return found


def shown(session_layer: Layer, items: Sequence[Mapping[str, Any]] | None, model: Layer) -> bool:
    """What a session has and does shows that it has tools. What it says of that itself stands, and a model's no."""
    said = SUPPORTED in session_layer or model.get(SUPPORTED) is False
    return not said and (bool(items) or SEEN_TOOLS in session_layer)


def sources(items: Iterable[Mapping[str, Any]]) -> list[str]:
    """Who told them: `agent`, `mcp`, `seen`."""
    return sorted({(item.get("metadata") or {}).get("gateway", {}).get("source", "agent") for item in items})


# -- servers


def _servers(session_layer: Layer) -> Iterator[Server]:
    names = dict.fromkeys(path[len(SERVERS) :].partition(".")[0] for path in session_layer if path.startswith(SERVERS))
    for step in names:
        place = f"{SERVERS}{step}."
        facts = {path[len(place) :]: value for path, value in session_layer.items() if path.startswith(place)}
        yield Server(unescape_key(step), facts, facts.pop(LISTED[1:], ()))


def _agents_words(session_layer: Layer) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for one in session_layer.get(MCP_SERVERS) or ():
        match one:
            case {"name": str(name), "status": str()}:
                yield name, one


def _standing(server: Server, word: Mapping[str, Any] | None) -> dict[str, Any]:
    facts = {"source": "gateway", **server.facts}
    if word is not None:
        facts |= {"status": WORDS.get(word["status"], "failed"), "source": "agent", "reason": _reason(server, word)}
    place = f"{SERVERS}{escape_key(server.name)}."
    return {place + key: value for key, value in facts.items() if value is not None}


def _reason(server: Server, word: Mapping[str, Any]) -> str | None:
    """Why it is not there; or why nobody knows its tools, though it is."""
    if word["status"] not in WORDS:
        return str(word.get("error") or f"the agent says: {word['status']}")
    failed = server.facts.get("status") == "failed"
    return f"the agent has it, but its tools could not be asked for: {server.facts.get('reason')}" if failed else None


def _there(found: Layer, server: Server) -> bool:
    return found.get(f"{SERVERS}{escape_key(server.name)}.status") == "connected"


# -- items


def _items(session_layer: Layer, below: Iterable[Layer], servers: Sequence[Server], naming: str | None) -> list[Item]:
    items: dict[str, Item] = {}
    for layer in (*below, session_layer):
        for told in layer.get(ITEMS) or ():
            items[told["name"]] = _better(items.get(told["name"]), told)
    if (
        ITEMS in session_layer
    ):  # the session's own list is all that it has; whoever spoke before can only describe it better
        items = {told["name"]: items[told["name"]] for told in session_layer[ITEMS]}
    seen = [name for name in session_layer.get(SEEN_TOOLS) or () if isinstance(name, str)]
    naming = naming or _shown(servers, {*items, *seen})
    for server in servers:
        for tool in server.tools:
            name = _name(server, tool["name"], naming, items)
            items[name] = _better(_from(server, tool, name), items.get(name, {}))
    for name in seen:
        items.setdefault(name, {"name": name, "description": "", "metadata": {"gateway": {"source": "seen"}}})
    return list(items.values())


def _better(known: Item | None, told: Mapping[str, Any]) -> Item:
    """The later word where it says something."""
    said = {key: value for key, value in told.items() if value not in ("", None)}
    return {"name": told.get("name"), "description": "", **(known or {}), **said}


def _from(server: Server, tool: Mapping[str, Any], name: str) -> Item:
    about = {key: tool[key] for key in ("title", "annotations") if key in tool}
    item = {"name": name, "description": tool.get("description", "")}
    if "parameters" in tool:
        item["parameters"] = tool["parameters"]
    return item | {
        "metadata": {"gateway": {"source": "mcp"}, "mcp": {"server": server.name, "tool": tool["name"], **about}}
    }


def _name(server: Server, tool: str, naming: str | None, taken: Mapping[str, Item]) -> str:
    if naming is not None:
        return _called(naming, server.name, tool)
    return tool if tool not in taken else _called(NAMINGS[0], server.name, tool)


def _called(naming: str, server: str, tool: str) -> str:
    """Models take letters, digits, `_` and `-` in a name; one with another sign never reached a model."""
    if re.search(r"[./]", naming):
        return naming.format(server=server, tool=tool)
    return naming.format(server=re.sub(r"[^\w-]", "_", server, flags=re.ASCII), tool=tool)


def _shown(servers: Sequence[Server], names: set[str]) -> str | None:
    """The naming by which a name that is known is one of a server's tools."""
    for naming in NAMINGS:
        if any(_called(naming, server.name, tool["name"]) in names for server in servers for tool in server.tools):
            return naming
    return None
