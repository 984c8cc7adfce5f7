"""What a session is set to and offers, read from its events into the capability layers; and the server's model list.

In: the data of an event, or a result. Out: values under dotted paths, events for the client, model definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.capability_paths import (
    COMMANDS,
    CONTEXT_TOKENS,
    CWD,
    EFFORT,
    MCP_SERVERS,
    MODE,
    MODEL,
    SKILLS,
    TITLE,
    USED_TOKENS,
)
from gateway.capability_paths import MODES as AVAILABLE_MODES
from gateway.events import Custom, Event
from gateway.wire.fields import count, flag, items, non_empty, obj, present, strings, text

MODES = (
    {"id": "interactive", "name": "Interactive"},
    {"id": "plan", "name": "Plan", "description": "Makes a plan first, and asks before it is carried out."},
    {"id": "autopilot", "name": "Autopilot", "description": "Goes on by itself until the task is complete."},
)
SILENT_SERVER_STATUSES = ("pending", "connected", "disabled", "not_configured", None)

Layer = dict[str, Any]
Data = dict[str, Any]


def read_model_state(session_layer: Layer, result: Data) -> None:
    """The `modelState` of a result."""
    state = obj(result.get("modelState"))
    session_layer |= present({MODEL: non_empty(state.get("modelId")), EFFORT: non_empty(state.get("reasoningEffort"))})


def read_opened_session(session_layer: Layer, result: Data) -> None:
    """The result of `session.create` and `session.resume`."""
    session_layer[AVAILABLE_MODES] = list(MODES)
    session_layer[MODE] = non_empty(result.get("mode")) or "interactive"
    read_model_state(session_layer, result)


def read_models(result: Data) -> list[Data]:
    """`models.list`: the models as `[[models]]` of an agent file has them. The user must be signed in."""
    return [
        _to_model(model_id, model) for model in items(result.get("models")) if (model_id := non_empty(model.get("id")))
    ]


def _to_model(model_id: str, model: Data) -> Data:
    capabilities = obj(model.get("capabilities"))
    supports = obj(capabilities.get("supports"))
    limits = obj(capabilities.get("limits"))
    efforts = model.get("supportedReasoningEfforts")
    return present(
        {
            "id": model_id,
            "name": text(model.get("name")),
            "context": count(limits.get("max_context_window_tokens")),
            "output": count(limits.get("max_output_tokens")),
            "image_input": flag(supports.get("vision")),
            "tools": flag(supports.get("toolCalls")),
            "efforts": strings(efforts) if isinstance(efforts, list) else None,
            "provider": text(model.get("vendor")),
        }
    )


# -- events


def _read_start(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    handshake_layer |= present({"identity.version": non_empty(data.get("copilotVersion"))})
    cwd = non_empty(obj(data.get("context")).get("cwd"))
    session_layer |= present({MODEL: non_empty(data.get("selectedModel")), CWD: cwd})
    return []


def _read_mode(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    mode = non_empty(data.get("newMode"))
    if mode is None or session_layer.get(MODE) == mode:
        return []
    session_layer[MODE] = mode
    return [Custom("session.mode", {"mode": mode})]


def _read_model(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    session_layer |= present({MODEL: non_empty(data.get("newModel")), EFFORT: non_empty(data.get("reasoningEffort"))})
    return []


def _read_title(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    title = text(data.get("title"))
    if title is None or session_layer.get(TITLE) == title:
        return []
    session_layer[TITLE] = title
    return [Custom("session.info", {"title": title})]


def _read_context_usage(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    """The size of the context, as the agent counts it."""
    used = count(data.get("currentTokens"))
    size = count(data.get("tokenLimit"))
    values = present({USED_TOKENS: used, CONTEXT_TOKENS: size})
    if values.items() <= session_layer.items():
        return []
    session_layer |= values
    return [Custom("session.usage", present({"used": used, "size": size}))]


def _read_commands(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    commands = _pick_texts(data.get("commands"), "name", "description")
    session_layer[COMMANDS] = commands
    return [Custom("session.commands", {"commands": commands})]


def _read_skills(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    session_layer[SKILLS] = [name for skill in items(data.get("skills")) if (name := non_empty(skill.get("name")))]
    return []


def _read_mcp_servers(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    session_layer[MCP_SERVERS] = _pick_texts(data.get("servers"), "name", "status", "error")
    return []


def _pick_texts(value: Any, *keys: str) -> list[Data]:
    """These text fields of each object in a list."""
    return [present({key: text(item.get(key)) for key in keys}) for item in items(value)]


def _read_mcp_server(session_layer: Layer, handshake_layer: Layer, data: Data) -> list[Event]:
    """The client gets only states that keep the server's tools away."""
    server = present({key: text(data.get(key)) for key in ("serverName", "status", "error")})
    return [] if server.get("status") in SILENT_SERVER_STATUSES else [Custom("copilot.mcp_server", server)]


STATE_READERS: dict[str, Callable[[Layer, Layer, Data], list[Event]]] = {
    "session.start": _read_start,
    "session.resume": _read_start,
    "session.mode_changed": _read_mode,
    "session.model_change": _read_model,
    "session.title_changed": _read_title,
    "session.usage_info": _read_context_usage,
    "commands.changed": _read_commands,
    "session.skills_loaded": _read_skills,
    "session.mcp_servers_loaded": _read_mcp_servers,
    "session.mcp_server_status_changed": _read_mcp_server,
    "session.mcp_server_removed": _read_mcp_server,
    "session.mcp_server_needs_reconnect": _read_mcp_server,
}
"""For events of the main agent: a subagent's model says nothing about the session."""
