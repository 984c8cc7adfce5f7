"""The layers of a snapshot: what each party states of an agent's capabilities, as dotted AG-UI path → value.

In: the agent's file, its model, its session. Out: a `LayerStatement` for each. A path that a layer lacks is not stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gateway.capabilities.session_modes import listed_modes, mode_layers, name_modes
from gateway.capabilities.session_tools import (
    ITEMS,
    SERVERS,
    SUPPORTED,
    fold_session_layer,
    has_tools,
    item_sources,
)
from gateway.capabilities.statement import LAYERS as LAYERS
from gateway.capabilities.statement import LayerStatement as LayerStatement
from gateway.capability_paths import GATEWAY_SANDBOX, MODE, MODEL, MODES, SESSION_OPEN, TRUST, WORKTREE, flatten
from gateway.catalog.capability_table import camel, snake
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import all_levels, model_source, offered_budget, offered_effort
from gateway.catalog.models.definition import Model
from gateway.catalog.recorded_tools import RecordedTools, recorded_tools
from gateway.events import Layer

SANDBOX_PREFIX = f"{GATEWAY_SANDBOX}."
SANDBOXED = "execution.sandboxed"


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
    """The modes that a thread can be set to, where no session reports them; of a Python agent also the capabilities of
    the first one, in which it starts. The session states the current mode."""
    if definition.driver == "python":
        first = definition.modes[0].capabilities if definition.modes else {}
        return {MODES: listed_modes(definition), **flatten(first)} if definition.modes else {}
    has_sessions = definition.cli is None or definition.cli.process != "turn"
    modes = listed_modes(definition)
    return {} if has_sessions or not modes else {MODES: modes}


EFFORT_KEYS = {"thinkingEffortLevels": "effort.values", "supportsThinkingBudgetTokens": "effort.budget_parameter"}
MUX_NAMES = {"supports_mcp": "supportsMCP"}
"""Manifest key → agent-mux's name, where that is not the plain camelCase."""


def _manifest(definition: AgentDefinition) -> dict[str, Any]:
    """`[manifest]` and `[effort]` under agent-mux's names."""
    values = definition.manifest.model_dump(mode="json", exclude_none=True)
    values["thinking_effort_levels"] = all_levels(definition)
    values["supports_thinking_budget_tokens"] = _has_budget(offered_budget(definition))
    return {f"custom.mux.{MUX_NAMES.get(key, camel(key))}": value for key, value in values.items() if value is not None}


def model_layer(definition: AgentDefinition, model: Model, agent: Layer | None = None) -> LayerStatement:
    """The limits of the model. `agent`: what the agent itself announced. Where the agent or its file states false, a
    model's true is left out: the client reaches the model through the agent only."""
    effort_levels = offered_effort(definition, model)
    token_budget = offered_budget(definition, model)
    values = {
        "reasoning.supported": model.thinking,
        "reasoning.streaming": False if model.thinking is False else model.thinking_streaming,
        "tools.supported": model.tools,
        "tools.parallelCalls": model.parallel_tools,
        "multimodal.input.image": model.image_input,
        "multimodal.input.file": model.file_input,
        "multimodal.input.pdf": None if model.pdf_input is True else model.pdf_input,  # a limit, no ability
        "multimodal.output.image": model.image_output,
        "output.structuredOutput": model.structured_output,
        "custom.mux.supportsJsonMode": model.json_mode,
        "custom.mux.supportsTextStreaming": model.text_streaming,
        "custom.mux.supportsToolCallStreaming": model.tool_streaming,
        "custom.mux.thinkingEffortLevels": (None if effort_levels is None else list(effort_levels)),
        "custom.mux.supportsThinkingBudgetTokens": _has_budget(token_budget),
        **{f"custom.model.{key}": value for key, value in _model_details(model, token_budget).items()},
    }
    of_agent = {**flatten(definition.capabilities), **(agent or {})}
    denied = {path for path, value in of_agent.items() if value is False}
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
    "described": "what the agent lists, with recorded descriptions",
    "mcp": "tools/list of its MCP servers",
    "seen": "calls that were seen",
}
"""Source of a tool, in its metadata → the source of the statement."""


