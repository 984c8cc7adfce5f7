"""What a run may ask for: `custom.gateway.options`.

In: the definition of the transport in use, the merged snapshot, the model and the models of the agent. Out: for each
option of a run a statement: an object with what is allowed, True where anything is, False where the option is refused;
no statement where it is not known yet. Each statement has the source that decides. The checks of a run, agent-mux's
view and the console read this and nothing else. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import OPTIONS_OF_FIELDS, find_fact
from gateway.capability_paths import CONFIG, CWD, MODELS, MODES, OPTIONS, SESSION, SESSION_OPEN, flatten
from gateway.catalog import effort
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import OPTIONS as OPTION_NAMES
from gateway.catalog.models.definition import Model
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.options import GATEWAY_OPTIONS, PROCESS_OPTIONS, declared_options, may_take

MCP_TRANSPORTS = ("stdio", "http", "sse")
PREFIX = f"{OPTIONS}."


@dataclass(frozen=True, slots=True)
class Basis:
    """What the options are derived from."""

    definition: AgentDefinition
    snapshot: Snapshot
    model: Model | None
    models: ModelRegistry

    @property
    def has_session(self) -> bool:
        """A closed session is no session: what it does not list may be there."""
        if self.snapshot.get(SESSION_OPEN) is False:
            return False
        return any(path.startswith(f"{SESSION}.") for path in self.snapshot.values)

    @property
    def is_acp(self) -> bool:
        return self.definition.driver == "acp"


@dataclass(frozen=True, slots=True)
class Offer:
    value: Any
    """True, False, or an object."""
    layer: str
    source: str


def with_options(
    snapshot: Snapshot, definition: AgentDefinition, model: Model | None, models: ModelRegistry
) -> Snapshot:
    """The snapshot with `custom.gateway.options`, and without agent-mux's claims of what would be refused. A mounted
    gateway states the options of its agents itself."""
    if definition.driver == "remote" and any(path.startswith(PREFIX) for path in snapshot.values):
        return snapshot
    basis = Basis(definition, snapshot, model, models)
    offers = {option: offer for option in OPTION_NAMES if (offer := _derive(option, basis)) is not None}
    statements = [_to_statement(PREFIX + option, offer) for option, offer in offers.items()]
    fields = OPTIONS_OF_FIELDS if definition.is_local_process else {}
    for field, options in fields.items():
        refused = [offers[option] for option in options if option in offers and offers[option].value is False]
        if len(refused) == len(options) and snapshot.get(f"custom.mux.{field}") is not False:
            statements.append(_to_statement(f"custom.mux.{field}", refused[0]))
    return _overlay(snapshot, statements)


def _to_statement(path: str, offer: Offer) -> LayerStatement:
    if not isinstance(offer.value, dict):
        return LayerStatement(offer.layer, offer.source, {path: offer.value})
    values = {f"{path}.{key}": value for key, value in flatten(offer.value).items()}
    return LayerStatement(offer.layer, offer.source, values)


def _overlay(snapshot: Snapshot, statements: list[LayerStatement]) -> Snapshot:
    """In the order of the statements, whatever their layers: equal options have equal bytes."""
    values = {path: value for path, value in snapshot.values.items() if not path.startswith(PREFIX)}
    sources = {path: stated for path, stated in snapshot.sources.items() if not path.startswith(PREFIX)}
    for statement in statements:
        for path, value in statement.values.items():
            values[path] = value
            sources[path] = [*sources.get(path, ()), statement]
    return Snapshot(values, sources)


# -- one option


def _derive(option: str, basis: Basis) -> Offer | None:
    """None: it is not known."""
    if option in GATEWAY_OPTIONS or option in PROCESS_OPTIONS:
        return _gateway_option(option, basis)
    definition = basis.definition
    file = definition.source.name
    if option in definition.without_options:
        return Offer(False, "profile", f"{file}: without_options")
    if not may_take(definition, option):
        if definition.options is not None or not basis.is_acp:
            return Offer(False, "profile", f"{file}: options")
        return Offer(False, "gateway", "the Agent Client Protocol has no such request")
    return DERIVATIONS.get(option, _always)(basis)


def _gateway_option(option: str, basis: Basis) -> Offer:
    source = "what this gateway carries"
    match option:
        case "onDisconnect":
            return Offer({"values": ["cancel", "continue"]}, "gateway", source)
        case "stream":
            fact = find_fact(basis.snapshot, "supportsTextStreaming")
            values = ["auto"] if fact.value is False else [True, False, "auto"]
            return Offer({"values": values}, "gateway", source if fact.value is not False else fact.source)
        case "worktree":
            return Offer(basis.definition.is_local_process, "gateway", source)
        case _:
            return Offer(True, "gateway", source)


def _always(basis: Basis) -> Offer:
    return Offer(True, "profile", _file(basis))


def _file(basis: Basis) -> str:
    if basis.definition.options is None:
        return "the Agent Client Protocol"
    return f"{basis.definition.source.name}: options"


def _at(basis: Basis, path: str, value: Any) -> Offer:
    """The source of this path decides."""
    statement = basis.snapshot.sources[path][-1]
    return Offer(value, statement.layer, f"{statement.source}: {path}")


def _by_fact(*abilities: str) -> Callable[[Basis], Offer | None]:
    """`abilities`: agent-mux's names; the first that is known decides."""

    def derive(basis: Basis) -> Offer | None:
        for ability in abilities:
            fact = find_fact(basis.snapshot, ability)
            if fact.value is not None:
                return _at(basis, fact.path, fact.value is not False)
        return None if basis.is_acp else _always(basis)

    return derive


def _approvals(basis: Basis) -> Offer:
    return Offer({"values": ["prompt", "auto", "deny"]}, "profile", _file(basis))


