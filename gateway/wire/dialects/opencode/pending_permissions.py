"""What opencode waits for in one turn: permissions and questions, from being asked to being answered.

In: what was asked, about which call, and answers. Out: AG-UI's question, and the call that answers it. A question is
held back until the arguments of its call are known: asking ends the run, and a client must see what it is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gateway.events import Interrupt
from gateway.turn import Answer
from gateway.wire.dialects.opencode import permissions
from gateway.wire.dialects.opencode.parts import Call
from gateway.wire.dialects.opencode.subagents import Lane


@dataclass(slots=True)
class Waiting:
    id: str
    """AG-UI's."""
    request_id: str
    asked: dict[str, Any]
    permission: bool
    lane: Lane
    call: Call | None
    told: bool = False

    @property
    def held(self) -> bool:
        return not self.told and self.call is not None and not self.call.given

    def question(self) -> Interrupt:
        call_id = None if self.call is None else self.call.id
        ask = permissions.permission_question if self.permission else permissions.input_question
        return ask(self.id, self.asked, call_id, self.lane.subagent)


class Questions:
    def __init__(self) -> None:
        self._open: dict[str, Waiting] = {}
        self._known: set[str] = set()

    def forget(self) -> None:
        self._open.clear()
        self._known.clear()

    def new(self, request_id: str) -> bool:
        """Asked for the first time."""
        fresh = request_id not in self._known
        self._known.add(request_id)
        return fresh

    def add(self, waiting: Waiting) -> None:
        self._open[waiting.id] = waiting

    @property
    def waiting(self) -> bool:
        """Somebody has been asked, and has not answered."""
        return any(one.told for one in self._open.values())

    def freed(self, call: Call | None = None) -> list[Waiting]:
        """Those that can be asked now, or must be, about this call. Each once."""
        found = [one for one in self._open.values() if not one.told and (not one.held or one.call is call)]
        for one in found:
            one.told = True
        return found

    def settled(self, request_id: Any) -> None:
        """Answered, by whomever."""
        for waiting in [one for one in self._open.values() if one.request_id == request_id]:
            del self._open[waiting.id]

    def answer(self, question_id: str, answer: Answer) -> permissions.Call | None:
        """None: nobody waits for it any more."""
        waiting = self._open.pop(question_id, None)
        if waiting is None:
            return None
        reply = permissions.permission_reply if waiting.permission else permissions.input_reply
        return reply(waiting.request_id, waiting.asked, answer)
