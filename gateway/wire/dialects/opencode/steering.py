"""User messages for the turn in progress: further prompts to a session that is busy.

In: what the server reports about messages. Out: HTTP calls, and `UserMessageAccepted` once the agent answers a message:
the agent's message names the user message it answers as its parent, and ids grow with time, so every message with an
id up to that one was read. A finished agent loop continues with a message that came meanwhile, so a turn with waiting
messages continues too. A turn that is cancelled or fails leaves its waiting messages in the conversation, where the
next prompt would pick them up: the queue deletes them, and reports those it cannot delete as accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from gateway.capability_paths import MODE
from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.opencode.requests import HttpCalls, escape_segment, prompt_body, session_path
from gateway.wire.fields import non_empty, text


class SteeringQueue:
    """`abort` stops the agent; `finish` ends the turn if nothing else keeps it open."""

    def __init__(
        self,
        dialect: Dialect,
        calls: HttpCalls,
        *,
        abort: Callable[[], None],
        finish: Callable[[], list[Event]],
    ) -> None:
        self._dialect = dialect
        self._calls = calls
        self._abort = abort
        self._finish = finish
        self.clear()

    def clear(self) -> None:
        self._sent: list[UserMessageAccepted] = []
        """Sent, and not yet reported as a message of the conversation."""
        self._waiting: dict[str, UserMessageAccepted] = {}
        """In the conversation, by message id; the agent has not answered them."""
        self._keeps_turn_open = False
        """Apart from these messages the turn would be over."""
        self._is_ending = False
        """The agent will not continue with the waiting messages."""
        self._is_deleting = False

    @property
    def has_unconfirmed(self) -> bool:
        return bool(self._sent)

    def send(self, message_id: str, text: str) -> bool:
        if self._is_ending:
            return False
        message = UserMessageAccepted(message_id, text)
        self._sent.append(message)
        turn = self._dialect.turn
        prompt = replace(turn, blocks=[{"type": "text", "text": text}], output_schema=None)
        mode = self._dialect.session_layer.get(MODE)
        body = prompt_body(prompt, mode, self._dialect.session_start.params.get("system"))
        path = session_path(self._dialect.session_id or "", "/prompt_async")
        self._calls.send("POST", path, body, partial(self._read_sent, message, turn.id_prefix))
        return True

    def _read_sent(self, message: UserMessageAccepted, turn_key: str, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 204) or turn_key != self._dialect.turn.id_prefix or message not in self._sent:
            return []
        self._sent.remove(message)
        return self._resume()

    def read_user_part(self, part: dict[str, Any]) -> list[Event]:
        """A part of a message that the agent did not write."""
        content = text(part.get("text"))
        message_id = non_empty(part.get("messageID"))
        message = next((message for message in self._sent if message.text == content), None)
        if message is None or message_id is None or part.get("type") != "text":
            return []
        self._sent.remove(message)
        self._waiting[message_id] = message
        return self._resume()

    def _resume(self) -> list[Event]:
        if self._dialect.is_cancelled and not self._sent:
            self._abort()
        return self._finish() if self._keeps_turn_open and not self._sent else []

    def accept_up_to(self, message_id: str | None) -> list[Event]:
        """The messages that the agent has read when it answers this one."""
        accepted = sorted(name for name in self._waiting if message_id is not None and name <= message_id)
        if accepted:
            self._keeps_turn_open = False
        return [self._waiting.pop(name) for name in accepted]

    def blocks_end(self, *, is_stopped: bool) -> bool:
        """Whether waiting messages keep the turn open. `is_stopped`: the agent will not continue with them."""
        if not self._sent and not self._waiting:
            return False
        self._keeps_turn_open = True
        if not is_stopped:
            return True
        self._is_ending = True
        if not self._sent and not self._is_deleting:
            self._is_deleting = True
            for message_id in self._waiting:
                path = session_path(self._dialect.session_id or "", f"/message/{escape_segment(message_id)}")
                self._calls.send(
                    "DELETE", path, None, partial(self._read_deleted, message_id, self._dialect.turn.id_prefix)
                )
        return True

    def _read_deleted(self, message_id: str, turn_key: str, answer: dict[str, Any]) -> list[Event]:
        message = self._waiting.pop(message_id, None) if turn_key == self._dialect.turn.id_prefix else None
        if message is None:
            return []
        remaining: list[Event] = [] if answer.get("status") in (200, 204) else [message]
        return remaining if self._waiting else [*remaining, *self._finish()]
