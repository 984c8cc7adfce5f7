"""The wishes that need an ability of the agent's, held against the snapshot.

In: a turn, the merged snapshot, the agent's definition and the model that will be used, if that is known. Out: the turn
as it can be carried out. A wish that the agent is known not to meet is refused with who said so and what to do; what
nobody knows is let through: it may work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import Fact, fact
from gateway.capability_paths import MODELS, MODES
from gateway.catalog import effort
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.errors import NotCapable
from gateway.turn import Notice, Options, Turn

POINTER = "/forwardedProps/gateway"

GATES: tuple[tuple[str, str, str, str, str], ...] = (
    ("session_id", "sessionId", "canResume", "does not come back to a session", "Leave it out, and begin a new one."),
    ("fork_session_id", "forkSessionId", "canFork", "does not copy a session", "Leave it out, and begin a new one."),
    ("skills", "skills", "supportsSkills", "takes no skills", "Leave them out."),
    ("mcp_servers", "mcpServers", "supportsMCP", "takes no MCP servers", "Leave them out."),
    ("output_schema", "outputSchema", "supportsStructuredOutput", "fits no answer to a schema", "Leave it out."),
)
"""Field, its name outside, what agent-mux calls the ability, and the words of a refusal."""

LISTED = {"mode": MODES, "model": MODELS}
"""What a session can be set to."""

KINDS = {
    "text": "supportsTextStreaming",
    "toolCall": "supportsToolCallStreaming",
    "thinking": "supportsThinkingStreaming",
}
"""What may stream."""

ANY_OBJECT = {"type": "object"}


def check_options(turn: Turn, snapshot: Snapshot, definition: AgentDefinition, model: Model | None) -> Turn:
    thinks = fact(snapshot, "supportsThinking")
    effort.check_thinking(definition, model, turn.options, thinks=thinks.value, source=thinks.said_by)
    turn = _with(turn, _json(turn.options, snapshot, definition))
    for field, *_ in GATES:
        if getattr(turn.options, field):
            gate(field, snapshot, definition)
    _transports(turn.options, snapshot, definition)
    _listed(turn.options, snapshot, definition)
    return _stream(turn, snapshot, definition)


def gate(wanted: str, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """Raises `NotCapable` where the agent is known to lack what this wish needs."""
    for field, wish, ability, cannot, advice in GATES:
        if field == wanted and (found := fact(snapshot, ability)).value is False:
            raise refusal(definition, wish, cannot, found, advice)


def _listed(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> None:
    """Where the session's modes and models are known, one of these. Before they are told nobody knows. A program on the
    command line takes models that it does not list; by ACP there are no others."""
    for wish, path in LISTED.items():
        asked, offered = getattr(options, wish), snapshot.get(path)
        if asked is None or not offered or asked in (known := [one["id"] for one in offered]):
            continue
        if wish == "model" and definition.driver != "acp":
            continue
        raise NotCapable(
            f"Agent '{definition.id}' has no {wish} {asked!r}: {path} has {', '.join(known)}, said by "
            f"{snapshot.who(path)}. Choose one of these, or leave it out.",
            capability=path,
            source=snapshot.who(path),
            known=known,
            pointer=f"{POINTER}/{wish}",
        )


def _with(turn: Turn, options: Options) -> Turn:
    return turn if options is turn.options else replace(turn, options=options)


def refusal(definition: AgentDefinition, wish: str, cannot: str, found: Fact, advice: str) -> NotCapable:
    return NotCapable(
        f"Agent '{definition.id}' {cannot}: {found.path} is false, said by {found.said_by}. {advice}",
        capability=found.path,
        source=found.said_by,
        pointer=f"{POINTER}/{wish}",
    )


def _json(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> Options:
    """JSON and nothing else. An agent that has no mode for it, but fits its answers to a schema, is given one that any
    object fits; so is every agent on the command line that takes a schema, for there a mode has no word of its own."""
    if options.output_format != "json":
        return options
    mode, schema = fact(snapshot, "supportsJsonMode"), fact(snapshot, "supportsStructuredOutput")
    if schema.value is True and (mode.value is not True or definition.driver == "cli"):
        return _as_schema(options)
    if mode.value is False:
        advice = "Leave it out, and ask for JSON in words."
        raise refusal(definition, "outputFormat", "has no mode for JSON", mode, advice)
    return options if "outputFormat" in definition.options else _as_schema(options)


def _as_schema(options: Options) -> Options:
    return replace(options, output_format=None, output_schema=options.output_schema or ANY_OBJECT)


def _transports(options: Options, snapshot: Snapshot, definition: AgentDefinition) -> None:
    for number, server in enumerate(options.mcp_servers or ()):
        kind = transport(server)
        found = fact_at(snapshot, f"custom.acp.mcp.{kind}")
        if found.value is False:
            offered = [name for name in ("stdio", "http", "sse") if snapshot.get(f"custom.acp.mcp.{name}") is True]
            advice = f"It takes {', '.join(offered) or 'none'}."
            raise refusal(definition, f"mcpServers/{number}", f"takes no MCP server over {kind}", found, advice)


def transport(server: Any) -> str:
    """How an MCP server is reached: as it says, else as its keys say."""
    if not isinstance(server, Mapping):
        return "unknown"
    told = server.get("type")
    return told if isinstance(told, str) else "http" if "url" in server else "stdio"


def fact_at(snapshot: Snapshot, path: str) -> Fact:
    return Fact(snapshot.get(path), path, snapshot.who(path))


def _stream(turn: Turn, snapshot: Snapshot, definition: AgentDefinition) -> Turn:
    """`true`: token by token or not at all. Else what does not stream comes whole, and the client is told: of text in
    any case, of the rest if it asked for `auto`."""
    wish = turn.options.stream
    found = {kind: fact(snapshot, ability) for kind, ability in KINDS.items()}
    lacking = [kind for kind, about in found.items() if about.value is False]
    if wish is True and "text" in lacking:
        raise refusal(definition, "stream", "does not stream its text", found["text"], 'Ask for "auto".')
    if not lacking or not (wish == "auto" or (wish is None and "text" in lacking)):
        return turn
    about = found[lacking[0]]
    message = f"what does not stream comes whole: {', '.join(lacking)} ({about.path} is false, said by {about.said_by})"
    detail = {"agent": definition.id, "unsupported": lacking, "source": about.said_by}
    return replace(turn, warnings=(*turn.warnings, Notice("STREAM_FALLBACK", message, f"{POINTER}/stream", detail)))
