"""What OpenClaw speaks: the WebSocket of its gateway, and the document that `openclaw agent exec --json` prints."""

from __future__ import annotations

from gateway.wire.dialects.openclaw.exec import OpenClawExec
from gateway.wire.dialects.openclaw.server import OpenClaw

__all__ = ["OpenClaw", "OpenClawExec"]
