"""The demo: an agent without a model that shows everything a frontend can meet, each by a plain word in the prompt.

In: a `Turn`. Out: the events of the scene whose word the prompt has. Nothing it does is real: the weather is made up,
no file is deleted, no token is spent.

Look at `words` first: its table has every word. Beside it one file per idea, each a good place to copy from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gateway.events import Event
from gateway.turn import Turn

from .words import commands, scene_for

__all__ = ["capabilities", "demo"]


def demo(turn: Turn) -> AsyncIterator[Event]:
    """The scene's own generator: the gateway sends answers straight into it."""
    return scene_for(turn)(turn)


def capabilities() -> dict[str, Any]:
    """What it can say of itself better than its file: asked at every snapshot."""
    return {"custom": {"session": {"commands": commands()}}}
