"""Why an update may give no event and change no fact: the named reasons, told from the recording alone.

Each rule looks at the update and at what came before it in its session, never at the reader. So an update that the
reader loses, and no rule excuses, is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.wire.acp.replay import Seen

FACTS = ("available_commands_update", "config_option_update", "current_mode_update", "usage_update")


@dataclass
class Past:
    """What a session has said so far."""

    opened: dict[str, Any] = field(default_factory=dict)
    """The newest answer that lists its options and commands."""
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)


def plain(update: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in update.items() if key != "_meta" and value is not None}


def echo(update: dict[str, Any], past: Past) -> bool:
    """The user's own words, which the client has."""
    return update["sessionUpdate"] in ("user_message_chunk", "user_message")


def empty_text(update: dict[str, Any], past: Past) -> bool:
    if update["sessionUpdate"] not in ("agent_message_chunk", "agent_thought_chunk"):
        return False
    return bool(update["content"] == {"type": "text", "text": ""})


def known_already(update: dict[str, Any], past: Past) -> bool:
    """A fact that says what the last one of its kind said, or the answer that opened the session."""
    kind = update["sessionUpdate"]
    if kind not in FACTS:
        return False
    opened = any(past.opened.get(key) == value for key, value in plain(update).items() if key in past.opened)
    return opened or past.facts.get(kind) == plain(update)


def vendor_only(update: dict[str, Any], past: Past) -> bool:
    """Nothing outside `_meta`, or nothing that differs: codex-acp's thread states, pi-acp's queue."""
    if update["sessionUpdate"] == "session_info_update":
        return all(past.info.get(key) == update[key] for key in ("title", "updatedAt") if key in update)
    return False


def terminal_silent(update: dict[str, Any], past: Past) -> bool:
    """Version 2: a terminal that has printed nothing, or ended in no way that is told."""
    empty = plain(update).get("output", {"data": ""}) == {"data": ""} and not update.get("exitStatus")
    return update["sessionUpdate"] == "terminal_update" and empty


def call_unchanged(update: dict[str, Any], past: Past) -> bool:
    """A tool call told once more, or with nothing but a vendor's data."""
    if update["sessionUpdate"] not in ("tool_call", "tool_call_update"):
        return False
    known = past.calls.get(update["toolCallId"], {})
    return all(known.get(key) == value for key, value in plain(update).items() if key != "sessionUpdate")


def call_held_back(update: dict[str, Any], past: Past) -> bool:
    """Input that may still change, or what a tool means to do, before it runs: told when it is settled."""
    if update["sessionUpdate"] != "tool_call_update" or update["toolCallId"] not in past.calls:
        return False
    known = past.calls[update["toolCallId"]]
    changed = {key for key, value in plain(update).items() if known.get(key) != value} - {"sessionUpdate"}
    return changed <= {"rawInput", "content"} and known.get("status", "pending") == "pending"


RULES: tuple[Callable[[dict[str, Any], Past], bool], ...] = (
    echo,
    empty_text,
    known_already,
    vendor_only,
    terminal_silent,
    call_unchanged,
    call_held_back,
)


def excuses(seen: list[Seen]) -> Iterator[tuple[Seen, str | None]]:
    """Each update that gave nothing, with the rule that says why; None: it was lost."""
    pasts: dict[str, Past] = {}
    for one in seen:
        past = pasts.setdefault(one.session_id, Past())
        past.opened = one.opened
        if not one.events and not one.facts and not one.replayed:
            yield one, next((rule.__name__ for rule in RULES if rule(one.update, past)), None)
        _note(one.update, past)


def _note(update: dict[str, Any], past: Past) -> None:
    kind = update["sessionUpdate"]
    if kind in FACTS:
        past.facts[kind] = plain(update)
    elif kind == "session_info_update":
        past.info |= {key: update[key] for key in ("title", "updatedAt") if key in update}
    elif kind in ("tool_call", "tool_call_update"):
        fresh = {} if kind == "tool_call" else past.calls.get(update["toolCallId"], {})
        past.calls[update["toolCallId"]] = fresh | plain(update)
