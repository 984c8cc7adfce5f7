"""What can be fuzzed: recordings of one kind, and the check that every changed recording must pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from gateway.events import Wire
from gateway.jsonio import dumps
from tests.fuzz.mutations import mutate_lines


@dataclass(frozen=True, slots=True)
class Sample:
    """One recording."""

    name: str
    lines: tuple[bytes, ...]
    context: Any = None
    """What the target's check needs besides the lines."""


@dataclass(frozen=True, slots=True)
class Target:
    """One reader. `check` raises if the reader does, or if what came of the lines breaks a rule. Its `rng` decides all
    that is not in the lines: how they are cut, what the user answers."""

    name: str
    samples: Sequence[Sample]
    check: Callable[[Sample, list[bytes], Random], None]
    mutate: Callable[[Random, Sequence[bytes]], list[bytes]] = mutate_lines
    is_json: bool = True
    """The lines are JSON, so that the sweep can replace their values."""


def batches(rng: Random, lines: Sequence[bytes]) -> list[list[bytes]]:
    """The lines as a driver may read them: one by one, or many at once."""
    size = rng.choice((1, 2, 7, 1000))
    return [list(lines[at : at + size]) for at in range(0, len(lines), size)]


def check_writable(events: list[Wire]) -> None:
    """Every event can be written to the log and to the client."""
    for event in events:
        dumps(event)
