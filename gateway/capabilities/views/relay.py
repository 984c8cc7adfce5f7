"""The snapshot as Agent Relay's `AgentSessionCapabilities`, with the session's status beside it: `?view=relay`.

In: a snapshot, and the status of the thread. Out: the JSON object, with the interface's own names; or the snapshot with
the same under `custom.relay`, without the status, which changes all the time. Only what works is declared; unknown
fields are absent.

- A message arrives with a run, or by `POST …/threads/{t}/messages`, which starts one: `on-idle` when the thread is
  idle, or `immediate`, which interrupts. A message that cannot be delivered yet is queued. `next-tool-call` is declared
  if the agent takes a message while its turn is running (`custom.gateway.steering`).
- Events come on the thread's own feed, `GET …/threads/{t}/events`. `status.idle` and the other `status.*` are the
  values of `status.changed`, by the names that Relay's predicates have for them.
- `send` and `expose` are false: an agent answers in its runs, and sends nothing outside of them.
- `release` is `POST …/threads/{t}/close`: the thread is `releasing` while its session is closed, then `released` until
  the next message resumes the session. If the gateway closes an unused session, the thread stays `idle`. No thread is
  ever `paused`.
- `blocked` is a thread with an open interrupt: a run without an answer is refused; a message waits, or, if it is
  `immediate`, abandons the interrupt. A thread that is `waiting`, for a tool of the client, continues without its
  result.
- `failed` is a thread whose agent died, or stalled, in its last run. The next run starts as any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import Fact, find_fact
from gateway.capability_paths import AVAILABILITY, STEERING, flatten, unflatten

NAME = "relay"
PREFIX = f"custom.{NAME}."

GATEWAY_FIELDS: dict[str, dict[str, Any]] = {
    "messaging": {"receive": True, "send": False},
    "delivery": {"queue": True},
    "actions": {"expose": False},
    "lifecycle": {"release": True, "pause": False, "snapshot": False},
}
"""What the gateway provides for every session."""

LAYER = flatten({"custom": {NAME: GATEWAY_FIELDS}})
"""The same as a part of the gateway's layer."""

DELIVERY_MODES = ("immediate", "on-idle")
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
"""Events of every session; some have more."""

TOOL_EVENTS = ("tool.called", "tool.completed", "tool.failed")
SESSION_EVENTS = ("session.started", "session.resumed", "session.released")
"""Events of an agent that can resume sessions."""


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """What a thread is doing."""

    exists: bool = True
    has_live_run: bool = False
    is_starting: bool = False
    """The session of its live run is still being opened."""
    is_parked: bool = False
    """A turn waits between two runs."""
    has_open_interrupt: bool = False
    last_outcome: str = "idle"
    """How the last run, or a release, left the thread: its status if nothing else applies."""


def view(snapshot: Snapshot, thread_status: ThreadStatus | None = None) -> dict[str, Any]:
    """`thread_status`: None without a thread; then the status is the agent's."""
    derived = {PREFIX + path: field.value for path, field in _derive_fields(snapshot).items()}
    capabilities: dict[str, Any] = unflatten(LAYER | derived)["custom"][NAME]
    current = status(thread_status, snapshot.get(AVAILABILITY))
    return capabilities if current is None else capabilities | {"status": current}


def status(thread_status: ThreadStatus | None, availability: str | None) -> str | None:
    """Relay's status. A run counts before the agent's availability: it continues even if no new run could start."""
    if thread_status is not None and (busy := _busy_status(thread_status)) is not None:
        return busy
    if availability not in (None, "ready"):
        return "failed" if availability == "broken" else "offline"
    if thread_status is None:
        return None if availability is None else "idle"
    if not thread_status.exists:
        return "offline" if thread_status.last_outcome == "offline" else "idle"
    return thread_status.last_outcome


def _busy_status(thread_status: ThreadStatus) -> str | None:
    if thread_status.has_live_run:
        return "starting" if thread_status.is_starting else "active"
    if thread_status.has_open_interrupt:
        return "blocked"
    return "waiting" if thread_status.is_parked else None


# -- fields derived from other capabilities


@dataclass(frozen=True, slots=True)
class DerivedField:
    value: Any
    facts: tuple[Fact, ...]
    """What it is derived from."""

    def to_statement(self, path: str) -> LayerStatement:
        known = ", ".join(f"{fact.path} by {fact.source}" for fact in self.facts if fact.value is not None)
        source = f"made of {known}" if known else "what this gateway carries"
        return LayerStatement("gateway", source, {path: self.value})


def with_relay(snapshot: Snapshot) -> Snapshot:
    """The snapshot with all of it under `custom.relay`, for clients that read AG-UI's view alone. Only this gateway's
    own values count there: a mounted gateway delivers messages in its own way."""
    paths = [path for path in snapshot.values if not f"{path}.".startswith(PREFIX) or _is_from_gateway(snapshot, path)]
    derived = {PREFIX + path: field for path, field in _derive_fields(snapshot).items()}
    values = {path: snapshot.values[path] for path in paths}
    sources = {path: snapshot.sources[path] for path in paths}
    for path, field in derived.items():
        values[path] = field.value
        sources[path] = [field.to_statement(path)]
    return Snapshot(values, sources)


def _is_from_gateway(snapshot: Snapshot, path: str) -> bool:
    return snapshot.sources[path][-1].layer == "gateway"


def _derive_fields(snapshot: Snapshot) -> dict[str, DerivedField]:
    """The interface's path → the field, where its value is known."""
    resume = find_fact(snapshot, "canResume")
    fork = find_fact(snapshot, "canFork")
    tools = [_fact_at(snapshot, path) for path in ("tools.supported", "tools.clientProvided")]
    image = _fact_at(snapshot, "multimodal.input.image")
    steering = _fact_at(snapshot, STEERING)
    action_sources = [find_fact(snapshot, "supportsMCP"), tools[1]]
    fields = {
        "messaging.attachments": DerivedField(["text", *_names_if(image, "image")], (image,)),
        "delivery.modes": DerivedField([*DELIVERY_MODES, *_names_if(steering, "next-tool-call")], (steering,)),
        "events.emits": DerivedField(_list_events(tools, resume, fork), (*tools, resume, fork)),
        "actions.invoke": DerivedField(_can_invoke(action_sources), tuple(action_sources)),
        "lifecycle.resume": DerivedField(resume.value, (resume,)),
        "lifecycle.fork": DerivedField(fork.value, (fork,)),
    }
    return {path: field for path, field in fields.items() if field.value is not None}


def _fact_at(snapshot: Snapshot, path: str) -> Fact:
    return Fact(snapshot.get(path), path, snapshot.source_of(path))


def _names_if(fact: Fact, *names: str) -> tuple[str, ...]:
    return names if fact.value is True else ()


def _list_events(tools: Iterable[Fact], resume: Fact, fork: Fact) -> list[str]:
    """Calls of the client's own tools have events too."""
    tool_events = TOOL_EVENTS if any(fact.value is True for fact in tools) else ()
    return [*EVENTS, *tool_events, *_names_if(resume, *SESSION_EVENTS), *_names_if(fork, "session.forked")]


def _can_invoke(sources: Iterable[Fact]) -> bool | None:
    """Actions reach a session as tools: of an MCP server that it gets, or of the client. None if it is unknown."""
    values = [fact.value for fact in sources]
    return True if True in values else None if None in values else False
