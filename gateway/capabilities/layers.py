"""The layers of a snapshot: what each party states of an agent's capabilities, as dotted AG-UI path → value.

In: the agent's file, its model, its session. Out: a `LayerStatement` for each. A path that a layer lacks is not stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gateway.capabilities.session_tools import (
    ITEMS,
    SERVERS,
    SUPPORTED,
    fold_session_layer,
    has_tools,
    item_sources,
)
from gateway.capability_paths import GATEWAY_SANDBOX, MODEL, MODES, TRUST, WORKTREE, flatten
from gateway.catalog.capability_table import camel, snake
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import LEVELS, all_levels, budget, levels, model_source
from gateway.catalog.models.definition import Model
from gateway.events import Layer

SANDBOX_PREFIX = f"{GATEWAY_SANDBOX}."
SANDBOXED = "execution.sandboxed"

LAYERS = ("profile", "probe", "handshake", "model", "session", "gateway")
"""In order of precedence: later layers win, key by key."""


def current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class LayerStatement:
    """One layer, or a part of it from one source."""

    layer: str
    """One of `LAYERS`."""
    source: str
    """Where the values come from: a file, an answer of the agent."""
    values: Mapping[str, Any]
    since: str = field(default_factory=current_time)
    """When the source first stated these values."""
    key_of: Callable[[str], str] | None = field(default=None, compare=False)
    """Path → key in the source; None if the source has no keys."""

    @property
    def label(self) -> str:
        """`profile (echo.toml)`."""
        return f"{self.layer} ({self.source})"

    def keep_date(self, earlier: Iterable[LayerStatement]) -> LayerStatement:
        """The one of the earlier statements that equals this one, with its date; this one if there is none."""
        own = (self.layer, self.source, self.values)
        return next((other for other in earlier if (other.layer, other.source, other.values) == own), self)


def profile_layer(definition: AgentDefinition) -> LayerStatement:
    """What the agent's file states."""
    identity = {
        "name": definition.identity.name,
        "type": definition.identity.type or definition.driver,
        "description": definition.identity.description,
        "version": definition.identity.version,
        "provider": definition.identity.provider,
        "documentationUrl": definition.identity.documentation_url,
    }
    values = flatten({"identity": identity}) | flatten(definition.capabilities) | _manifest(definition)
    return LayerStatement("profile", definition.source.name, values | _modes(definition), key_of=profile_key)


def profile_key(path: str) -> str:
    """The key of the agent's file that a path of its layer comes from."""
    head, _, rest = path.partition(".")
    if head == "identity":
        return snake(path)
    if path.startswith("custom.mux."):
        name = path.removeprefix("custom.mux.")
        return EFFORT_KEYS.get(name) or f"manifest.{snake(name)}"
    if path == MODES:
        return "modes"
    return f"capabilities.{head}.{rest}" if head == "custom" else f"capabilities.{snake(path)}"


def _modes(definition: AgentDefinition) -> dict[str, Any]:
    """The modes that a thread can be set to, and the capabilities of the first one, in which it starts. The session
    states the current mode."""
    if not definition.modes:
        return {}
    available = [mode.to_json() for mode in definition.modes]
    return {MODES: available, **flatten(definition.modes[0].capabilities)}


EFFORT_KEYS = {"thinkingEffortLevels": "effort.values", "supportsThinkingBudgetTokens": "effort.budget_parameter"}
MUX_NAMES = {"supports_mcp": "supportsMCP"}
"""Manifest key → agent-mux's name, where that is not the plain camelCase."""


def _manifest(definition: AgentDefinition) -> dict[str, Any]:
    """`[manifest]` and `[effort]` under agent-mux's names."""
    values = definition.manifest.model_dump(mode="json", exclude_none=True)
    values["thinking_effort_levels"] = all_levels(definition)
    values["supports_thinking_budget_tokens"] = _has_budget(budget(definition))
    return {f"custom.mux.{MUX_NAMES.get(key, camel(key))}": value for key, value in values.items() if value is not None}


def model_layer(definition: AgentDefinition, model: Model, agent: Layer | None = None) -> LayerStatement:
    """The limits of the model. `agent`: what the agent itself announced. Where the agent states false, a model's true
    is left out: the client reaches the model through the agent only."""
    effort_levels = levels(definition, model)
    token_budget = budget(definition, model)
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
        "custom.mux.thinkingEffortLevels": (
            None if effort_levels is None else [level for level in LEVELS if level in effort_levels]
        ),
        "custom.mux.supportsThinkingBudgetTokens": _has_budget(token_budget),
        **{f"custom.model.{key}": value for key, value in _model_details(model, token_budget).items()},
    }
    denied = {path for path, value in (agent or {}).items() if value is False}
    stated = {
        path: value for path, value in values.items() if value is not None and not (value is True and path in denied)
    }
    return LayerStatement("model", model_source(definition, model), stated)


