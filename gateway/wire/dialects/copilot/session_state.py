"""What a session is set to and has: read off its events into the capability layers.

In: the data of an event. Out: dotted paths, and what a client is told of the change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.capability_paths import COMMANDS, CWD, EFFORT, MCP_SERVERS, MODE, MODEL, SESSION, SKILLS, TITLE
from gateway.capability_paths import MODES as MODES_OFFERED
from gateway.events import Custom, Event
from gateway.wire.fields import count, items, non_empty, obj, present, text

MODES = (
    {"id": "interactive", "name": "Interactive"},
    {"id": "plan", "name": "Plan", "description": "Makes a plan first, and asks before it is carried out."},
    {"id": "autopilot", "name": "Autopilot", "description": "Goes on by itself until the task is complete."},
)

Flat = dict[str, Any]
Data = dict[str, Any]


def model_state(facts: Flat, told: Any) -> None:
    """`modelState` of an answer."""
    state = obj(told)
    facts |= present({MODEL: non_empty(state.get("modelId")), EFFORT: non_empty(state.get("reasoningEffort"))})


def opened(facts: Flat, result: Data) -> None:
    """The answer to `session.create` and `session.resume`."""
    facts[MODES_OFFERED] = list(MODES)
    facts[MODE] = non_empty(result.get("mode")) or "interactive"
    model_state(facts, result.get("modelState"))


def _started(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    handshake_layer |= present({"identity.version": non_empty(data.get("copilotVersion"))})
    cwd = non_empty(obj(data.get("context")).get("cwd"))
    facts |= present({MODEL: non_empty(data.get("selectedModel")), CWD: cwd})
    return []


def _mode(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    mode = non_empty(data.get("newMode"))
    if mode is None or facts.get(MODE) == mode:
        return []
    facts[MODE] = mode
    return [Custom("session.mode", {"mode": mode})]


def _model(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    facts |= present({MODEL: non_empty(data.get("newModel")), EFFORT: non_empty(data.get("reasoningEffort"))})
    return []


def _title(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    title = text(data.get("title"))
    if title is None or facts.get(TITLE) == title:
        return []
    facts[TITLE] = title
    return [Custom("session.info", {"title": title})]


def _usage(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    """Of the context, by the agent's own count."""
    told = present({"used": count(data.get("currentTokens")), "size": count(data.get("tokenLimit"))})
    news = {f"{SESSION}.usage.{key}": value for key, value in told.items()}
    if news.items() <= facts.items():
        return []
    facts |= news
    return [Custom("session.usage", told)]


def _commands(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    keys = ("name", "description")
    told = [present({key: text(one.get(key)) for key in keys}) for one in items(data.get("commands"))]
    facts[COMMANDS] = told
    return [Custom("session.commands", {"commands": told})]


def _skills(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    facts[SKILLS] = [name for one in items(data.get("skills")) if (name := non_empty(one.get("name")))]
    return []


def _mcp_servers(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    keys = ("name", "status", "error")
    servers = [present({key: text(one.get(key)) for key in keys}) for one in items(data.get("servers"))]
    facts[MCP_SERVERS] = servers
    return []


def _mcp_server(facts: Flat, handshake_layer: Flat, data: Data) -> list[Event]:
    """Only what keeps a server's tools away is worth a word."""
    about = present({key: text(data.get(key)) for key in ("serverName", "status", "error")})
    quiet = about.get("status") in ("pending", "connected", "disabled", "not_configured", None)
    return [] if quiet else [Custom("copilot.mcp_server", about)]


FACTS: dict[str, Callable[[Flat, Flat, Data], list[Event]]] = {
    "session.start": _started,
    "session.resume": _started,
    "session.mode_changed": _mode,
    "session.model_change": _model,
    "session.title_changed": _title,
    "session.usage_info": _usage,
    "commands.changed": _commands,
    "session.skills_loaded": _skills,
    "session.mcp_servers_loaded": _mcp_servers,
    "session.mcp_server_status_changed": _mcp_server,
    "session.mcp_server_removed": _mcp_server,
    "session.mcp_server_needs_reconnect": _mcp_server,
}
"""Of the main agent: a subagent's model is no fact of the session."""
