"""The options of a run, checked against what a run may ask for (`custom.gateway.options`).

In: a turn, the merged snapshot, the agent's definition and the model that will be used, if that is known. Out: the turn
as the agent can carry it out. An option or a value that is not offered is refused, with the source of that and what to
do. An option of which nothing is known yet is let through: it may work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import Fact, find_fact
from gateway.capability_paths import MODELS, MODES, OPTIONS, SESSION
from gateway.catalog import effort
from gateway.catalog.capability_table import camel
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.options import declared_options, may_take, set_options
from gateway.errors import NotCapable
from gateway.turn import Notice, Options, Turn

POINTER = "/forwardedProps/gateway"

DROPPED_OPTIONS = {"additionalDirectories": "DIRECTORIES_DROPPED"}
"""Options that only add something: without them the agent works as well, so they are left out with a notice."""

ABILITIES: dict[str, tuple[str, str, str]] = {
    "sessionId": ("canResume", "does not come back to a session", "Leave it out, and begin a new one."),
    "forkSessionId": ("canFork", "does not copy a session", "Leave it out, and begin a new one."),
    "skills": ("supportsSkills", "takes no skills", "Leave them out."),
    "mcpServers": ("supportsMCP", "takes no MCP servers", "Leave them out."),
    "outputSchema": ("supportsStructuredOutput", "fits no answer to a schema", "Leave it out."),
    "outputFormat": ("supportsJsonMode", "has no mode for JSON", "Leave it out, and ask for JSON in the prompt."),
}
"""Option → agent-mux's name of the ability that it needs, and two parts of the refusal's text."""

STREAMING_ABILITIES = {
    "text": "supportsTextStreaming",
    "toolCall": "supportsToolCallStreaming",
    "thinking": "supportsThinkingStreaming",
}
"""Kind of output → agent-mux's name of the ability to stream it."""

LISTS = {"mode": MODES, "model": MODELS}
"""Option → where a session lists what it can be set to."""

ANY_OBJECT = {"type": "object"}


def check_options(turn: Turn, snapshot: Snapshot, definition: AgentDefinition, model: Model | None) -> Turn:
    """The turn with options that the agent can carry out. Raises `NotCapable`."""
    refused = [name for name in set_options(turn.options) if snapshot.get(f"{OPTIONS}.{name}") is False]
    for option in refused:
        if not may_take(definition, option):
            turn = _drop(option, turn, snapshot, definition)
    thinking = find_fact(snapshot, "supportsThinking")
    effort.check_thinking(
        definition, model, turn.options, snapshot.values, thinks=thinking.value, source=thinking.source
    )
    for option in refused:
        if may_take(definition, option):
            turn = _drop(option, turn, snapshot, definition)
    _check_values(turn.options, snapshot, definition)
    _check_mcp_transports(turn.options, snapshot, definition)
    turn = _with_options(turn, _check_output_format(turn.options, snapshot, definition))
    return _check_streaming(turn, snapshot, definition)


def check_ability(field: str, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """`field`: of `Options`. Raises `NotCapable` if the agent cannot do what the option asks for. An agent in this
    process is copied by the gateway itself, so it needs no such option."""
    option = camel(field)
    is_lacking = find_fact(snapshot, ABILITIES[option][0]).value is False
    if is_lacking or (definition.is_local_process and snapshot.get(f"{OPTIONS}.{option}") is False):
        raise _refuse_option(option, snapshot, definition)


def _drop(option: str, turn: Turn, snapshot: Snapshot, definition: AgentDefinition) -> Turn:
    """The turn without the option, where that does no harm. Raises `NotCapable` otherwise."""
    code = DROPPED_OPTIONS.get(option)
    if code is None or turn.options.strict:
        raise _refuse_option(option, snapshot, definition)
    if definition.driver == "acp":
        return turn  # the driver leaves them out; the gateway's own file access still includes them
    turn = replace(turn, options=replace(turn.options, additional_directories=None))
    if any(path.startswith(f"{SESSION}.") for path in snapshot.values):
        return turn  # the session is open: the notice came when it was opened
    path = f"{OPTIONS}.{option}"
    source = snapshot.source_of(path)
    message = f"{option} is left out: {path} is false, stated by {source}"
    detail = {"agent": definition.id, "capability": path, "source": source}
    return replace(turn, warnings=(*turn.warnings, Notice(code, message, f"{POINTER}/{option}", detail)))


def _refuse_option(option: str, snapshot: Snapshot, definition: AgentDefinition) -> NotCapable:
    ability, cannot, advice = ABILITIES.get(option, ("", "", ""))
    if ability and (fact := find_fact(snapshot, ability)).value is False:
        return refusal(definition, option, cannot, fact, advice)
    path = f"{OPTIONS}.{option}"
    source = snapshot.source_of(path)
    offered = ", ".join(sorted(list_offered(snapshot))) or "none"
    return NotCapable(
        f"Agent '{definition.id}' does not take the option {option!r}: {path} is false, stated by {source}. "
        f"Leave it out, or choose an agent that takes it. This one takes: {offered}.",
        agent=definition.id,
        capability=path,
        source=source,
        pointer=f"{POINTER}/{option}",
    )


def list_offered(snapshot: Snapshot) -> list[str]:
    """The options that a run may set, as far as that is known."""
    prefix = f"{OPTIONS}."
    offered = [path for path, value in snapshot.values.items() if path.startswith(prefix) and value is not False]
    return list(dict.fromkeys(path.removeprefix(prefix).partition(".")[0] for path in offered))


def _check_values(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """A mode or a model must be one of those that are offered, where all of them are known."""
    for option in LISTS:
        listed = LISTS[option]
        path = listed if snapshot.get(listed) else f"{OPTIONS}.{option}.values"
        value, offered = getattr(options, option), snapshot.get(path)
        is_open = option == "model" and (definition.driver != "acp" or snapshot.get(f"{OPTIONS}.model.open") is True)
        if value is None or not offered or is_open:
            continue  # names of models were checked when the model was chosen
        if path != listed and snapshot.get(f"{OPTIONS}.{option}.open") is True:
            continue  # no session has listed them yet, and the agent has others
        known = [entry["id"] if isinstance(entry, Mapping) else entry for entry in offered]
        if value in known:
            continue
        source = snapshot.source_of(path)
        raise NotCapable(
            f"Agent '{definition.id}' has no {option} {value!r}: {path} has {', '.join(known)}, stated by "
            f"{source}. Choose one of these, or leave it out.",
            agent=definition.id,
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
        agent=definition.id,
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
    return options if "outputFormat" in declared_options(definition) else _with_any_schema(options)


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
