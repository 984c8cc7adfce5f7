"""pi and its fork omp: one family of events, in rpc mode (`rpc.py`, `omp.py`) and as output of one prompt
(`json_mode.py`).

In: lines of JSON. Out: gateway events and commands. Names to know: `PiRpc`, `OmpRpc`, `PiJson`, `EventReader`,
`TurnLifecycle`.
"""

from __future__ import annotations

from gateway.wire.dialects.pi.json_mode import OmpJson, PiJson
from gateway.wire.dialects.pi.omp import OmpRpc
from gateway.wire.dialects.pi.rpc import PiRpc

__all__ = ["OmpJson", "OmpRpc", "PiJson", "PiRpc"]
