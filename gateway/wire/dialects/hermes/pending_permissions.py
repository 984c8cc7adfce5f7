"""The questions of one session of Hermes that wait for an answer."""

from __future__ import annotations

from typing import Any

from gateway.events import Event, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects.hermes.permissions import Pending, by_policy, question, reply
from gateway.wire.dialects.hermes.rpc_calls import nothing
from gateway.wire.dialects.hermes.turn_events import Speech
from gateway.wire.dialects.hermes.turn_setup import Wishes
from gateway.wire.fields import text

TERMINAL = "terminal"


class Questions(Wishes):
    def __init__(self) -> None:
        super().__init__()
        self.speech = Speech(self.qualify_id)
        self._pending: dict[str, Pending] = {}
        self._answers: dict[str, Answer] = {}
        self._asked = 0

    def forget_questions(self) -> None:
        """The turn is over, and what waited with it."""
        self._pending.clear()
        self._answers.clear()

    def ask(self, kind: str, payload: dict[str, Any], *, heard: bool) -> list[Event]:
        """`heard`: there is a human's turn that can ask; without one everything is refused."""
        self._asked += 1
        question_id = self.qualify_id(f"question:{self._asked}")
        pending = self._pending[question_id] = Pending(kind, payload)
        settled, call_id = self._settle_call(pending)
        decided = by_policy(pending, self.turn.approvals if heard else "deny")
        if decided is not None:
            self.answer(question_id, decided)
            return settled
        return [*settled, InterruptRequested((question(question_id, pending, call_id, self.session_start.params),))]

    def _settle_call(self, pending: Pending) -> tuple[list[Event], str | None]:
        """The call in question, with its arguments as far as they are known: the human sees what is asked about."""
        call = self.speech.asked_about(pending.kind, pending.payload)
        if call is None:
            return self.speech.end_text(), None
        command = text(pending.payload.get("command"))
        if command is not None and call.name == TERMINAL:
            known: dict[str, Any] = {"command": command}
        else:
            known = {key: pending.payload[key] for key in ("question", "choices") if key in pending.payload}
        return [*self.speech.end_text(), *self.speech.settle(call, known)], call.id

    def answer(self, question_id: str, answer: Answer) -> None:
        """Approvals have no ids: an answer goes to the oldest, so each waits for those before it."""
        pending = self._pending.get(question_id)
        if pending is None:
            return
        if pending.kind != "approval":
            self._respond(self._pending.pop(question_id), answer)
            return
        self._answers[question_id] = answer
        for known in [known for known, waiting in self._pending.items() if waiting.kind == "approval"]:
            if known not in self._answers:
                return
            self._respond(self._pending.pop(known), self._answers.pop(known))

    def _respond(self, pending: Pending, answer: Answer) -> None:
        method, params = reply(pending, answer)
        self.call(method, {"session_id": self.live, **params}, nothing)

    def read_terminal(self, payload: dict[str, Any]) -> list[Event]:
        """A desktop's terminal, which there is none of: the call is told so at once."""
        self.call("terminal.read.respond", {"request_id": payload.get("request_id"), "text": ""}, nothing)
        return []