def _directories(basis: Basis) -> Offer | None:
    path = "custom.acp.additionalDirectories"
    if (stated := basis.snapshot.get(path)) is not None:
        return _at(basis, path, stated is True)
    return None if basis.is_acp else _always(basis)


def _mcp_servers(basis: Basis) -> Offer | None:
    fact = find_fact(basis.snapshot, "supportsMCP")
    if fact.value is False:
        return _at(basis, fact.path, False)
    paths = {transport: f"custom.acp.mcp.{transport}" for transport in MCP_TRANSPORTS}
    stated = {transport: basis.snapshot.get(path) for transport, path in paths.items()}
    if basis.is_acp and not any(value is not None for value in stated.values()):
        return None
    # Every agent that takes MCP servers takes those of stdio, whether it says so or not.
    taken = [transport for transport in MCP_TRANSPORTS if stated[transport] or transport == "stdio"]
    unknown = [transport for transport in MCP_TRANSPORTS if stated[transport] is None and transport not in taken]
    value = {"transports": taken, **({"unknown": unknown} if unknown else {})}
    decides = next((path for transport, path in paths.items() if stated[transport] is not None), None)
    return Offer(value, "profile", _file(basis)) if decides is None else _at(basis, decides, value)


def _output_format(basis: Basis) -> Offer:
    """An answer that fits a schema is JSON, so an agent that takes schemas has this option too."""
    mode = find_fact(basis.snapshot, "supportsJsonMode")
    schema = find_fact(basis.snapshot, "supportsStructuredOutput")
    declared = declared_options(basis.definition)
    by_schema = schema.value is True or (schema.value is None and "outputSchema" in declared)
    by_mode = mode.value is not False and "outputFormat" in declared
    if by_schema or by_mode:
        return Offer({"values": ["text", "json"]}, "profile", _file(basis))
    decides = mode if mode.value is False else schema
    return Offer(False, "profile", _file(basis)) if decides.value is None else _at(basis, decides.path, False)


def _choice(path: str, noun: str) -> Callable[[Basis], Offer | None]:
    def derive(basis: Basis) -> Offer | None:
        if listed := basis.snapshot.get(path):
            return _at(basis, path, {"values": listed})
        if basis.is_acp:
            return Offer(False, "session", f"the session lists no {noun}") if basis.has_session else None
        return _always(basis)

    return derive


def _model(basis: Basis) -> Offer | None:
    """Of a session its own list, otherwise the agent's. `open`: other names are let through, with a warning."""
    registry = basis.models
    if listed := basis.snapshot.get(MODELS):
        ids = [entry["id"] for entry in listed]
        known = [] if basis.is_acp else [model.id for model in registry.models() if model.id not in ids]
        is_open = basis.definition.open_models is True or (not basis.is_acp and registry.is_open)
        return _at(basis, MODELS, {"values": [*ids, *known], "open": is_open})
    if basis.is_acp and basis.has_session:
        return Offer(False, "session", "the session lists no models")
    if ids := [model.id for model in registry.models()]:
        source = basis.definition.source.name if registry.source == "bundled" else "what the agent lists"
        return Offer({"values": ids, "open": registry.is_open}, "model", f"{source}: models")
    return None if basis.is_acp else _always(basis)


def _effort(basis: Basis) -> Offer | None:
    definition, model = basis.definition, basis.model
    thinking = find_fact(basis.snapshot, "supportsThinking")
    if thinking.value is False and not (model is not None and model.thinking):
        return _at(basis, thinking.path, False)
    table = effort.offered_effort(definition, model, basis.snapshot.values)
    if table is None:
        return None if basis.is_acp else _always(basis)
    value = {"values": [{"id": level, "native": native} for level, native in table.items()]} if table else False
    if basis.is_acp and CWD in basis.snapshot.values:  # its session is open, and has a setting for it or not
        return _at(basis, CONFIG if CONFIG in basis.snapshot.values else CWD, value)
    source = effort.source_of(definition, model, "effort")
    return Offer(value, "model" if source.startswith("model (") else "profile", _inside(source))


def _budget(basis: Basis) -> Offer:
    thinking = find_fact(basis.snapshot, "supportsThinking")
    if thinking.value is False and not (basis.model is not None and basis.model.thinking):
        return _at(basis, thinking.path, False)
    budget = effort.offered_budget(basis.definition, basis.model)
    source = effort.source_of(basis.definition, basis.model, "budget")
    layer = "model" if source.startswith("model (") else "profile"
    if isinstance(budget, tuple):
        return Offer({"min": budget[0], "max": budget[1]}, layer, _inside(source))
    return Offer(budget is not False, layer, _inside(source))


def _override(basis: Basis) -> Offer:
    names = sorted(effort.override_names(basis.definition, basis.snapshot.values))
    if not names and basis.definition.driver in ("python", "remote"):
        return _always(basis)  # these receive the options as they are
    source = f"{basis.definition.source.name}: effort"
    return Offer({"names": names} if names else False, "profile", source)


def _inside(label: str) -> str:
    """`profile (otter.toml)` → `otter.toml`."""
    return label.partition("(")[2].removesuffix(")") or label


DERIVATIONS: dict[str, Callable[[Basis], Offer | None]] = {
    "model": _model,
    "mode": _choice(MODES, "modes"),
    "effort": _effort,
    "thinkingBudgetTokens": _budget,
    "thinkingOverride": _override,
    "approvals": _approvals,
    "additionalDirectories": _directories,
    "mcpServers": _mcp_servers,
    "outputSchema": _by_fact("supportsStructuredOutput"),
    "outputFormat": _output_format,
    "sessionId": _by_fact("canResume"),
    "forkSessionId": _by_fact("canFork"),
    "skills": _by_fact("supportsSkills"),
}
