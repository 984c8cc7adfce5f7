"""The snapshot as Agent Relay's `AgentSessionCapabilities`, with the session's status beside it: `?view=relay`.

In: a snapshot, and where the thread is. Out: the JSON object, in the interface's own names; or the snapshot with the
same under `custom.relay`, but for the status, which changes all the time. Only what works is declared; what nobody
knows is absent.

- A message comes by a run, or by `POST …/threads/{t}/messages`, which begins one: `on-idle` when the thread is idle, or
  `immediate`, which interrupts; what cannot be delivered yet is queued. `next-tool-call` is there where the agent takes
  a message while its turn is under way (`custom.gateway.steering`).
- Events come on the thread's own feed, `GET …/threads/{t}/events`. `status.idle` and its like are the values of
  `status.changed`, by the names that Relay's predicates have for them.
- `send` and `expose` are false: an agent answers in its runs, and speaks to nobody by itself.
- `release` is `POST …/threads/{t}/close`: the thread is `released` until the next message brings its session back.
  Where the gateway itself closes a session that nobody uses, the thread stays `idle`, ready for more work. Nothing here
  is `paused`, and no session is caught `releasing`.
- `blocked` is a thread with an open question: a run that brings no answer is refused, a message waits, or, where it is
  `immediate`, gives the question up. One that is `waiting`, for a tool of the client's, goes on without it.
- `failed` is a thread whose agent died, or fell silent, in its last run. The next one begins as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import Fact, fact
from gateway.capability_paths import AVAILABILITY, STEERING, flatten, unflatten

NAME = "relay"
PLACE = f"custom.{NAME}."
CARRIED: dict[str, dict[str, Any]] = {
    "messaging": {"receive": True, "send": False},
    "delivery": {"queue": True},
    "actions": {"expose": False},
    "lifecycle": {"release": True, "pause": False, "snapshot": False},
}
"""The same for every session: the gateway's doing."""

LAYER = flatten({"custom": {NAME: CARRIED}})
"""As a part of the gateway's layer."""

MODES = ("immediate", "on-idle")
EVENTS = (
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
)
"""Of every session; some have more."""

TOOL_EVENTS = ("tool.called", "tool.completed", "tool.failed")
SESSION_EVENTS = ("session.started", "session.resumed", "session.released")
"""Of an agent that has sessions to come back to."""


@dataclass(frozen=True, slots=True)
class ThreadStatus:
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
    left: str = "idle"
    """How its last run, or a release, left it: the status where nothing else is to be told."""


def view(snapshot: Snapshot, standing: ThreadStatus | None = None) -> dict[str, Any]:
    """`standing`: None without a thread; then the status is the agent's."""
    found = {PLACE + path: told.value for path, told in _made(snapshot).items()}
    told: dict[str, Any] = unflatten(LAYER | found)["custom"][NAME]
    now = status(standing, snapshot.get(AVAILABILITY))
    return told if now is None else told | {"status": now}


def status(standing: ThreadStatus | None, availability: str | None) -> str | None:
    """What is under way counts first: it goes on even where no new run could begin."""
    if standing is not None and (busy := _busy(standing)) is not None:
        return busy
    if availability not in (None, "ready"):
        return "failed" if availability == "broken" else "offline"
    if standing is None:
        return None if availability is None else "idle"
    return standing.left if standing.known else "offline"


def _busy(standing: ThreadStatus) -> str | None:
    if standing.live:
        return "starting" if standing.starting else "active"
    if standing.asked:
        return "blocked"
    return "waiting" if standing.parked else None


# -- what is made of the other leaves


@dataclass(frozen=True, slots=True)
class Made:
    value: Any
    of: tuple[Fact, ...]
    """What it is made of, with who said that."""

    def said(self, path: str) -> LayerStatement:
        known = ", ".join(f"{one.path} by {one.said_by}" for one in self.of if one.value is not None)
        return LayerStatement(
            "gateway", f"made of {known}" if known else "what this gateway carries", {path: self.value}
        )


def with_relay(snapshot: Snapshot) -> Snapshot:
    """With all of it under `custom.relay`, for whoever reads AG-UI's alone. That place is the gateway's: another, whose
    agent this is too, carries messages in its own way."""
    mine = [path for path in snapshot.values if not f"{path}.".startswith(PLACE) or _carried(snapshot, path)]
    made = {PLACE + path: told for path, told in _made(snapshot).items()}
    values = {path: snapshot.values[path] for path in mine} | {path: told.value for path, told in made.items()}
    said_by = {path: snapshot.sources[path] for path in mine} | {path: [told.said(path)] for path, told in made.items()}
    return Snapshot(values, said_by)


def _carried(snapshot: Snapshot, path: str) -> bool:
    return snapshot.sources[path][-1].layer == "gateway"


def _made(snapshot: Snapshot) -> dict[str, Made]:
    """By the interface's paths, where it is known."""
    resume, fork = fact(snapshot, "canResume"), fact(snapshot, "canFork")
    tools = [_leaf(snapshot, path) for path in ("tools.supported", "tools.clientProvided")]
    image, steering = _leaf(snapshot, "multimodal.input.image"), _leaf(snapshot, STEERING)
    invokes = [fact(snapshot, "supportsMCP"), tools[1]]
    found = {
        "messaging.attachments": Made(["text", *_if(image, "image")], (image,)),
        "delivery.modes": Made([*MODES, *_if(steering, "next-tool-call")], (steering,)),
        "events.emits": Made(_emits(tools, resume, fork), (*tools, resume, fork)),
        "actions.invoke": Made(_invokes(invokes), tuple(invokes)),
        "lifecycle.resume": Made(resume.value, (resume,)),
        "lifecycle.fork": Made(fork.value, (fork,)),
    }
    return {path: made for path, made in found.items() if made.value is not None}


def _leaf(snapshot: Snapshot, path: str) -> Fact:
    return Fact(snapshot.get(path), path, snapshot.who(path))


def _if(told: Fact, *words: str) -> tuple[str, ...]:
    return words if told.value is True else ()


def _emits(tools: Iterable[Fact], resume: Fact, fork: Fact) -> list[str]:
    """A call of the client's own tools is told as any other."""
    calls = TOOL_EVENTS if any(told.value is True for told in tools) else ()
    return [*EVENTS, *calls, *_if(resume, *SESSION_EVENTS), *_if(fork, "session.forked")]


def _invokes(ways: Iterable[Fact]) -> bool | None:
    """Actions reach a session as tools: an MCP server's that it is given, or the client's own."""
    values = [way.value for way in ways]
    return True if True in values else None if None in values else False
