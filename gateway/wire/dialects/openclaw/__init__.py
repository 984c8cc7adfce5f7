"""OpenClaw: the WebSocket of its own gateway (`server.py`), and the one-shot command (`exec.py`).

In: responses and events of one connection that serves all sessions, or one JSON document. Out: gateway events and
requests. Names to know: `OpenClaw`, `OpenClawExec`, `SessionRequests`, `PermissionRequest`, `TurnEvents`.
"""

from __future__ import annotations

from gateway.wire.dialects.openclaw.exec import OpenClawExec
from gateway.wire.dialects.openclaw.server import OpenClaw

__all__ = ["OpenClaw", "OpenClawExec"]
