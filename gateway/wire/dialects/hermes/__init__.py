"""What Hermes Agent speaks: JSON-RPC over the WebSocket of `hermes serve`.

`hermes -z` is no way in: it takes the prompt as an argument, where every user of the machine can read it, and approves
of every command by itself.
"""

from __future__ import annotations

from gateway.wire.dialects.hermes.server import Hermes

__all__ = ["Hermes"]
