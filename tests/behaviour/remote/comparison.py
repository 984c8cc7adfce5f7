"""What a client saw of a run, in a form in which two runs of one agent are equal if the client cannot tell them apart.

Two runs differ in these, and in nothing else:
- ids that the client makes (`threadId`, `runId`, the ids of its own messages: UUIDs) and that the gateway makes up
  (twelve hexadecimal digits and a number): each becomes a number, in the order in which they appear;
- `expiresAt` of an interrupt: the time at which it was asked is in it;
- where the text of one message is cut into deltas, for an agent whose deltas are merged: they are joined.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.clients.node import Step, Wire

MADE_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{12}-\d+\b")
EXPIRES = re.compile(r'("expiresAt": )"[^"]*"')
DELTAS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")
KEPT = ("messages", "state", "pendingInterrupts", "outcome", "pendingToolCallIds", "runErrors", "failures", "rejected")
"""Of what the application holds afterwards; the thread's id and the requests' URLs are its own."""


def same_form(talk: list[Step], *, merged: bool = True) -> list[Wire]:
    told = [
        {
            "events": joined(step.events) if merged else step.events,
            "complaints": step.complaints,
            **{key: step.seen[key] for key in KEPT},
        }
        for step in talk
    ]
    found: Any = json.loads(numbered(json.dumps(told)))
    return list(found)


def numbered(text: str) -> str:
    seen: dict[str, str] = {}
    text = MADE_UP.sub(lambda match: seen.setdefault(match[0], f"#{len(seen)}"), text)
    return EXPIRES.sub(r'\1"later"', text)


def joined(events: list[Wire]) -> list[Wire]:
    found: list[Wire] = []
    for event in events:
        before = found[-1] if found else {}
        alike = event["type"] in DELTAS and _but_delta(before) == _but_delta(event)
        if alike:
            found[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            found.append(event)
    return found


def _but_delta(event: Wire) -> Wire:
    return {key: value for key, value in event.items() if key != "delta"}
