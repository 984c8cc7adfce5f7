"""The demo: an agent without a model. It shows everything that a frontend can receive; a keyword chooses the scene.

In: a `Turn`. Out: the events of the scene whose keyword the prompt contains. Never: a real effect. The weather is made
up, no file is deleted, no token is spent.

Start with `scenes`: its table lists every keyword. Beside it there is one file per idea, each good to copy from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gateway import Event, Turn

from .scenes import list_commands, scene_for

__all__ = ["capabilities", "demo"]


def demo(turn: Turn) -> AsyncIterator[Event]:
    """The scene's own generator: the gateway sends answers straight into it."""
    return scene_for(turn)(turn)


def capabilities() -> dict[str, Any]:
    """Its commands, made from the table of scenes. The gateway calls this for every capability snapshot."""
    return {"custom": {"session": {"commands": list_commands()}}}
