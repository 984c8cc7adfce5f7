"""Keys of agent files that have a new name. Used only for error messages: an old key is never accepted.

In: the place of an unknown key, or of a value that is not allowed. Out: the sentence that names the new one, or None.
"""

from __future__ import annotations

from typing import Any

from gateway.catalog.problems import Place

RENAMED_KEYS = {
    "announces": "capabilities_entry",
    "checked": "verified",
    "otherwise": "fallback",
    "command.inherit": "inherit_env",
    "acp.auth": "auth_method",
    "acp.errors_as_text": "error_text_patterns",
    "acp.late": "drain_seconds",
    "acp.sessions": "sessions_per_process",
    "acp.tools": "client_tools",
    "acp.usage_covers": "usage_scope",
    "cli.alone": "exclusive",
    "cli.door": "transport",
    "cli.errors_as_text": "error_text_patterns",
    "cli.late": "drain_seconds",
    "cli.wishes": "flags",
    "cli.flags.new": "session_id",
    "effort.budget": "budget_parameter",
    "effort.parameters": "override_parameters",
    "install.needs": "prerequisite_check",
    "models.checked": "verified",
    "remote.rests": "circuit_breaker.cooldown",
    "remote.trips_after": "circuit_breaker.failures",
}
"""Old key, from the top of the file, without indexes → the new key in the same table."""

RENAMED_VALUES = {
    "acp.client_tools": {"begin": "per-session", "follow": "per-turn"},
    "cli.transport": {
        "frames": "stdio-frames",
        "lines": "stdio-lines",
        "raw": "stdio-raw",
        "whole": "stdio-whole",
    },
}
"""Key → old value → new value."""


def explain_key(place: Place) -> str | None:
    """For an unknown key: "`door` is called `transport` now"."""
    new = RENAMED_KEYS.get(_path(place))
    return None if new is None else f"`{place[-1]}` is called `{new}` now"


def explain_value(place: Place, value: Any) -> str | None:
    """For a value that is not allowed: '"lines" is called "stdio-lines" now'."""
    new = RENAMED_VALUES.get(_path(place), {}).get(value) if isinstance(value, str) else None
    return None if new is None else f'"{value}" is called "{new}" now'


def _path(place: Place) -> str:
    """A fallback has the same tables as the file itself, so its keys are looked up as if they were at the top."""
    names = [part for part in place if isinstance(part, str)]
    return ".".join(names[1:] if names[:1] in (["fallback"], ["otherwise"]) and len(names) > 1 else names)