def _model_details(model: Model, token_budget: tuple[int, int] | bool | None) -> dict[str, Any]:
    return {
        "id": model.id,
        "name": model.name,
        "provider": model.provider,
        "contextWindow": model.context,
        "maxOutputTokens": model.output,
        "maxThinkingTokens": model.max_thinking,
        "thinkingBudgetRange": list(token_budget) if isinstance(token_budget, tuple) else None,
        "deprecated": True if model.deprecated else None,
        "successorModelId": model.successor,
    }


def _has_budget(token_budget: tuple[int, int] | bool | None) -> bool | None:
    return None if token_budget is None else token_budget is not False


TOOL_SOURCES = {
    "agent": "what the agent lists",
    "mcp": "tools/list of its MCP servers",
    "seen": "calls that were seen",
}
"""Source of a tool, in its metadata → the source of the statement."""


TRUST_SOURCES = {
    "operator": "the operator trusts the folder (setting `trust`)",
    "user": "the user trusts the folder (the trust file)",
    "run": "the user's answer, for this run",
    "thread": "the user's answer in this thread",
    "setting": "the setting `unknown_folder`",
    "session": "how the session was started",
    "none": "there is no decision about the folder yet",
}
"""`custom.gateway.trust.decidedBy` → the source of the statement."""


def trust_layer(values: Layer) -> LayerStatement:
    """What the gateway decided about the folder."""
    return LayerStatement("gateway", TRUST_SOURCES[values[f"{TRUST}.decidedBy"]], values)


def session_layers(
    definition: AgentDefinition,
    session_layer: Layer,
    below: Iterable[LayerStatement],
    model: LayerStatement | None = None,
) -> list[LayerStatement]:
    """What a thread's session states. `below`: the layers of lower precedence. `model`: the layer of the session's
    model; if that states that there are no tools, it holds."""
    values = fold_session_layer(session_layer, [statement.values for statement in below], definition.mcp_tool_names)
    items = values.pop(ITEMS, None)
    servers = {path: values.pop(path) for path in [*values] if path.startswith(SERVERS)}
    sandbox = {path: values.pop(path) for path in [*values] if path.startswith(SANDBOX_PREFIX)}
    worktree = {path: values.pop(path) for path in [*values] if path.startswith(f"{WORKTREE}.")}
    trust = {path: values.pop(path) for path in [*values] if path.startswith(f"{TRUST}.")}
    layers = [LayerStatement("session", "what the session reported", values)] if values else []
    if sandbox:
        layers.append(_sandbox_layer(sandbox, [values, *(statement.values for statement in below)]))
    if worktree:
        layers.append(LayerStatement("gateway", "the git worktree that it made for the thread", worktree))
    if trust:
        layers.append(trust_layer(trust))
    if servers:
        layers.append(LayerStatement("session", "what became of its MCP servers", servers))
    supported = {SUPPORTED: True} if has_tools(session_layer, items, {} if model is None else model.values) else {}
    if items is not None:
        source = ", ".join(TOOL_SOURCES.get(name, name) for name in item_sources(items)) or TOOL_SOURCES["agent"]
        layers.append(LayerStatement("session", source, {ITEMS: items, **supported}))
    elif supported:
        layers.append(LayerStatement("session", TOOL_SOURCES["seen"], supported))
    return layers


def _sandbox_layer(facts: Layer, others: Iterable[Layer]) -> LayerStatement:
    """`others`: what all others state. An agent that the gateway runs without a sandbox may have one of its own: then
    its own statement holds."""
    is_sandboxed = facts.get(f"{SANDBOX_PREFIX}kind") != "none"
    is_stated = any(SANDBOXED in values for values in others)
    stated = {SANDBOXED: is_sandboxed} if is_sandboxed or not is_stated else {}
    return LayerStatement("gateway", "the sandbox of its process", {**facts, **stated})


def current_model(session_layer: Layer) -> str | None:
    """The model that a session is set to."""
    name = session_layer.get(MODEL)
    return name if isinstance(name, str) else None
