"""pi and its fork omp: one family of events, over rpc and as the output of one prompt."""

from gateway.wire.dialects.pi.json_mode import OmpJson, PiJson
from gateway.wire.dialects.pi.omp import OmpRpc
from gateway.wire.dialects.pi.rpc import PiRpc

__all__ = ["OmpJson", "OmpRpc", "PiJson", "PiRpc"]
