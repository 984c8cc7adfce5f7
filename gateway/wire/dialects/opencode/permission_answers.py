"""What opencode asks in a turn, and the calls that answer it.

In: `permission.asked`, `question.asked`, and the answers of a human or of the turn's policy. Out: `InterruptRequested`,
and replies. A refusal waits until everything else is answered and approved: with it opencode refuses whatever else the
session waits for, and if that was anything, the turn is over.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gateway.events import Event, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects.opencode import permissions
from gateway.wire.dialects.opencode.errors import refused
from gateway.wire.dialects.opencode.http_calls import Calling
from gateway.wire.dialects.opencode.pending_permissions import Questions, Waiting
from gateway.wire.dialects.opencode.requests import session_path
from gateway.wire.dialects.opencode.subagents import Lane, Lanes
from gateway.wire.fields import items, non_empty, obj


class Asking(Calling):
    def __init__(self) -> None:
        super().__init__()
        self.lanes = Lanes()
        self.questions = Questions()
        self._asking: list[Waiting] = []
        self._approving: set[str] = set()
        self._refusals: list[permissions.Call] = []

    def forget_turn(self) -> None:
        self.questions.forget()
        self.lanes.end_turn()
        self._asking.clear()
        self._approving.clear()
        self._refusals.clear()

    def permission(self, lane: Lane, properties: dict[str, Any]) -> list[Event] | None:
        return self._asked(lane, properties, permission=True)

    def question(self, lane: Lane, properties: dict[str, Any]) -> list[Event] | None:
        return self._asked(lane, properties, permission=False)

    def _asked(self, lane: Lane, asked: dict[str, Any], *, permission: bool) -> list[Event] | None:
        request_id = non_empty(asked.get("id"))
        if request_id is None:
            return None
        if not self.questions.new(request_id):
            return []
        policy = self.turn.approvals
        if policy != "prompt":
            reply = (
                permissions.permission_by_policy(request_id, policy)
                if permission
                else permissions.dismissal(request_id)
            )
            self.call("POST", *reply, self._replied)
            return lane.begin()
        tool = obj(asked.get("tool"))
        call = lane.parts.call(tool.get("messageID"), tool.get("callID"))
        waiting = Waiting(self.qualify_id(request_id), request_id, asked, permission, lane, call)
        self.questions.add(waiting)
        if waiting.held:  # they are on their way; should they not come, the server is asked
            path = session_path(lane.session_id, f"/message/{tool['messageID']}")
            self.call("GET", path, None, partial(self._looked_up, self.turn.id_prefix, waiting))
        self.ask_what_is_free()
        return lane.begin()

    def ask_what_is_free(self) -> None:
        self._asking += self.questions.freed()

    def _looked_up(self, key: str, waiting: Waiting, answer: dict[str, Any]) -> list[Event]:
        call = waiting.call
        if waiting.told or call is None or key != self.turn.id_prefix or not self.is_busy:
            return []
        part_of = (part for part in items(obj(answer.get("body")).get("parts")) if self._is(waiting, part))
        arguments = obj(obj(next(part_of, {}).get("state")).get("input")) or obj(waiting.asked.get("metadata"))
        self._asking += self.questions.freed(call)
        return waiting.lane.parts.settle(call, arguments)

    @staticmethod
    def _is(waiting: Waiting, part: dict[str, Any]) -> bool:
        return waiting.lane.parts.call(part.get("messageID"), part.get("callID")) is waiting.call

    def ask(self) -> list[Event]:
        """All that came together, at once: the run ends with it."""
        if not self._asking:
            return []
        questions = [one.question() for one in self._asking]
        self._asking.clear()
        parked = [event for lane in self.lanes.all() for event in lane.parts.park()]
        return [*parked, InterruptRequested(tuple(questions))]

    def answer(self, question_id: str, answer: Answer) -> None:
        """A refusal goes last: with it opencode refuses whatever else the session waits for."""
        reply = self.questions.answer(question_id, answer)
        if reply is not None and permissions.refuses(reply):
            self._refusals.append(reply)
        elif reply is not None:
            self._approving.add(self.call("POST", *reply, self._approved))
        self._refuse()

    def _approved(self, answer: dict[str, Any]) -> list[Event]:
        self._approving.discard(answer["id"])
        self._refuse()
        return self._replied(answer)

    def _refuse(self) -> None:
        if not self.questions.waiting and not self._approving:
            refusals, self._refusals = self._refusals, []
            for refusal in refusals:
                self.call("POST", *refusal, self._replied)

    def settled(self, lane: Lane, properties: dict[str, Any]) -> list[Event]:
        self.questions.settled(properties.get("requestID"))
        self._refuse()
        return []

    def _replied(self, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 404):  # 404: somebody else has answered
            return []
        return [self.make_warning("ANSWER_LOST", refused(answer, "opencode did not take the answer").detail)]
