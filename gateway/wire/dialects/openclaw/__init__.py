"""What OpenClaw speaks: the WebSocket of its gateway, and the document that `openclaw agent exec --json` prints."""

from __future__ import annotations

from gateway.wire.dialects.openclaw.dialect import OpenClaw
from gateway.wire.dialects.openclaw.oneshot import OpenClawExec

__all__ = ["OpenClaw", "OpenClawExec"]
