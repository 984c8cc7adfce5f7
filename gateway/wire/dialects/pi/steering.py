"""Words for a turn under way: pi's `steer`.

In: what pi says of them. Out: the command, `UserMessageAccepted` when the message comes back as one of the
conversation, and nothing left behind: pi keeps words that came too late for its next prompt, so a turn does not end
before they were taken out of its queue. Slash commands are not steered: what pi makes of one is no message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.base import Prompt, SessionStart
from gateway.wire.dialects.pi.commands import PiCommands
from gateway.wire.fields import items, obj, text


class PiSteering(PiCommands):
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._words: list[UserMessageAccepted] = []
        """Not taken up, the oldest first."""
        self._unanswered = 0
        self._withdrawing = self._asked_back = False
        """The turn would be over but for those that are left, which are taken back; no more can be said."""
        self._accepted = False
        """pi has taken the prompt."""

    def start_session(self, begin: SessionStart) -> None:
        self._forget_words()
        super().start_session(begin)

    def start_turn(self, prompt: Prompt) -> None:
        super().start_turn(prompt)
        self._accepted = False
        self._forget_words()

    def _forget_words(self) -> None:
        self._words, self._unanswered = [], 0
        self._withdrawing = self._asked_back = False

    def steer(self, message_id: str, text: str) -> bool:
        if not self._accepted or self._withdrawing or text.startswith("/"):
            return False
        words, key = UserMessageAccepted(message_id, text), self.turn.id_prefix
        self._words.append(words)
        self._unanswered += 1
        self.ask({"type": "steer", "message": text}, lambda told: self._steered(words, key, told))
        return True

    def _steered(self, words: UserMessageAccepted, key: str, told: dict[str, Any]) -> list[Event]:
        if key != self.turn.id_prefix or not self.is_busy:
            return []
        self._unanswered -= 1
        handled = obj(told.get("data")).get("disposition") == "handled"
        found: list[Event] = [words] if handled and words in self._words else []
        if (handled or told.get("success") is not True) and words in self._words:
            self._words.remove(words)
        return [*found, *self._over()] if self._withdrawing else found

    def _message_started(self, told: dict[str, Any]) -> Iterable[Event] | None:
        found, message = self._of_the_lane(told), obj(told.get("message"))
        if found is None or message.get("role") != "user" or not self._words:
            return found
        said = _said(message.get("content"))
        heard = next((words for words in self._words if words.text == said), None)
        if heard is None:
            return found
        self._words.remove(heard)
        return [*found, heard]

    def _over(self) -> list[Event]:
        """Not before pi holds nothing of the user's."""
        if not self.is_busy or not self._words:
            return super()._over()
        self._withdrawing = True
        if not self._unanswered and not self._asked_back:
            self._asked_back = True
            self._withdraw(self.turn.id_prefix)
        return []

    def _withdraw(self, key: str) -> None:
        self.ask({"type": "clear_queue"}, lambda told: self._withdrawn(key, told))

    def _withdrawn(self, key: str, told: dict[str, Any]) -> list[Event]:
        if key != self.turn.id_prefix or not self.is_busy:
            return []
        back = obj(told.get("data")).get("steering")
        self.is_ready = self.is_ready and isinstance(
            back, list
        )  # else they go with this process: the next turn has another
        # Neither come back nor left: an extension put them in other words.
        taken = self._words if back == [] else []
        self._forget_words()
        return [*taken, *self._over()]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self._forget_words()
        return super().on_process_exit(exit_code, stderr)


def _said(content: Any) -> str:
    return content if isinstance(content, str) else "".join(text(part.get("text")) or "" for part in items(content))
