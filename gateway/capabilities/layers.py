"""Each party's word on capabilities, flattened: dotted AG-UI path → value. Absent says nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gateway.capabilities import session_tools
from gateway.capabilities.session_tools import ITEMS, SERVERS, SUPPORTED, folded, sources
from gateway.capability_paths import MODEL, MODES, flatten
from gateway.catalog.capability_table import camel, snake
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import LEVELS, all_levels, budget, levels, model_source
from gateway.catalog.models.definition import Model
from gateway.events import Layer

LAYERS = ("profile", "probe", "handshake", "model", "session", "gateway")
"""Later wins, key by key."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class LayerStatement:
    """One layer: who says what, where it was read and when."""

    layer: str
    source: str
    values: Mapping[str, Any]
    at: str = field(default_factory=now)
    """When it was first said so."""
    key_of: Callable[[str], str] | None = field(default=None, compare=False)
    """Where in the source a leaf stands; None: the source has no places."""

    def since(self, before: Iterable[LayerStatement]) -> LayerStatement:
        """Itself, or one of those before that says the same: then it has been known for so long."""
        mine = self.layer, self.source, self.values
        return next((said for said in before if (said.layer, said.source, said.values) == mine), self)


def profile_layer(definition: AgentDefinition) -> LayerStatement:
    """What the agent's file says of it."""
    identity = {
        "name": definition.identity.name,
        "type": definition.identity.type or definition.driver,
        "description": definition.identity.description,
        "version": definition.identity.version,
        "provider": definition.identity.provider,
        "documentationUrl": definition.identity.documentation_url,
    }
    values = flatten({"identity": identity}) | flatten(definition.capabilities) | _manifest(definition)
    return LayerStatement("profile", definition.source.name, values | _first_mode(definition), key_of=profile_key)


def profile_key(path: str) -> str:
    """The key of an agent's file that a leaf of its layer is from."""
    head, _, rest = path.partition(".")
    if head == "identity":
        return snake(path)
    if path.startswith("custom.mux."):
        name = path.removeprefix("custom.mux.")
        return EFFORT_KEYS.get(name) or f"manifest.{snake(name)}"
    if path == MODES:
        return "modes"
    return f"capabilities.{head}.{rest}" if head == "custom" else f"capabilities.{snake(path)}"


def _first_mode(definition: AgentDefinition) -> dict[str, Any]:
    """What a thread can be set to, and what it begins with. Which one it is in, its session tells."""
    if not definition.modes:
        return {}
    offered = [mode.to_json() for mode in definition.modes]
    return {MODES: offered, **flatten(definition.modes[0].capabilities)}


EFFORT_KEYS = {"thinkingEffortLevels": "effort.values", "supportsThinkingBudgetTokens": "effort.budget_parameter"}
MUX_NAMES = {"supports_mcp": "supportsMCP"}
"""Where agent-mux's name is not the plain camelCase."""


def _manifest(definition: AgentDefinition) -> dict[str, Any]:
    """`[manifest]` and `[effort]` by agent-mux's names."""
    told = definition.manifest.model_dump(mode="json", exclude_none=True)
    takes = budget(definition)
    told |= {"thinking_effort_levels": all_levels(definition), "supports_thinking_budget_tokens": _yes(takes)}
    return {f"custom.mux.{MUX_NAMES.get(key, camel(key))}": value for key, value in told.items() if value is not None}


def model_layer(definition: AgentDefinition, model: Model, agent: Layer | None = None) -> LayerStatement:
    """The chosen model's own limits. `agent`: what the agent itself announced; a model's yes does not undo its no, for
    the agent stands between the model and the client."""
    offered, takes = levels(definition, model), budget(definition, model)
    values = {
        "reasoning.supported": model.thinking,
        "reasoning.streaming": False if model.thinking is False else model.thinking_streaming,
        "tools.supported": model.tools,
        "tools.parallelCalls": model.parallel_tools,
        "multimodal.input.image": model.image_input,
        "multimodal.input.file": model.file_input,
        "multimodal.output.image": model.image_output,
        "output.structuredOutput": model.structured_output,
        "custom.mux.supportsJsonMode": model.json_mode,
        "custom.mux.supportsTextStreaming": model.text_streaming,
        "custom.mux.supportsToolCallStreaming": model.tool_streaming,
        "custom.mux.thinkingEffortLevels": None if offered is None else [one for one in LEVELS if one in offered],
        "custom.mux.supportsThinkingBudgetTokens": _yes(takes),
        **{f"custom.model.{key}": value for key, value in _about(model, takes).items()},
    }
    no = {path for path, value in (agent or {}).items() if value is False}
    told = {path: value for path, value in values.items() if value is not None and not (value is True and path in no)}
    return LayerStatement("model", model_source(definition, model), told)


def _about(model: Model, takes: tuple[int, int] | bool | None) -> dict[str, Any]:
    return {
        "id": model.id,
        "name": model.name,
        "provider": model.provider,
        "contextWindow": model.context,
        "maxOutputTokens": model.output,
        "maxThinkingTokens": model.max_thinking,
        "thinkingBudgetRange": list(takes) if isinstance(takes, tuple) else None,
        "deprecated": True if model.deprecated else None,
        "successorModelId": model.successor,
    }


def _yes(takes: tuple[int, int] | bool | None) -> bool | None:
    return None if takes is None else takes is not False


TOLD_BY = {"agent": "what the agent lists", "mcp": "tools/list of its MCP servers", "seen": "calls that were seen"}


def session_layers(
    definition: AgentDefinition,
    session_layer: Layer,
    below: Iterable[LayerStatement],
    model: LayerStatement | None = None,
) -> list[LayerStatement]:
    """What a thread's session has and is set to. `below`: the layers that it stands over. `model`: the one of them that
    is its model's, whose no to tools stands."""
    shown = folded(session_layer, [said.values for said in below], definition.mcp_tool_names)
    items = shown.pop(ITEMS, None)
    servers = {path: shown.pop(path) for path in [*shown] if path.startswith(SERVERS)}
    layers = [LayerStatement("session", "what the session told", shown)]
    if servers:
        layers.append(LayerStatement("session", "what became of its MCP servers", servers))
    has = {SUPPORTED: True} if session_tools.shown(session_layer, items, {} if model is None else model.values) else {}
    if items is not None:
        told_by = ", ".join(TOLD_BY.get(source, source) for source in sources(items)) or TOLD_BY["agent"]
        layers.append(LayerStatement("session", told_by, {ITEMS: items, **has}))
    elif has:
        layers.append(LayerStatement("session", TOLD_BY["seen"], has))
    return layers


def current_model(session_layer: Layer) -> str | None:
    """The model that a session is set to."""
    name = session_layer.get(MODEL)
    return name if isinstance(name, str) else None
