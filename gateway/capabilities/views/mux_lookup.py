"""What agent-mux asks of an agent, answered from the snapshot.

In: one of agent-mux's names and a snapshot. Out: the answer, the key that gave it and who said that. AG-UI's own keys
stand before agent-mux's, and what an ACP agent told in its handshake before what a file says of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.capabilities.merge import Snapshot

SOURCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "canResume": (("custom.acp.resumeSession", "custom.acp.loadSession"), ("custom.mux.canResume",)),
    "canFork": (("custom.acp.forkSession",), ("custom.mux.canFork",)),
    "supportsTextStreaming": (("custom.mux.supportsTextStreaming",), ("transport.streaming",)),
    "supportsThinkingStreaming": (("reasoning.streaming",), ("custom.mux.supportsThinkingStreaming",)),
    "supportsNativeTools": (("tools.supported",),),
    # The file first: of stdio an ACP agent says nothing, so that it is offered there is only assumed.
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
"""agent-mux's name → places to look, best first. Of several keys in one place any yes is a yes. Whatever is not here is
told under `custom.mux` alone."""


@dataclass(frozen=True, slots=True)
class Fact:
    value: Any
    """None: nobody knows."""
    path: str
    said_by: str = "nobody"


def fact(snapshot: Snapshot, name: str) -> Fact:
    places = SOURCES.get(name, ((f"custom.mux.{name}",),))
    for paths in places:
        known = [found for path in paths if (found := _told(snapshot, path)).value is not None]
        if known:
            return next((found for found in known if found.value is True), known[0])
    return Fact(None, places[-1][0])


def _told(snapshot: Snapshot, path: str) -> Fact:
    """The agent's word. How the gateway itself streams says nothing of the agent."""
    speakers = [said for said in snapshot.sources.get(path, ()) if said.layer != "gateway"]
    if not speakers:
        return Fact(None, path)
    last = speakers[-1]
    return Fact(last.values[path], path, f"{last.layer} ({last.source})")
