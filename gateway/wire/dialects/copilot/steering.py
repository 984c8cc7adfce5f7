"""Words for a turn under way: `session.send` with `mode: immediate`.

In: what Copilot says of them. Out: the requests, `UserMessageAccepted` when the message comes back as one of the
conversation, and what keeps the turn from its end. Copilot names a message in its answer, and begins another round with
one that came too late for the last, so a turn with words that wait goes on. When it is cancelled they are taken back
first: an abort would leave them, and Copilot go on with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from gateway.errors import AgentFault
from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.base import Dialect
from gateway.wire.fields import non_empty, obj

Data = dict[str, Any]
Then = Callable[[Data, AgentFault | None], list[Event]]
"""What follows an answer: its result, or the fault it is."""


class Steering(Dialect):
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        """The prompt has come back as a message."""
        self._rested = False
        """The turn would be over but for words that wait."""
        self._words: dict[str, UserMessageAccepted] = {}
        """In Copilot's queue, by its names of them."""
        self._claimed: dict[str, UserMessageAccepted] = {}
        """…and about to be a message, too late to be taken back."""
        self._unnamed = 0
        """Sent, and not answered with a name."""
        self._asked_back: set[str] = set()
        self._came: set[str] = set()
        """Messages of this turn."""

    # -- for the rest of the dialect

    def _ask_session(self, method: str, params: Data, then: Then) -> None:
        raise NotImplementedError

    def _abort(self) -> None:
        raise NotImplementedError

    def _conclude(self) -> list[Event]:
        raise NotImplementedError

    def _forget_words(self) -> None:
        self._words, self._claimed, self._came, self._asked_back = {}, {}, set(), set()
        self._unnamed, self._rested, self._begun = 0, False, False

    @property
    def _waits(self) -> bool:
        """Copilot has words, or may have, that it would go on with."""
        return bool(self._unnamed or self._words or self._claimed)

    # -- words

    def steer(self, message_id: str, text: str) -> bool:
        if not self._begun:
            return False
        words, key = UserMessageAccepted(message_id, text), self.turn.id_prefix
        self._unnamed += 1
        told = {"prompt": text, "mode": "immediate"}
        self._ask_session("session.send", told, lambda result, fault: self._named(words, key, result))
        return True

    def _named(self, words: UserMessageAccepted, key: str, result: Data) -> list[Event]:
        if key != self.turn.id_prefix or not self.is_busy:
            return []
        self._unnamed -= 1
        name = non_empty(result.get("messageId"))
        if name in self._came:
            return [words, *self._settle()]
        if name is not None:
            self._words[name] = words
        return self._settle()

    def _message_came(self, event: Data) -> list[Event]:
        name = non_empty(obj(event.get("data")).get("messageId")) or ""
        self._came.add(name)
        words = self._words.pop(name, None) or self._claimed.pop(name, None)
        if words is None:
            return []
        self._rested = False
        if self.is_cancelled:
            self._abort()  # the first one came before there was this to stop
        return [words]

    # -- the end

    def _stop(self) -> None:
        """Words are taken back before the turn is stopped."""
        for name in self._words.keys() - self._asked_back:
            self._take_back(name, self._words[name])
        if not self._unnamed and not self._asked_back:
            self._abort()

    def _take_back(self, name: str, words: UserMessageAccepted) -> None:
        key = self.turn.id_prefix
        self._asked_back.add(name)
        told = {"messageId": name, "expectedPrompt": words.text}
        self._ask_session("session.queue.withdrawMessage", told, lambda result, fault: self._back(name, key, result))

    def _back(self, name: str, key: str, result: Data) -> list[Event]:
        if key != self.turn.id_prefix or not self.is_busy:
            return []
        self._asked_back.discard(name)
        words = self._words.pop(name, None)
        if words is not None and result.get("removed") is not True:
            self._claimed[name] = words
        return self._settle()

    def _settle(self) -> list[Event]:
        """Some request about words was answered."""
        if self._rested and not self._waits:
            return self._conclude()
        if self.is_cancelled:
            self._stop()
        return []
