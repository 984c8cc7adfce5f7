"""Why an update may produce no event and change no state: named reasons, found in the recording alone.

Each rule reads the update and the ones before it in its session, never the reader. So an update that the reader loses,
and that no rule excuses, is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.wire.acp.replay import SeenUpdate

STATE_UPDATES = ("available_commands_update", "config_option_update", "current_mode_update", "usage_update")


@dataclass
class Past:
    """The updates of a session so far."""

    opened: dict[str, Any] = field(default_factory=dict)
    """The newest result that lists its options and commands."""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)


def plain(update: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in update.items() if key != "_meta" and value is not None}


def user_message(update: dict[str, Any], past: Past) -> bool:
    """The user's own message, which the client has."""
    return update["sessionUpdate"] in ("user_message_chunk", "user_message")


def empty_text(update: dict[str, Any], past: Past) -> bool:
    if update["sessionUpdate"] not in ("agent_message_chunk", "agent_thought_chunk"):
        return False
    return bool(update["content"] == {"type": "text", "text": ""})


def known_already(update: dict[str, Any], past: Past) -> bool:
    """The same as the last update of its kind, or as the result that opened the session."""
    kind = update["sessionUpdate"]
    if kind not in STATE_UPDATES:
        return False
    opened = any(past.opened.get(key) == value for key, value in plain(update).items() if key in past.opened)
    return opened or past.states.get(kind) == plain(update)


def vendor_only(update: dict[str, Any], past: Past) -> bool:
    """Nothing outside `_meta`, or nothing that differs: codex-acp's thread states, pi-acp's queue."""
    if update["sessionUpdate"] == "session_info_update":
        return all(past.info.get(key) == update[key] for key in ("title", "updatedAt") if key in update)
    return False


def terminal_silent(update: dict[str, Any], past: Past) -> bool:
    """Version 2: a terminal that has printed nothing, or ended without a status."""
    empty = plain(update).get("output", {"data": ""}) == {"data": ""} and not update.get("exitStatus")
    return update["sessionUpdate"] == "terminal_update" and empty


def call_unchanged(update: dict[str, Any], past: Past) -> bool:
    """A tool call reported once more, or with nothing but a vendor's data."""
    if update["sessionUpdate"] not in ("tool_call", "tool_call_update"):
        return False
    known = past.calls.get(update["toolCallId"], {})
    return all(known.get(key) == value for key, value in plain(update).items() if key != "sessionUpdate")


def call_not_final(update: dict[str, Any], past: Past) -> bool:
    """Input or content that may still change before the tool runs: sent when it is final."""
    if update["sessionUpdate"] != "tool_call_update" or update["toolCallId"] not in past.calls:
        return False
    known = past.calls[update["toolCallId"]]
    changed = {key for key, value in plain(update).items() if known.get(key) != value} - {"sessionUpdate"}
    return changed <= {"rawInput", "content"} and known.get("status", "pending") == "pending"


RULES: tuple[Callable[[dict[str, Any], Past], bool], ...] = (
    user_message,
    empty_text,
    known_already,
    vendor_only,
    terminal_silent,
    call_unchanged,
    call_not_final,
)


def excuses(seen: list[SeenUpdate]) -> Iterator[tuple[SeenUpdate, str | None]]:
    """Each update that produced nothing, with the rule that excuses it; None: it was lost."""
    pasts: dict[str, Past] = {}
    for seen_update in seen:
        past = pasts.setdefault(seen_update.session_id, Past())
        past.opened = seen_update.opening_result
        if not seen_update.events and not seen_update.has_changed_state and not seen_update.is_replayed:
            yield seen_update, next((rule.__name__ for rule in RULES if rule(seen_update.update, past)), None)
        _remember(seen_update.update, past)


def _remember(update: dict[str, Any], past: Past) -> None:
    kind = update["sessionUpdate"]
    if kind in STATE_UPDATES:
        past.states[kind] = plain(update)
    elif kind == "session_info_update":
        past.info |= {key: update[key] for key in ("title", "updatedAt") if key in update}
    elif kind in ("tool_call", "tool_call_update"):
        before = {} if kind == "tool_call" else past.calls.get(update["toolCallId"], {})
        past.calls[update["toolCallId"]] = before | plain(update)
