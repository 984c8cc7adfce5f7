"""opencode: `serve`, where everything streams and can be asked, and `run`, one turn at a time."""

from gateway.wire.dialects.opencode.run import OpenCodeRun
from gateway.wire.dialects.opencode.server import OpenCode

__all__ = ["OpenCode", "OpenCodeRun"]
