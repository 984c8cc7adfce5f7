"""The official encoder's own output, event by event: what ours is held against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway import jsonio

_FILE = Path(__file__).parents[1] / "vectors" / "events.jsonl"


@dataclass(frozen=True, slots=True)
class Vector:
    name: str
    event: dict[str, Any]
    json: str
    """Out of the official SSE frame."""
    frame: bytes
    decoded: dict[str, Any]
    """What the official decoder gives back."""


def _vector(line: bytes) -> Vector:
    row = jsonio.loads(line)
    text = row["sse"].removeprefix("data: ").removesuffix("\n\n")
    decoded = row.get("decoded") or jsonio.loads(text)
    return Vector(row["name"], row["event"], text, bytes.fromhex(row["proto_hex"]), decoded)


VECTORS = [_vector(line) for line in _FILE.read_bytes().splitlines()]
