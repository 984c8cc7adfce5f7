"""The owners of messages, tool calls and activities in one run, for AG-UI's attribution rules V17–V22 (numbered in
`ordering`), and the fields that V23 forbids to be null.

In: events that create an entity, and the messages of a snapshot or an input. Out: the owner of an entity. An owner is a
`subagentRunId`; None is the parent agent. Never: a refusal; `ordering` compares and raises.

An id is unique within its kind only, so each kind has its own table. An entity keeps its owner after it is closed: an
encrypted value, or a second start, may come after the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from gateway.events import Wire
from gateway.turn import tool_calls_of

Owner: TypeAlias = str | None

_NEVER_NULL = {
    "SUBAGENT_STARTED": ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"),
    "SUBAGENT_FINISHED": ("outcome",),
    "SUBAGENT_ERROR": ("code",),
}


class Attribution:
    """For each kind of entity: id → owner. A missing id is unknown, which is not the same as None."""

    __slots__ = ("activities", "calls", "messages", "reasoning")

    def __init__(self) -> None:
        self.messages: dict[str, Owner] = {}
        """Text messages, and the messages of tool results."""
        self.calls: dict[str, Owner] = {}
        self.reasoning: dict[str, Owner] = {}
        """Spans and messages together: they often share an id."""
        self.activities: dict[str, Owner] = {}

    def add_snapshot(self, event: Wire) -> None:
        """V22: a MESSAGES_SNAPSHOT replaces the conversation, and so the owners."""
        self._add_messages(event["messages"], overwrite=True)

    def add_input(self, event: Wire) -> None:
        """V22: the messages of RUN_STARTED.input set owners of unknown ids only."""
        self._add_messages(_input_messages(event), overwrite=False)

    def add_call(self, event: Wire) -> None:
        """V18: a tool call without a `subagentRunId` has the owner of its parent message."""
        owner = event.get("subagentRunId")
        parent = event.get("parentMessageId")
        if owner is None and parent is not None:
            owner = self.messages.get(parent)
        self.calls.setdefault(event["toolCallId"], owner)

    def add_result(self, event: Wire) -> None:
        """V22: a result is a new message. Its owner ran the tool, and need not be the caller."""
        self.messages[event["messageId"]] = event.get("subagentRunId")

    def add_activity(self, event: Wire) -> None:
        """V21: with `replace: false` the client leaves a known activity unchanged, its owner included."""
        _set_owner(self.activities, event["messageId"], event.get("subagentRunId"), event.get("replace") is not False)

    def owners_of_encrypted(self, event: Wire) -> dict[str, Owner]:
        """V20: the table with the entity that a REASONING_ENCRYPTED_VALUE names."""
        if event["subtype"] == "tool-call":
            return self.calls
        return self.messages if event["entityId"] in self.messages else self.reasoning

    def _add_messages(self, messages: Iterable[Wire], *, overwrite: bool) -> None:
        for message in messages:
            owner = message.get("subagentRunId")
            _set_owner(self._owners_by_role(message["role"]), message["id"], owner, overwrite)
            for add_call in tool_calls_of(message):
                _set_owner(self.calls, add_call["id"], owner, overwrite)

    def _owners_by_role(self, role: str) -> dict[str, Owner]:
        if role == "reasoning":
            return self.reasoning
        return self.activities if role == "activity" else self.messages


def null_fields(event: Wire) -> Iterator[str]:
    """V23: the event's fields that are null and must be absent instead."""
    for field in ("subagentRunId", *_NEVER_NULL.get(event["type"], ())):
        if event.get(field, "") is None:
            yield field
    outcome = event.get("outcome") or {}
    if outcome.get("interruptIds", "") is None:
        yield "outcome.interruptIds"
    for item in (*_input_messages(event), *event.get("messages", ()), *outcome.get("interrupts", ())):
        if item.get("subagentRunId", "") is None:
            yield f"subagentRunId of {item['id']!r}"


def tag_event(event: Wire, owner: Owner) -> Wire:
    """The event in its owner's name; events of the parent agent have no `subagentRunId`."""
    return event if owner is None else {**event, "subagentRunId": owner}


def _input_messages(event: Wire) -> Any:
    return (event.get("input") or {}).get("messages", ())


def _set_owner(owners: dict[str, Owner], key: str, owner: Owner, overwrite: bool) -> None:
    if overwrite or key not in owners:
        owners[key] = owner
