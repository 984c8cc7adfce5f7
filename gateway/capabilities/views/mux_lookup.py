"""agent-mux's fields, looked up in the snapshot.

In: one of agent-mux's names and a snapshot. Out: the value, the path that has it and the source of that. AG-UI's own
paths have precedence over agent-mux's, and what an ACP agent states in its handshake over the agent's file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.capabilities.merge import UNKNOWN_SOURCE, Snapshot
from gateway.capability_paths import OPTIONS

SOURCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "canResume": (("custom.acp.resumeSession", "custom.acp.loadSession"), ("custom.mux.canResume",)),
    "canFork": (("custom.acp.forkSession",), ("custom.mux.canFork",)),
    "supportsTextStreaming": (("custom.mux.supportsTextStreaming",), ("transport.streaming",)),
    "supportsThinkingStreaming": (("reasoning.streaming",), ("custom.mux.supportsThinkingStreaming",)),
    "supportsNativeTools": (("tools.supported",),),
    # The agent's file first: an ACP agent does not state whether it takes stdio servers, which is only assumed.
    "supportsMCP": (
        ("custom.mux.supportsMCP",),
        ("custom.acp.mcp.stdio", "custom.acp.mcp.http", "custom.acp.mcp.sse"),
    ),
    "supportsParallelToolCalls": (("tools.parallelCalls",),),
    "supportsThinking": (("reasoning.supported",),),
    "supportsStructuredOutput": (("output.structuredOutput",),),
    "supportsSubagentDispatch": (("multiAgent.delegation",),),
    "supportsImageInput": (("multimodal.input.image",),),
    "supportsImageOutput": (("multimodal.output.image",),),
    "supportsFileAttachments": (
        ("multimodal.input.file", "multimodal.input.pdf"),
        ("custom.mux.supportsFileAttachments",),
    ),
}
"""agent-mux's name → groups of paths, best first. In one group any path that is true counts. A name that is not listed
is looked up under `custom.mux` alone."""

OPTIONS_OF_FIELDS = {
    "canResume": ("sessionId",),
    "canFork": ("forkSessionId",),
    "supportsMCP": ("mcpServers",),
    "supportsSkills": ("skills",),
    "supportsJsonMode": ("outputFormat",),
    "supportsStructuredOutput": ("outputSchema",),
    "supportsThinking": ("effort", "thinkingBudgetTokens", "thinkingOverride"),
    "supportsThinkingBudgetTokens": ("thinkingBudgetTokens",),
}
"""agent-mux's field → the options of a run that it stands for. It is false where all of them are refused."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One capability, and where it comes from."""

    value: Any
    """None if it is unknown."""
    path: str
    source: str = UNKNOWN_SOURCE


def find_fact(snapshot: Snapshot, name: str) -> Fact:
    """`name`: agent-mux's."""
    groups = SOURCES.get(name, ((f"custom.mux.{name}",),))
    for paths in groups:
        known = [fact for path in paths if (fact := _read_agent_fact(snapshot, path)).value is not None]
        if known:
            return next((fact for fact in known if fact.value is True), known[0])
    return Fact(None, groups[-1][0])


def is_refused(snapshot: Snapshot, name: str) -> bool:
    """Whether the gateway refuses every option of a run that agent-mux's field stands for."""
    options = OPTIONS_OF_FIELDS.get(name, ())
    return bool(options) and all(snapshot.get(f"{OPTIONS}.{option}") is False for option in options)


def _read_agent_fact(snapshot: Snapshot, path: str) -> Fact:
    """Without the gateway's own layer: how the gateway streams says nothing about the agent."""
    statements = [statement for statement in snapshot.sources.get(path, ()) if statement.layer != "gateway"]
    if not statements:
        return Fact(None, path)
    last = statements[-1]
    return Fact(last.values[path], path, last.label)
