"""What a client saw of a run, in a form in which two runs of one agent are equal if the client sees no difference.

Two runs differ in these, and in nothing else:
- ids that the client makes (`threadId`, `runId`, the ids of its own messages: UUIDs) and that the gateway makes up
  (twelve hexadecimal digits and a number): each becomes a number, in the order in which they appear;
- `expiresAt` of an interrupt: it holds the time of the request;
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
    events = [
        {
            "events": joined(step.events) if merged else step.events,
            "complaints": step.complaints,
            **{key: step.seen[key] for key in KEPT},
        }
        for step in talk
    ]
    normalized: Any = json.loads(numbered(json.dumps(events)))
    return list(normalized)


def numbered(text: str) -> str:
    seen: dict[str, str] = {}
    text = MADE_UP.sub(lambda match: seen.setdefault(match[0], f"#{len(seen)}"), text)
    return EXPIRES.sub(r'\1"later"', text)


def joined(events: list[Wire]) -> list[Wire]:
    normalized: list[Wire] = []
    for event in events:
        before = normalized[-1] if normalized else {}
        alike = event["type"] in DELTAS and _but_delta(before) == _but_delta(event)
        if alike:
            normalized[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            normalized.append(event)
    return normalized


def _but_delta(event: Wire) -> Wire:
    return {key: value for key, value in event.items() if key != "delta"}
