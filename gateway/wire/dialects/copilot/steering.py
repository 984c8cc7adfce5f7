"""User messages for the turn in progress: `session.send` with `mode: immediate`.

In: answers to the queue's requests, and `user.message` events. Out: requests, and `UserMessageAccepted` when a message
comes back as one of the conversation. Copilot assigns a message its id in the answer, and starts another round with a
message that came too late for the last one, so a turn with waiting messages continues. When the client cancels the
turn, the queue withdraws the messages first: an abort would leave them, and Copilot would continue with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.errors import AgentFault
from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.copilot.requests import Data, Requests
from gateway.wire.fields import non_empty


class SteeringQueue:
    """The steering messages of one turn. `on_answer` is called after each answer to a request of the queue."""

    def __init__(self, requests: Requests, on_answer: Callable[[], list[Event]]) -> None:
        self._requests = requests
        self._on_answer = on_answer
        self._is_closed = False
        self._queued: dict[str, UserMessageAccepted] = {}
        """In Copilot's queue, by message id."""
        self._claimed: dict[str, UserMessageAccepted] = {}
        """About to become messages: too late to be withdrawn."""
        self._unnamed = 0
        """Messages that Copilot has not yet assigned an id."""
        self._withdrawing: set[str] = set()
        self._arrived: set[str] = set()
        """Ids of all user messages of this turn."""

    @property
    def is_empty(self) -> bool:
        """False: Copilot has messages, or may have, that it would continue with."""
        return not (self._unnamed or self._queued or self._claimed)

    def close(self) -> None:
        """The turn is over: later answers are ignored."""
        self._is_closed = True

    def send(self, message: UserMessageAccepted) -> None:
        self._unnamed += 1
        params = {"prompt": message.text, "mode": "immediate"}
        self._requests.send_to_session("session.send", params, partial(self._read_sent, message))

    def _read_sent(self, message: UserMessageAccepted, result: Data, fault: AgentFault | None) -> list[Event]:
        if self._is_closed:
            return []
        self._unnamed -= 1
        message_id = non_empty(result.get("messageId"))
        if message_id in self._arrived:
            return [message, *self._on_answer()]
        if message_id is not None:
            self._queued[message_id] = message
        return self._on_answer()

    def take_arrived(self, message_id: str | None) -> UserMessageAccepted | None:
        """The steering message that became this message of the conversation. None: it was none."""
        self._arrived.add(message_id or "")
        return self._queued.pop(message_id or "", None) or self._claimed.pop(message_id or "", None)

    def withdraw(self) -> bool:
        """Take back all queued messages. True: no answer is due, so the turn can be aborted."""
        for message_id in self._queued.keys() - self._withdrawing:
            self._withdrawing.add(message_id)
            params = {"messageId": message_id, "expectedPrompt": self._queued[message_id].text}
            self._requests.send_to_session(
                "session.queue.withdrawMessage", params, partial(self._read_withdrawn, message_id)
            )
        return not self._unnamed and not self._withdrawing

    def _read_withdrawn(self, message_id: str, result: Data, fault: AgentFault | None) -> list[Event]:
        if self._is_closed:
            return []
        self._withdrawing.discard(message_id)
        message = self._queued.pop(message_id, None)
        if message is not None and result.get("removed") is not True:
            self._claimed[message_id] = message
        return self._on_answer()
