"""Words for a turn under way: another prompt to a session that is at work.

In: what the server tells of messages. Out: the calls, and `UserMessageAccepted` when the agent answers to them: its
message names the user's that it is for, and that one's id is later than those of all that it has seen. A loop that is
at its end goes on with a message that came meanwhile, so a turn with words that wait goes on too. One that is stopped,
or fails, leaves them in the conversation, for the next prompt: they are deleted then, and if that cannot be, they are
told as heard.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.opencode.permission_answers import Asking
from gateway.wire.dialects.opencode.requests import prompt_body, session_path
from gateway.wire.fields import non_empty, text


class Steering(Asking):
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.seen = False
        """Something of this turn has happened."""
        self._unseen: list[UserMessageAccepted] = []
        """Not seen as a message yet."""
        self._words: dict[str, UserMessageAccepted] = {}
        """In the conversation, by the ids of their messages: nobody has answered to them."""
        self._held = self._ends = self._deleting = False
        """But for them the turn would be over; and the agent will not go on with them."""

    def forget_turn(self) -> None:
        super().forget_turn()
        self._unseen, self._words = [], {}
        self._held = self._ends = self._deleting = False

    # -- for the rest of the dialect

    def abort(self) -> None:
        raise NotImplementedError

    def _concluded(self) -> list[Event]:
        raise NotImplementedError

    # -- words

    def steer(self, message_id: str, text: str) -> bool:
        if not self.seen or self._ends:
            return False
        words = UserMessageAccepted(message_id, text)
        self._unseen.append(words)
        prompt = replace(self.turn, blocks=[{"type": "text", "text": text}], output_schema=None)
        body = prompt_body(prompt, self.session_start.params.get("system"))
        path = session_path(self.session_id or "", "/prompt_async")
        self.call("POST", path, body, partial(self._taken, words, self.turn.id_prefix))
        return True

    def _taken(self, words: UserMessageAccepted, key: str, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 204) or key != self.turn.id_prefix or words not in self._unseen:
            return []
        self._unseen.remove(words)
        return self._go_on()

    def users_part(self, part: dict[str, Any]) -> list[Event]:
        """Of a message that is none of the agent's."""
        said, message_id = text(part.get("text")), non_empty(part.get("messageID"))
        words = next((one for one in self._unseen if one.text == said), None)
        if words is None or message_id is None or part.get("type") != "text":
            return []
        self._unseen.remove(words)
        self._words[message_id] = words
        return self._go_on()

    def _go_on(self) -> list[Event]:
        if self.is_cancelled and not self._unseen:
            self.abort()
        return self._concluded() if self._held and not self._unseen else []

    def answers_to(self, message_id: str | None) -> list[Event]:
        """What the agent has seen by then. Ids grow with time."""
        heard = sorted(name for name in self._words if message_id is not None and name <= message_id)
        self._held = self._held and not heard
        return [self._words.pop(name) for name in heard]

    # -- the end

    def waits(self, *, stopped: bool) -> bool:
        """There are words that keep the turn from its end. `stopped`: the agent will not go on with them by itself."""
        if not self._unseen and not self._words:
            return False
        self._held = True
        if not stopped:
            return True
        self._ends = True
        if not self._unseen and not self._deleting:
            self._deleting = True
            for message_id in self._words:
                path = session_path(self.session_id or "", f"/message/{message_id}")
                self.call("DELETE", path, None, partial(self._deleted, message_id, self.turn.id_prefix))
        return True

    def _deleted(self, message_id: str, key: str, answer: dict[str, Any]) -> list[Event]:
        words = self._words.pop(message_id, None) if key == self.turn.id_prefix else None
        if words is None:
            return []
        kept: list[Event] = [] if answer.get("status") in (200, 204) else [words]
        return kept if self._words else [*kept, *self._concluded()]
