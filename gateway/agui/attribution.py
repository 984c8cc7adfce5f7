"""Who owns what in one run: the book that AG-UI's attribution rules (V17–V22) are read from, and V23 on nulls.

In: events that create something, and messages that a snapshot or an input brings along. Out: the owner on record.
An owner is a `subagentRunId`; None is the parent agent, which owns as firmly as any subagent. The book never refuses
anything: `order` compares, and raises.

An id is unique within its kind only, so each kind has its own page. Nothing is struck out when the thing closes: an
encrypted value, or a second start, may come after the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from gateway.events import Wire

Owner: TypeAlias = str | None

_NEVER_NULL = {
    "SUBAGENT_STARTED": ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"),
    "SUBAGENT_FINISHED": ("outcome",),
    "SUBAGENT_ERROR": ("code",),
}


class Attribution:
    """One page per kind: id → owner. A missing id is unknown, which is not the same as None."""

    __slots__ = ("activities", "calls", "messages", "reasoning")

    def __init__(self) -> None:
        self.messages: dict[str, Owner] = {}
        """Text messages, and the messages that tool results make."""
        self.calls: dict[str, Owner] = {}
        self.reasoning: dict[str, Owner] = {}
        """Reasoning spans and messages together: they often share an id."""
        self.activities: dict[str, Owner] = {}

    def snapshot(self, event: Wire) -> None:
        """V22. A snapshot rewrites the conversation, and so its owners."""
        self._seed(event["messages"], overwrite=True)

    def echo(self, event: Wire) -> None:
        """V22. The input that RUN_STARTED repeats is history: it claims only what nobody has claimed."""
        self._seed(_echoed(event), overwrite=False)

    def call(self, event: Wire) -> None:
        """A tool call without a tag belongs to whoever owns the message that carries it (V18)."""
        owner, parent = event.get("subagentRunId"), event.get("parentMessageId")
        if owner is None and parent is not None:
            owner = self.messages.get(parent)
        self.calls.setdefault(event["toolCallId"], owner)

    def result(self, event: Wire) -> None:
        """A result makes a new message, so the newest one counts: who ran the tool need not be who called it."""
        self.messages[event["messageId"]] = event.get("subagentRunId")

    def activity(self, event: Wire) -> None:
        """V21. With `replace: false` the client leaves a known activity alone, its owner too."""
        _note(self.activities, event["messageId"], event.get("subagentRunId"), event.get("replace") is not False)

    def encrypted(self, event: Wire) -> dict[str, Owner]:
        """The page that knows what a REASONING_ENCRYPTED_VALUE names (V20)."""
        if event["subtype"] == "tool-call":
            return self.calls
        return self.messages if event["entityId"] in self.messages else self.reasoning

    def _seed(self, messages: Iterable[Wire], *, overwrite: bool) -> None:
        for message in messages:
            owner = message.get("subagentRunId")
            _note(self._page(message["role"]), message["id"], owner, overwrite)
            for call in message.get("toolCalls") or ():
                _note(self.calls, call["id"], owner, overwrite)

    def _page(self, role: str) -> dict[str, Owner]:
        if role == "reasoning":
            return self.reasoning
        return self.activities if role == "activity" else self.messages


def nulls(event: Wire) -> Iterator[str]:
    """V23: the fields of this event, attribution and subagents only, that are null where absence is the only way."""
    for field in ("subagentRunId", *_NEVER_NULL.get(event["type"], ())):
        if event.get(field, "") is None:
            yield field
    outcome = event.get("outcome") or {}
    if outcome.get("interruptIds", "") is None:
        yield "outcome.interruptIds"
    for item in (*_echoed(event), *event.get("messages", ()), *outcome.get("interrupts", ())):
        if item.get("subagentRunId", "") is None:
            yield f"subagentRunId of {item['id']!r}"


def tagged(event: Wire, owner: Owner) -> Wire:
    """The event in its owner's name; the parent agent signs nothing."""
    return event if owner is None else {**event, "subagentRunId": owner}


def _echoed(event: Wire) -> Any:
    return (event.get("input") or {}).get("messages", ())


def _note(page: dict[str, Owner], key: str, owner: Owner, overwrite: bool) -> None:
    if overwrite or key not in page:
        page[key] = owner
