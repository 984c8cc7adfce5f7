"""Claude Code (`claude`), in two modes that print the same lines.

In: lines of `stream-json`. Out: events, and lines for its stdin. Names to know: `ClaudeDialect` (`stream`, both
directions, one process per session), `ClaudePrint` (`print`, one process per turn), `ClaudeReader` (`reader`, the lines
of both), `MessageStream` (`messages`), `Subagents`.
"""

from __future__ import annotations

from gateway.wire.dialects.claude.print import ClaudePrint
from gateway.wire.dialects.claude.stream import ClaudeDialect

__all__ = ["ClaudeDialect", "ClaudePrint"]
