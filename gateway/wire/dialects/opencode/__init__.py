"""opencode: the server mode (`opencode serve`) and the one-turn mode (`opencode run`).

In: the server's events and HTTP answers, or the lines that `run` prints. Out: events, and HTTP calls or a prompt. Both
modes read the same message parts. Names to know: `OpenCode`, `OpenCodeRun`, `MessageParts`, `TurnSessions`,
`PendingPermissions`.
"""

from gateway.wire.dialects.opencode.run import OpenCodeRun
from gateway.wire.dialects.opencode.server import OpenCode

__all__ = ["OpenCode", "OpenCodeRun"]
