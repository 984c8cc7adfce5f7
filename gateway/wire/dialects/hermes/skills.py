"""The skills of a run: Hermes' own, by name.

In: names, and responses. Out: requests, and for each skill the text with which Hermes would begin a prompt that invokes
it. Never: a name that is not in Hermes' list is not sent to `command.dispatch`, which also runs commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gateway.events import Event
from gateway.wire.dialects.hermes.sessions import Call
from gateway.wire.fields import non_empty, obj, strings

OnLoaded = Callable[[str], list[Event]]
"""Called with the text of a skill."""
OnMissing = Callable[[str], list[Event]]
"""Called with the reason why there is none."""


def load_skill(call: Call, name: str, on_loaded: OnLoaded, on_missing: OnMissing) -> None:
    """`call` sends a request about the session."""
    missing = f"Hermes has no skill {name!r}. `hermes skills list` lists them."

    def read_list(result: Any, error: Any) -> list[Event]:
        if name not in _read_names(result):
            return on_missing(missing)
        call("command.dispatch", {"name": _to_command(name), "arg": ""}, read_dispatched)
        return []

    def read_dispatched(result: Any, error: Any) -> list[Event]:
        message = non_empty(obj(result).get("message"))
        if message is None or obj(result).get("type") != "skill":
            return on_missing(f"Hermes did not load the skill {name!r}: another command of it has that name.")
        return on_loaded(message)

    call("skills.manage", {"action": "list"}, read_list)


def _read_names(result: Any) -> set[str]:
    """Hermes lists skills by category."""
    return {name for names in obj(obj(result).get("skills")).values() for name in strings(names) if name}


def _to_command(name: str) -> str:
    """The command that invokes a skill, as Hermes derives it from the skill's name."""
    command = re.sub(r"[^a-z0-9-]", "", re.sub(r"[ _]", "-", name.lower()))
    return re.sub(r"-{2,}", "-", command).strip("-")