CLOSED_SOURCE = "what is set on the thread, whose session is closed"
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
    below: Sequence[LayerStatement],
    model: LayerStatement | None = None,
) -> list[LayerStatement]:
    """What a thread's session states, and what the agent's file states of its mode. `below`: the layers of lower
    precedence. `model`: the layer of the session's model; if that states that there are no tools, it holds."""
    modes = mode_layers(definition, session_layer)
    listing = next((mode for mode in reversed(modes) if ITEMS in mode.values), None)  # its file lists the mode's tools
    if listing is not None:
        session_layer = {ITEMS: listing.values[ITEMS], **session_layer}
    recorded = None if _states_items(definition) else recorded_tools(definition)
    others = [each.values for each in below if recorded is None or each.source != recorded.source]
    values = fold_session_layer(
        session_layer, [*_recorded_items(recorded, session_layer), *others], definition.mcp_tool_names
    )
    items = values.pop(ITEMS, None)
    if items is None and recorded is not None and session_layer.get(MODE) in recorded.modes:
        items = recorded.items(session_layer[MODE])
    servers = {path: values.pop(path) for path in [*values] if path.startswith(SERVERS)}
    sandbox = {path: values.pop(path) for path in [*values] if path.startswith(SANDBOX_PREFIX)}
    worktree = {path: values.pop(path) for path in [*values] if path.startswith(f"{WORKTREE}.")}
    trust = {path: values.pop(path) for path in [*values] if path.startswith(f"{TRUST}.")}
    source = CLOSED_SOURCE if values.get(SESSION_OPEN) is False else "what the session reported"
    layers = [LayerStatement("session", source, values)] if values else []
    if (named := name_modes(definition, values, "session")) is not None:
        layers.append(named)
    layers += modes
    if sandbox:
        layers.append(_sandbox_layer(sandbox, [values, *(statement.values for statement in (*below, *modes))]))
    if worktree:
        layers.append(LayerStatement("gateway", "the git worktree that it made for the thread", worktree))
    if trust:
        layers.append(trust_layer(trust))
    if servers:
        layers.append(LayerStatement("session", "what became of its MCP servers", servers))
    stated = [session_layer, *(mode.values for mode in modes)]
    supported = {SUPPORTED: True} if has_tools(stated, items, {} if model is None else model.values) else {}
    if items is not None:
        items_source = _items_source(items, recorded) if listing is None else listing.source
        layers.append(LayerStatement("session", items_source, {ITEMS: items, **supported}))
    elif supported:
        layers.append(LayerStatement("session", TOOL_SOURCES["seen"], supported))
    return layers


def recorded_tools_layer(definition: AgentDefinition) -> list[LayerStatement]:
    """The agent's tools as they were recorded, where its file lists none."""
    recorded = None if _states_items(definition) else recorded_tools(definition)
    return [] if recorded is None else [LayerStatement("profile", recorded.source, {ITEMS: recorded.items()})]


def _states_items(definition: AgentDefinition) -> bool:
    return "items" in definition.capabilities.get("tools", {})


def _recorded_items(recorded: RecordedTools | None, session_layer: Layer) -> list[Layer]:
    """The tools of the session's mode. If the agent lists its tools itself, what is known of all of them."""
    if recorded is None:
        return []
    return [{ITEMS: recorded.all_items() if ITEMS in session_layer else recorded.items(session_layer.get(MODE))}]


def _items_source(items: Iterable[Mapping[str, Any]], recorded: RecordedTools | None) -> str:
    names = {**TOOL_SOURCES, "recorded": "" if recorded is None else recorded.source}
    return ", ".join(names.get(name, name) for name in item_sources(items)) or names["agent"]


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
