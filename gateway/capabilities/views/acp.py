"""The snapshot as agents-wire's `IAgentCapabilities`: `?view=acp`.

In: a snapshot and the agent's definition. Out: the JSON object: every field of the interface, then the newer fields of
ACP that the agent stated in its handshake. For an agent with another protocol the fields say what the gateway can do
with it. An unknown field is absent, and named in `unknown`, because the interface requires all of them.
"""

from __future__ import annotations

from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import find_fact
from gateway.capability_paths import unflatten
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.options import declared_options

PREFIX = "custom.acp."

FIELDS = (
    "loadSession",
    "forkSession",
    "resumeSession",
    "closeSession",
    "listSessions",
    "additionalDirectories",
    "mcp.stdio",
    "mcp.http",
    "mcp.sse",
    "prompt.text",
    "prompt.image",
    "prompt.audio",
    "prompt.embeddedContext",
)

MUX_NAMES = {"loadSession": "canResume", "resumeSession": "canResume", "forkSession": "canFork"}
"""Field → agent-mux's name of the same ability."""
INPUT_NAMES = {"prompt.image": "image", "prompt.audio": "audio", "prompt.embeddedContext": "file"}
"""Field → AG-UI's name of the same input."""
ACP_METHODS = ("closeSession", "listSessions")
"""Methods of ACP: a local agent with another protocol does not have them."""
REQUIRED_OPTIONS = {"additionalDirectories": "additionalDirectories", "mcp": "mcpServers"}
"""Field, or the first segment of one → the option of a run that it needs."""


def view(snapshot: Snapshot, definition: AgentDefinition) -> dict[str, Any]:
    fields = {name: _read_field(name, snapshot, definition) for name in FIELDS}
    tree = unflatten({name: value for name, value in fields.items() if value is not None} | _newer_fields(snapshot))
    unknown = [name for name, value in fields.items() if value is None]
    return tree | ({"unknown": unknown} if unknown else {})


def _read_field(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    """The agent's own statement has precedence. None if it is unknown."""
    if isinstance(stated := snapshot.get(PREFIX + name), bool):
        return stated
    if name in MUX_NAMES:
        return _to_flag(find_fact(snapshot, MUX_NAMES[name]).value)
    if name in INPUT_NAMES:
        return _to_flag(snapshot.get(f"multimodal.input.{INPUT_NAMES[name]}"))
    if name == "prompt.text":
        return True
    return _derive_field(name, snapshot, definition)


def _derive_field(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    if definition.driver in ("cli", "python"):
        option = REQUIRED_OPTIONS.get(name.partition(".")[0])
        if name in ACP_METHODS or (option is not None and option not in declared_options(definition)):
            return False
        if name == "additionalDirectories":
            return True
    return _derive_mcp(name, snapshot, definition) if name.startswith("mcp.") else None


def _derive_mcp(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    """An agent that takes MCP servers takes stdio servers, and so does every ACP agent. Other transports are
    unknown."""
    supports_mcp = find_fact(snapshot, "supportsMCP").value
    if supports_mcp is False:
        return False
    return True if name == "mcp.stdio" and (supports_mcp or definition.driver == "acp") else None


def _to_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _newer_fields(snapshot: Snapshot) -> dict[str, Any]:
    stated = {path.removeprefix(PREFIX): value for path, value in snapshot.values.items() if path.startswith(PREFIX)}
    return {path: value for path, value in stated.items() if not any(_overlap(path, name) for name in FIELDS)}


def _overlap(path: str, name: str) -> bool:
    """Whether one path equals or contains the other: an agent's file may have anything under `custom`."""
    return f"{path}.".startswith(f"{name}.") or f"{name}.".startswith(f"{path}.")
