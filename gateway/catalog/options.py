"""Which options of a run a definition can take at all, before anything is known of the agent itself. Pure."""

from __future__ import annotations

from dataclasses import fields

from gateway.catalog.capability_table import camel
from gateway.catalog.definition import AgentDefinition
from gateway.turn import Options

GATEWAY_OPTIONS = ("onDisconnect", "strict", "merge", "mergeWindowMs", "stream")
"""Options that the gateway itself carries out, for every agent."""
PROCESS_OPTIONS = ("worktree",)
"""Options that it carries out for every agent that works in a folder."""
ACP_OPTIONS = (
    "model",
    "mode",
    "effort",
    "approvals",
    "cwd",
    "additionalDirectories",
    "mcpServers",
    "sessionId",
    "forkSessionId",
    "skills",
)
"""Options that the Agent Client Protocol can carry. Whether an agent supports them, its handshake and session state.
Skills go with the prompt."""
SUBSTITUTES = {"outputFormat": "outputSchema"}
"""Option → another option that can fulfil it: an answer that fits a schema is JSON."""


def declared_options(definition: AgentDefinition) -> tuple[str, ...]:
    """The options that the definition lists; of an ACP agent that lists none, those of the protocol."""
    listed = definition.options
    if listed is None:
        listed = ACP_OPTIONS if definition.driver == "acp" else ()
    return tuple(option for option in listed if option not in definition.without_options)


def may_take(definition: AgentDefinition, option: str) -> bool:
    """False: the option is never sent to this agent."""
    if option in GATEWAY_OPTIONS or (option in PROCESS_OPTIONS and definition.is_local_process):
        return True
    return bool({option, SUBSTITUTES.get(option)} & set(declared_options(definition)))


def set_options(options: Options) -> list[str]:
    """The names of the options that the client has set."""
    return [camel(field.name) for field in fields(options) if getattr(options, field.name) not in (None, False, ())]
