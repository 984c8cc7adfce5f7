"""The snapshot as Agent Relay's `AgentSessionCapabilities`, with the session's status beside it: `?view=relay`.

In: a snapshot, and where the thread is. Out: the JSON object, in the interface's own names. Only what works is
declared; what nobody knows is absent.

- A run is how a message comes. An idle thread takes one at once; a busy one refuses it with the reason. So the one
  boundary is `on-idle`, and nothing is queued.
- `send` and `expose` are false: an agent answers in its runs, and speaks to nobody by itself.
- `release` is `POST …/threads/{t}/close`; the next message brings the session back. So a thread is never `released`: it
  is `idle`, ready for more work. Nothing here is `paused`, and no session is caught `releasing`.
- `blocked` is a thread with an open question: it takes nothing but the answer. One that is `waiting`, for a tool of the
  client's, takes a message too, and goes on without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.capabilities.facts import fact
from gateway.capabilities.layers import flatten
from gateway.capabilities.merge import Snapshot

NAME = "relay"
AVAILABILITY = "custom.gateway.availability.status"

CARRIED: dict[str, dict[str, Any]] = {
    "messaging": {"receive": True, "send": False},
    "delivery": {"modes": ["on-idle"], "queue": False},
    "events": {
        "emits": [
            "status.changed",
            "status.idle",
            "status.active",
            "status.blocked",
            "status.waiting",
            "status.offline",
            "transcript.chunk",
            "error",
        ]
    },
    "actions": {"expose": False},
    "lifecycle": {"release": True, "pause": False, "snapshot": False},
}
"""The same for every session: the gateway's doing. Status is told by this view's feed, the rest by AG-UI's events."""

LAYER = flatten({"custom": {NAME: CARRIED}})
"""As a part of the gateway's layer."""

TOOL_EVENTS = ["tool.called", "tool.completed"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a thread is."""

    known: bool = True
    """There is such a thread."""
    live: bool = False
    """It has a live run."""
    starting: bool = False
    """Whose session is still being opened."""
    parked: bool = False
    """A turn waits between two runs."""
    asked: bool = False
    """A question is open."""


def view(snapshot: Snapshot, standing: Standing | None = None) -> dict[str, Any]:
    """`standing`: None without a thread; then the status is the agent's."""
    told = {
        "messaging": CARRIED["messaging"] | {"attachments": _attachments(snapshot)},
        "delivery": CARRIED["delivery"],
        "events": {"emits": _emits(snapshot)},
        "actions": _known({"invoke": _invokes(snapshot)}) | CARRIED["actions"],
        "lifecycle": CARRIED["lifecycle"] | _comes_back(snapshot),
    }
    return told | _known({"status": status(standing, snapshot.get(AVAILABILITY))})


def status(standing: Standing | None, availability: str | None) -> str | None:
    """What is under way counts first: it goes on even where no new run could begin."""
    if standing is not None and (busy := _busy(standing)) is not None:
        return busy
    if availability not in (None, "ready"):
        return "failed" if availability == "broken" else "offline"
    if standing is None:
        return None if availability is None else "idle"
    return "idle" if standing.known else "offline"


def _busy(standing: Standing) -> str | None:
    if standing.live:
        return "starting" if standing.starting else "active"
    if standing.asked:
        return "blocked"
    return "waiting" if standing.parked else None


def _attachments(snapshot: Snapshot) -> list[str]:
    return ["text", "image"] if snapshot.get("multimodal.input.image") is True else ["text"]


def _emits(snapshot: Snapshot) -> list[str]:
    emits: list[str] = CARRIED["events"]["emits"]
    return [*emits, *TOOL_EVENTS] if snapshot.get("tools.supported") is True else emits


def _invokes(snapshot: Snapshot) -> bool | None:
    """Actions reach a session as tools: an MCP server's that it is given, or the client's own."""
    ways = [fact(snapshot, "supportsMCP").value, snapshot.get("tools.clientProvided")]
    return True if True in ways else None if None in ways else False


def _comes_back(snapshot: Snapshot) -> dict[str, Any]:
    return _known({"resume": fact(snapshot, "canResume").value, "fork": fact(snapshot, "canFork").value})


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
