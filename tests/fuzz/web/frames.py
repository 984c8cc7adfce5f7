"""WebSocket frames: messages with something wrong in them, and frames that are wrong themselves.

In: a random number generator. Out: the bytes of one frame (RFC 6455, section 5), and whether the connection may go on
after it.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz.web.bodies import make_body, run_input, spoil, to_bytes, wrong_value

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
FIN, MASKED = 0x80, 0x80


@dataclass(frozen=True, slots=True)
class FuzzFrame:
    data: bytes
    is_wrong: bool = False
    """Not a frame that the protocol has: the gateway may close the connection."""

    def __str__(self) -> str:
        return f"frame {self.data[:400]!r}"


def to_frame(payload: bytes, opcode: int = TEXT, *, head: int = FIN, mask: bytes = b"\x01\x02\x03\x04") -> bytes:
    size = len(payload)
    if size < 126:
        length = bytes([MASKED | size])
    elif size < 65536:
        length = bytes([MASKED | 126]) + struct.pack("!H", size)
    else:
        length = bytes([MASKED | 127]) + struct.pack("!Q", size)
    repeated = mask * (size // 4 + 1)
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated[:size], "big")).to_bytes(size, "big")
    return bytes([head | opcode]) + length + mask + masked


def make_frame(rng: Random) -> FuzzFrame:
    kind = rng.random()
    if kind < 0.9:
        message = _message(rng)
        return FuzzFrame(to_frame(message), is_wrong=not _is_utf8(message))
    if kind < 0.94:
        return FuzzFrame(to_frame(_message(rng), BINARY))
    if kind < 0.96:
        return FuzzFrame(to_frame(rng.randbytes(rng.randint(0, 125)), rng.choice((PING, PONG))))
    payload = _message(rng)
    return FuzzFrame(
        rng.choice(
            (
                to_frame(b"\xff\xfe" + payload),
                to_frame(payload, head=FIN | 0x40),
                to_frame(payload, rng.choice((3, 7, 11, 15))),
                to_frame(payload, 0),
                to_frame(payload[:125], PING, head=0),
                to_frame(payload, CLOSE),
                to_frame(b"\x03", CLOSE),
                to_frame(struct.pack("!H", rng.choice((0, 999, 1005, 1006, 5000))) + b"\xff", CLOSE),
                bytes([FIN | TEXT, 5]) + b"hello",
                bytes([FIN | TEXT, MASKED | 127]) + struct.pack("!Q", 2**62) + b"\0\0\0\0",
                bytes([FIN | PING, MASKED | 126]) + struct.pack("!H", 200) + bytes(204),
                rng.randbytes(40),
            )
        ),
        is_wrong=True,
    )


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _message(rng: Random) -> bytes:
    value: Any = rng.choice(
        (
            lambda: {"type": "run", "input": {**run_input(rng), "protocolVersion": "1.0"}},
            lambda: {"type": "run", "input": wrong_value(rng)},
            lambda: {
                "type": "attach",
                "runId": f"name-{rng.randrange(40)}",
                "after": rng.choice((0, 1, -1, "x", 1e99)),
            },
            lambda: {"type": "cancel", "runId": f"name-{rng.randrange(40)}"},
            lambda: {"type": wrong_value(rng), "runId": wrong_value(rng)},
        )
    )()
    if rng.random() < 0.1:
        return make_body(rng)
    if rng.random() < 0.6:
        value = spoil(rng, value)
    return to_bytes(rng, value) if rng.random() < 0.2 else json.dumps(value).encode()
