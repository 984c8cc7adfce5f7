"""Hermes Agent: JSON-RPC 2.0 over the WebSocket of `hermes serve`.

In: responses and `event` notifications of one connection that serves all sessions. Out: gateway events and requests.
Names to know: `Hermes` (`server.py`), `SessionRequests`, `TurnSetup`, `PermissionRequests`, `TurnEvents`.

`hermes -z`, the one-shot mode, is not offered: it takes the prompt as a command-line argument, which every user of the
machine can read, and it approves every command without asking.
"""

from __future__ import annotations

from gateway.wire.dialects.hermes.server import Hermes

__all__ = ["Hermes"]
