"""The options of a run that need an ability of the agent, checked against the snapshot.

In: a turn, the merged snapshot, the agent's definition and the model that will be used, if that is known. Out: the turn
as the agent can carry it out. An option that the agent is known not to support is refused, with the source of that and
what to do. An option of which nothing is known is let through: it may work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import Fact, find_fact
from gateway.capability_paths import MODELS, MODES
from gateway.catalog import effort
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.errors import NotCapable
from gateway.turn import Notice, Options, Turn

POINTER = "/forwardedProps/gateway"

ABILITY_CHECKS: tuple[tuple[str, str, str, str, str], ...] = (
    ("session_id", "sessionId", "canResume", "does not come back to a session", "Leave it out, and begin a new one."),
    ("fork_session_id", "forkSessionId", "canFork", "does not copy a session", "Leave it out, and begin a new one."),
    ("skills", "skills", "supportsSkills", "takes no skills", "Leave them out."),
    ("mcp_servers", "mcpServers", "supportsMCP", "takes no MCP servers", "Leave them out."),
    ("output_schema", "outputSchema", "supportsStructuredOutput", "fits no answer to a schema", "Leave it out."),
)
"""Field of `Options`, the option's name, agent-mux's name of the ability, and two parts of the refusal's text."""

AVAILABLE_VALUES = {"mode": MODES, "model": MODELS}
"""Option → where the snapshot lists the values that a session can be set to."""

STREAMING_ABILITIES = {
    "text": "supportsTextStreaming",
    "toolCall": "supportsToolCallStreaming",
    "thinking": "supportsThinkingStreaming",
}
"""Kind of output → agent-mux's name of the ability to stream it."""

ANY_OBJECT = {"type": "object"}


def check_options(turn: Turn, snapshot: Snapshot, definition: AgentDefinition, model: Model | None) -> Turn:
    """The turn with options that the agent can carry out. Raises `NotCapable`."""
    thinking = find_fact(snapshot, "supportsThinking")
    effort.check_thinking(definition, model, turn.options, thinks=thinking.value, source=thinking.source)
    turn = _with_options(turn, _check_output_format(turn.options, snapshot, definition))
    for field, *_ in ABILITY_CHECKS:
        if getattr(turn.options, field):
            check_ability(field, snapshot, definition)
    _check_mcp_transports(turn.options, snapshot, definition)
    _check_available_values(turn.options, snapshot, definition)
    return _check_streaming(turn, snapshot, definition)


def check_ability(field: str, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """`field`: of `Options`. Raises `NotCapable` if the agent is known to lack the ability that it needs."""
    for checked_field, option, ability, cannot, advice in ABILITY_CHECKS:
        if checked_field == field and (fact := find_fact(snapshot, ability)).value is False:
            raise refusal(definition, option, cannot, fact, advice)


def _check_available_values(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """If the session lists its modes and models, the option must be one of them. A CLI agent also takes models that it
    does not list; an ACP agent does not."""
    for option, path in AVAILABLE_VALUES.items():
        value = getattr(options, option)
        available = snapshot.get(path)
        if value is None or not available or value in (known := [entry["id"] for entry in available]):
            continue
        if option == "model" and definition.driver != "acp":
            continue
        source = snapshot.source_of(path)
        raise NotCapable(
            f"Agent '{definition.id}' has no {option} {value!r}: {path} has {', '.join(known)}, stated by "
            f"{source}. Choose one of these, or leave it out.",
            capability=path,
            source=source,
            known=known,
            pointer=f"{POINTER}/{option}",
        )


def _with_options(turn: Turn, options: Options) -> Turn:
    return turn if options is turn.options else replace(turn, options=options)


def refusal(definition: AgentDefinition, option: str, cannot: str, fact: Fact, advice: str) -> NotCapable:
    return NotCapable(
        f"Agent '{definition.id}' {cannot}: {fact.path} is false, stated by {fact.source}. {advice}",
        capability=fact.path,
        source=fact.source,
        pointer=f"{POINTER}/{option}",
    )


def _check_output_format(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> Options:
    """`outputFormat: "json"`. An agent without a JSON mode that supports schemas gets a schema that any object fits; so
    does every CLI agent that supports schemas, because there is no flag for a JSON mode."""
    if options.output_format != "json":
        return options
    mode = find_fact(snapshot, "supportsJsonMode")
    schema = find_fact(snapshot, "supportsStructuredOutput")
    if schema.value is True and (mode.value is not True or definition.driver == "cli"):
        return _with_any_schema(options)
    if mode.value is False:
        advice = "Leave it out, and ask for JSON in the prompt."
        raise refusal(definition, "outputFormat", "has no mode for JSON", mode, advice)
    return options if "outputFormat" in definition.options else _with_any_schema(options)


def _with_any_schema(options: Options) -> Options:
    return replace(options, output_format=None, output_schema=options.output_schema or ANY_OBJECT)


def _check_mcp_transports(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> None:
    for number, server in enumerate(options.mcp_servers or ()):
        transport = mcp_transport(server)
        fact = fact_at(snapshot, f"custom.acp.mcp.{transport}")
        if fact.value is False:
            supported = [name for name in ("stdio", "http", "sse") if snapshot.get(f"custom.acp.mcp.{name}") is True]
            advice = f"It takes {', '.join(supported) or 'none'}."
            raise refusal(definition, f"mcpServers/{number}", f"takes no MCP server over {transport}", fact, advice)


def mcp_transport(server: Any) -> str:
    """How an MCP server is reached: by its `type`; without one, by its other keys."""
    if not isinstance(server, Mapping):
        return "unknown"
    declared = server.get("type")
    return declared if isinstance(declared, str) else "http" if "url" in server else "stdio"


def fact_at(snapshot: Snapshot, path: str) -> Fact:
    return Fact(snapshot.get(path), path, snapshot.source_of(path))


def _check_streaming(turn: Turn, snapshot: Snapshot, definition: AgentDefinition) -> Turn:
    """With `stream: true` the agent must stream its text. Otherwise output that the agent cannot stream comes whole,
    and the client gets a notice: for text in any case, for the rest with `stream: "auto"`."""
    stream = turn.options.stream
    facts = {kind: find_fact(snapshot, ability) for kind, ability in STREAMING_ABILITIES.items()}
    unsupported = [kind for kind, fact in facts.items() if fact.value is False]
    if stream is True and "text" in unsupported:
        raise refusal(definition, "stream", "does not stream its text", facts["text"], 'Ask for "auto".')
    if not unsupported or not (stream == "auto" or (stream is None and "text" in unsupported)):
        return turn
    first = facts[unsupported[0]]
    reason = f"{first.path} is false, stated by {first.source}"
    message = f"what does not stream comes whole: {', '.join(unsupported)} ({reason})"
    detail = {"agent": definition.id, "unsupported": unsupported, "source": first.source}
    return replace(turn, warnings=(*turn.warnings, Notice("STREAM_FALLBACK", message, f"{POINTER}/stream", detail)))
