"""omp's subagents: each has messages and tool calls of its own.

In: `subagent_lifecycle` and `subagent_event`. Out: `SubagentStarted`, `SubagentFinished`, `SubagentError`, and the
events of their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.events import Event, SubagentError, SubagentFinished, SubagentStarted
from gateway.wire.dialects.pi.errors import clean_message
from gateway.wire.dialects.pi.messages import MessageReader
from gateway.wire.dialects.pi.permissions import Dialog
from gateway.wire.dialects.pi.reader import EventReader
from gateway.wire.dialects.pi.tool_calls import PiCall
from gateway.wire.fields import non_empty, obj

Json = dict[str, Any]
FINAL_STATUSES = ("completed", "failed", "aborted")


@dataclass(frozen=True, slots=True)
class Subagent:
    id: str
    """At the client."""
    messages: MessageReader


class Subagents:
    """`client_tools`: omp's names of the client's tools → the client's."""

    def __init__(
        self,
        qualify_id: Callable[[str], str],
        events: EventReader,
        client_tools: Callable[[], Mapping[str, str]],
    ) -> None:
        self._qualify_id = qualify_id
        self._events = events
        self._client_tools = client_tools
        self._subagents: dict[str, Subagent] = {}
        """By omp's ids."""

    def clear(self) -> None:
        self._subagents.clear()

    def read_lifecycle(self, line: Json) -> list[Event] | None:
        payload = obj(line.get("payload"))
        native_id = non_empty(payload.get("id"))
        status = payload.get("status")
        if native_id is None:
            return None
        if status == "started":
            return [self._start(native_id, payload)]
        subagent = self._subagents.pop(native_id, None)
        if status not in FINAL_STATUSES:
            return None
        if subagent is None:
            return []
        closed = subagent.messages.calls.close(cancelled=status == "aborted")
        if status == "completed":
            return [*closed, SubagentFinished(subagent.id)]
        reason = clean_message(subagent.messages.failed_message.get("errorMessage"))
        return [*closed, SubagentError(subagent.id, reason or f"The subagent {status}.")]

    def _start(self, native_id: str, payload: Json) -> Event:
        subagent_id = self._qualify_id(f"sub:{native_id}")
        self._subagents[native_id] = Subagent(subagent_id, self._events.new_messages(subagent_id, self._client_tools()))
        call, parent = self.find_call(payload.get("parentToolCallId"))
        kind = non_empty(payload.get("agent")) or "task"
        description = non_empty(payload.get("description"))
        return SubagentStarted(subagent_id, kind, description, parent, call.id if call is not None else None)

    def read_event(self, line: Json) -> Iterable[Event] | None:
        payload = obj(line.get("payload"))
        subagent = self._subagents.get(non_empty(payload.get("id")) or "")
        if subagent is None:
            return None
        return subagent.messages.read(obj(payload.get("event"))) or []  # its own loop and retries are not shown

    def find_call(self, native_id: Any) -> tuple[PiCall | None, str | None]:
        """A tool call of the agent or a subagent, and the subagent's id."""
        for subagent_id, messages in self._speakers():
            if (call := messages.calls.get(native_id)) is not None:
                return call, subagent_id
        return None, None

    def find_requested(self, dialog: Dialog) -> tuple[PiCall | None, str | None]:
        """The tool call that omp's approval is about, and the subagent's id."""
        for subagent_id, messages in self._speakers():
            if (call := dialog.find_call(messages.calls.unapproved)) is not None:
                return call, subagent_id
        return None, None

    def _speakers(self) -> list[tuple[str | None, MessageReader]]:
        subagents = [(subagent.id, subagent.messages) for subagent in self._subagents.values()]
        return [(None, self._events.messages), *subagents]
