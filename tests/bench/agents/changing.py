"""An agent whose capabilities are others after every run."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from gateway.turn import Turn

_numbers = count(1)
_known: dict[str, Any] = {"custom": {"runs": 0}}


async def changing(turn: Turn) -> AsyncIterator[str]:
    _known["custom"] = {"runs": next(_numbers)}
    yield "changed"


def capabilities() -> dict[str, Any]:
    return _known
