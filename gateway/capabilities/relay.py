"""The snapshot as Agent Relay's `AgentSessionCapabilities`, with the session's status beside it: `?view=relay`.

In: a snapshot, and where the thread is. Out: the JSON object, in the interface's own names. Only what works is
declared; what nobody knows is absent.

- A message comes by a run, or by `POST …/threads/{t}/messages`, which begins one: `on-idle` when the thread is idle, or
  `immediate`, which interrupts; what cannot be delivered yet is queued. `next-tool-call` is there where the agent takes
  a message while its turn is under way (`custom.gateway.steering`).
- Events come on the thread's own feed, `GET …/threads/{t}/events`. `status.idle` and its like are the values of
  `status.changed`, by the names that Relay's predicates have for them.
- `send` and `expose` are false: an agent answers in its runs, and speaks to nobody by itself.
- `release` is `POST …/threads/{t}/close`; the next message brings the session back. So a thread is never `released`: it
  is `idle`, ready for more work. Nothing here is `paused`, and no session is caught `releasing`.
- `blocked` is a thread with an open question: a run that brings no answer is refused, a message waits, or, where it is
  `immediate`, gives the question up. One that is `waiting`, for a tool of the client's, goes on without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.capabilities.facts import fact
from gateway.capabilities.merge import Snapshot
from gateway.catalog.leaves import flatten

NAME = "relay"
AVAILABILITY = "custom.gateway.availability.status"

STEERING = "custom.gateway.steering"
"""The agent takes a message while its turn is under way."""

CARRIED: dict[str, dict[str, Any]] = {
    "messaging": {"receive": True, "send": False},
    "delivery": {"modes": ["immediate", "on-idle"], "queue": True},
    "events": {
        "emits": [
            "status.changed",
            "status.idle",
            "status.active",
            "status.blocked",
            "status.waiting",
            "status.offline",
            "message.received",
            "delivery.accepted",
            "delivery.delivered",
            "delivery.deferred",
            "delivery.failed",
            "transcript.chunk",
            "usage.updated",
            "error",
        ]
    },
    "actions": {"expose": False},
    "lifecycle": {"release": True, "pause": False, "snapshot": False},
}
"""The same for every session: the gateway's doing."""

LAYER = flatten({"custom": {NAME: CARRIED}})
"""As a part of the gateway's layer."""

TOOL_EVENTS = ["tool.called", "tool.completed", "tool.failed"]
SESSION_EVENTS = ["session.started", "session.released"]
"""Of an agent that has sessions to come back to."""


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
        "delivery": CARRIED["delivery"] | {"modes": _modes(snapshot)},
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


def _modes(snapshot: Snapshot) -> list[str]:
    modes: list[str] = CARRIED["delivery"]["modes"]
    return [*modes, "next-tool-call"] if snapshot.get(STEERING) is True else modes


def _emits(snapshot: Snapshot) -> list[str]:
    emits: list[str] = [*CARRIED["events"]["emits"]]
    emits += TOOL_EVENTS if snapshot.get("tools.supported") is True else []
    comes_back = _comes_back(snapshot)
    emits += SESSION_EVENTS if comes_back.get("resume") else []
    return [*emits, "session.forked"] if comes_back.get("fork") else emits


def _invokes(snapshot: Snapshot) -> bool | None:
    """Actions reach a session as tools: an MCP server's that it is given, or the client's own."""
    ways = [fact(snapshot, "supportsMCP").value, snapshot.get("tools.clientProvided")]
    return True if True in ways else None if None in ways else False


def _comes_back(snapshot: Snapshot) -> dict[str, Any]:
    return _known({"resume": fact(snapshot, "canResume").value, "fork": fact(snapshot, "canFork").value})


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
