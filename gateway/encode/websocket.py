"""AG-UI events as messages of a WebSocket, which may carry several runs at once: so each says whose events it has.

In: consecutive events of one run, and the number of the first. Out: one message. As text it is one JSON object; as
binary the same head, with its length before it, and then the frames that protobuf has over HTTP.

    agui.json      {"runId": "r1", "first": 5, "events": [{…}, {…}]}
    agui.protobuf  four bytes of length, {"runId": "r1", "first": 5}, then frames
"""

from __future__ import annotations

import json
from collections.abc import Callable

from gateway.encode.negotiate import ENCODERS
from gateway.events import Wire

Encode = Callable[[str, int, list[bytes], list[Wire] | None], bytes]


def _text(run_id: str, first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return b'{"runId":%b,"first":%d,"events":[%b]}' % (json.dumps(run_id).encode(), first, b",".join(lines))


def _binary(run_id: str, first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    head = json.dumps({"runId": run_id, "first": first}).encode()
    return len(head).to_bytes(4, "big") + head + ENCODERS["protobuf"].encode(first, lines, events)


SUBPROTOCOLS: dict[str, Encode] = {"agui.json": _text, "agui.protobuf": _binary}
"""In the order of preference: whoever names none gets the first."""
