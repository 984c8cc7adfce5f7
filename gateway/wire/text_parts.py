"""Which part of an answer is open: text or reasoning, and under which message id.

In: deltas of text and reasoning, and the moments when something else comes between. Out: `TextMessageContent`,
`ReasoningMessageContent` and their ends; one part is open at a time, and a part that goes on later is a new message, so
that a client shows it where it goes on. Only the first delta of a part names its message: a delta without an id takes
the fast path through the gateway.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal

from gateway.events import (
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
)

Kind = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part that opens."""

    kind: Kind
    key: Hashable
    """The agent's own id or index of it; None: it has none."""
    number: int
    """The how manieth part of the turn it is, from 1."""


def no_id(part: Part) -> str | None:
    """The gateway makes an id itself."""
    return None


class TextParts:
    """The parts of an agent or a subagent in one turn.

    `make_id` makes the message id of a part. `sends_ends`: a part that another one follows ends with an event of its
    own; otherwise the next part's start ends it, which AG-UI's translation takes care of.
    """

    def __init__(
        self,
        make_id: Callable[[Part], str | None] = no_id,
        subagent: str | None = None,
        *,
        sends_ends: bool = True,
    ) -> None:
        self._make_id = make_id
        self._subagent = subagent
        self._sends_ends = sends_ends
        self._open: Part | None = None
        self._message_id: str | None = None
        self._count = 0
        self._pieces: list[str] = []

    def begin_turn(self) -> None:
        self._open = None
        self._count = 0
        self._pieces = []

    @property
    def open_part(self) -> Part | None:
        return self._open

    @property
    def message_id(self) -> str | None:
        """Of the open part."""
        return self._message_id if self._open is not None else None

    @property
    def open_text(self) -> str:
        """What the open part, or the last one, has said so far."""
        return "".join(self._pieces)

    def is_open(self, kind: Kind, key: Hashable = None) -> bool:
        return self._open is not None and self._open.kind == kind and self._open.key == key

    def add_text(self, delta: str, key: Hashable = None) -> list[Event]:
        if not delta:
            return []
        events, message_id = self._switch("text", key)
        self._pieces.append(delta)
        return [*events, TextMessageContent(delta, message_id, self._subagent)]

    def add_reasoning(self, delta: str, key: Hashable = None) -> list[Event]:
        if not delta:
            return []
        events, message_id = self._switch("reasoning", key)
        self._pieces.append(delta)
        return [*events, ReasoningMessageContent(delta, message_id, self._subagent)]

    def close(self, kind: Kind | None = None) -> list[Event]:
        """The open part is complete. `kind`: only if it is of this kind."""
        part = self._open
        if part is None or kind not in (None, part.kind):
            return []
        self._open = None
        if part.kind == "text":
            return [TextMessageEnd(self._message_id, self._subagent)]
        return [ReasoningMessageEnd(self._message_id, self._subagent)]

    def break_off(self) -> None:
        """Something else came between, or the run ended, and closes the part for the client: no event is due."""
        self._open = None

    def _switch(self, kind: Kind, key: Hashable) -> tuple[list[Event], str | None]:
        """The end of the part before; and the id of this one, if it opens now."""
        if self.is_open(kind, key):
            return [], None
        events = self.close() if self._sends_ends else []
        self._count += 1
        self._open = Part(kind, key, self._count)
        self._message_id = self._make_id(self._open)
        self._pieces = []
        return events, self._message_id


def missing_end(sent: str, whole: str) -> str:
    """What was not sent yet of a text that comes whole. Empty if it was sent otherwise: that cannot be taken back."""
    return whole[len(sent) :] if whole.startswith(sent) else ""
