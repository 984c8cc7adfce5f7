"""Messages of the user's during a turn: pi's and omp's `steer`.

In: responses, and the messages of the conversation. Out: commands, and `UserMessageAccepted` when a message comes back
as part of the conversation. pi keeps messages that came too late for its next prompt, so the turn does not end before
they have been taken out of its queue. Slash commands cannot be steered: pi does not turn them into messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.pi.reader import LoopState
from gateway.wire.fields import items, obj, text

Json = dict[str, Any]
ResponseReader = Callable[[Json], list[Event]]
Call = Callable[[Json, ResponseReader], None]
"""Sends a command: (command, reader of the response)."""

MAX_QUEUE_CHECKS = 100
"""So often omp is asked whether it goes on with the messages that it holds. Then its process is given up."""


class SteeringQueue:
    """The messages of the current turn that the agent has not taken up.

    `finish_turn` ends the turn once the queue is empty. `on_stuck` is called when the agent keeps messages that cannot
    be taken back: its process must not be used for another turn.
    """

    def __init__(
        self,
        dialect: Dialect,
        call: Call,
        finish_turn: Callable[[], list[Event]],
        on_stuck: Callable[[], None],
    ) -> None:
        self._dialect = dialect
        self._call = call
        self._finish_turn = finish_turn
        self._on_stuck = on_stuck
        self.clear()

    def clear(self) -> None:
        self._messages: list[UserMessageAccepted] = []
        """The oldest first."""
        self._unanswered_count = 0
        self._is_withdrawing = False
        """The turn would be over but for the messages that are left; they are taken back, and no more are accepted."""
        self._is_withdrawal_sent = False

    def begin_turn(self) -> None:
        self.clear()

    @property
    def has_messages(self) -> bool:
        return bool(self._messages)

    def steer(self, message_id: str, message: str) -> bool:
        if self._is_withdrawing or message.startswith("/"):
            return False
        accepted = UserMessageAccepted(message_id, message)
        prefix = self._dialect.turn.id_prefix
        self._messages.append(accepted)
        self._unanswered_count += 1
        self._call({"type": "steer", "message": message}, lambda line: self._read_steered(accepted, prefix, line))
        return True

    def _read_steered(self, accepted: UserMessageAccepted, prefix: str, line: Json) -> list[Event]:
        if not self.is_current(prefix):
            return []
        self._unanswered_count -= 1
        is_handled = obj(line.get("data")).get("disposition") == "handled"
        events: list[Event] = [accepted] if is_handled and accepted in self._messages else []
        if (is_handled or line.get("success") is not True) and accepted in self._messages:
            self._messages.remove(accepted)
        return [*events, *self._finish_turn()] if self._is_withdrawing else events

    def is_current(self, prefix: str) -> bool:
        """The turn with this prefix is still under way."""
        return prefix == self._dialect.turn.id_prefix and self._dialect.is_busy

    def read_user_message(self, content: Any) -> list[Event]:
        """A message of the conversation: the agent has taken up the one with this text."""
        body = content if isinstance(content, str) else "".join(text(part.get("text")) or "" for part in items(content))
        accepted = next((message for message in self._messages if message.text == body), None)
        if accepted is None:
            return []
        self._messages.remove(accepted)
        return [accepted]

    def delays_end(self) -> bool:
        """Messages are left: they are taken back first, and `finish_turn` is called again then."""
        if not self._messages:
            return False
        self._is_withdrawing = True
        if not self._unanswered_count and not self._is_withdrawal_sent:
            self._is_withdrawal_sent = True
            self._withdraw(self._dialect.turn.id_prefix)
        return True

    def _withdraw(self, prefix: str) -> None:
        self._call({"type": "clear_queue"}, lambda line: self._read_withdrawn(prefix, line))

    def _read_withdrawn(self, prefix: str, line: Json) -> list[Event]:
        if not self.is_current(prefix):
            return []
        queue = obj(line.get("data")).get("steering")
        if not isinstance(queue, list):
            self._on_stuck()
        return self._conclude(is_taken_up=queue == [])

    def _conclude(self, *, is_taken_up: bool) -> list[Event]:
        """`is_taken_up`: the messages are no longer in the queue. An extension has changed their text."""
        accepted = self._messages if is_taken_up else []
        self.clear()
        return [*accepted, *self._finish_turn()]


class OmpSteeringQueue(SteeringQueue):
    """omp gives no message back: with one that came too late it starts another run of its loop, even after an abort. So
    omp is asked for its state until it holds none."""

    def __init__(
        self,
        dialect: Dialect,
        call: Call,
        finish_turn: Callable[[], list[Event]],
        on_stuck: Callable[[], None],
        loop: Callable[[], LoopState],
    ) -> None:
        super().__init__(dialect, call, finish_turn, on_stuck)
        self._loop = loop
        self._check_count = 0

    def begin_turn(self) -> None:
        super().begin_turn()
        self._check_count = 0

    def _withdraw(self, prefix: str) -> None:
        self._call({"type": "get_state"}, lambda line: self._read_state(prefix, line))

    def _read_state(self, prefix: str, line: Json) -> list[Event]:
        if not self.is_current(prefix):
            return []
        self._is_withdrawal_sent = False
        self._is_withdrawing = False
        state = obj(line.get("data"))
        if state.get("isStreaming") is True or not self._loop().is_idle:
            return []  # another run of the loop follows, and its end decides
        if state.get("queuedMessageCount") == 0:
            return self._conclude(is_taken_up=True)
        self._check_count += 1
        if self._check_count < MAX_QUEUE_CHECKS:
            return self._finish_turn()
        self._on_stuck()
        return self._conclude(is_taken_up=False)
