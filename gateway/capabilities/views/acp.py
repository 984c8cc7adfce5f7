"""The snapshot as agents-wire's `IAgentCapabilities`: `?view=acp`.

In: a snapshot and the agent's definition. Out: the JSON object: every field of the interface, then what ACP has gained
since and the agent told in its handshake. Of an agent that speaks another protocol it is what the same wish comes to
here. What nobody knows is absent, and named in `unknown`, for the interface requires all of them.
"""

from __future__ import annotations

from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import fact
from gateway.capability_paths import unflatten
from gateway.catalog.definition import AgentDefinition

HERE = "custom.acp."

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

FACTS = {"loadSession": "canResume", "resumeSession": "canResume", "forkSession": "canFork"}
"""Field → agent-mux's name for the same."""
MEDIA = {"prompt.image": "image", "prompt.audio": "audio", "prompt.embeddedContext": "file"}
"""Field → AG-UI's name for the same input."""
CALLS = ("closeSession", "listSessions")
"""Methods of ACP's own, which an agent that runs here and speaks something else cannot be called with."""
BY_OPTION = {"additionalDirectories": "additionalDirectories", "mcp": "mcpServers"}
"""Field, or where it stands, → the option of a run without which nobody can wish for it."""


def view(snapshot: Snapshot, definition: AgentDefinition) -> dict[str, Any]:
    told = {name: _told(name, snapshot, definition) for name in FIELDS}
    tree = unflatten({name: value for name, value in told.items() if value is not None} | _further(snapshot))
    unknown = [name for name, value in told.items() if value is None]
    return tree | ({"unknown": unknown} if unknown else {})


def _told(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    """The agent's own word first; None: nobody knows."""
    if isinstance(said := snapshot.get(HERE + name), bool):
        return said
    if name in FACTS:
        return _flag(fact(snapshot, FACTS[name]).value)
    if name in MEDIA:
        return _flag(snapshot.get(f"multimodal.input.{MEDIA[name]}"))
    if name == "prompt.text":
        return True
    return _otherwise(name, snapshot, definition)


def _otherwise(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    if definition.driver in ("cli", "python"):
        option = BY_OPTION.get(name.partition(".")[0])
        if name in CALLS or (option is not None and option not in definition.options):
            return False
        if name == "additionalDirectories":
            return True
    return _mcp(name, snapshot, definition) if name.startswith("mcp.") else None


def _mcp(name: str, snapshot: Snapshot, definition: AgentDefinition) -> bool | None:
    """Programs are taken by whoever takes MCP servers at all, and by every ACP agent; the rest only the agent knows."""
    takes = fact(snapshot, "supportsMCP").value
    if takes is False:
        return False
    return True if name == "mcp.stdio" and (takes or definition.driver == "acp") else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _further(snapshot: Snapshot) -> dict[str, Any]:
    told = {path.removeprefix(HERE): value for path, value in snapshot.values.items() if path.startswith(HERE)}
    return {path: value for path, value in told.items() if not any(_meet(path, name) for name in FIELDS)}


def _meet(path: str, name: str) -> bool:
    """The same place, or one inside the other: an agent's file may have anything under `custom`."""
    return f"{path}.".startswith(f"{name}.") or f"{name}.".startswith(f"{path}.")
