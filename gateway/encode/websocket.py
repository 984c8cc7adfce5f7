"""AG-UI events as WebSocket messages. A socket may carry several runs at once, so each message names its run.

In: consecutive events of one run, and the number of the first. Out: one message. A text message is one JSON object; a
binary message is the same head with its length before it, followed by the frames of the binary format over HTTP.

    agui.json      {"runId": "r1", "first": 5, "events": [{…}, {…}]}
    agui.protobuf  four bytes of length, {"runId": "r1", "first": 5}, then frames
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from gateway.encode.protobuf import encoder as protobuf
from gateway.events import Wire


@dataclass(frozen=True, slots=True)
class Subprotocol:
    """One format of messages, as the client names it when it connects."""

    name: str
    is_binary: bool
    encode: Callable[[str, int, list[bytes], list[Wire] | None], bytes]
    """Run id, number of the first event, events as lines of JSON and as objects if these are at hand → one message."""


def _encode_text(run_id: str, first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return b'{"runId":%b,"first":%d,"events":[%b]}' % (json.dumps(run_id).encode(), first, b",".join(lines))


def _encode_binary(run_id: str, first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    head = json.dumps({"runId": run_id, "first": first}).encode()
    return len(head).to_bytes(4, "big") + head + protobuf.ENCODER.encode(first, lines, events)


SUBPROTOCOLS: dict[str, Subprotocol] = {
    subprotocol.name: subprotocol
    for subprotocol in (
        Subprotocol("agui.json", False, _encode_text),
        Subprotocol("agui.protobuf", True, _encode_binary),
    )
}
"""Name → format. A client that offers none gets the first."""
