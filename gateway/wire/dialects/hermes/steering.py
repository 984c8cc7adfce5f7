"""Messages of the user's during a turn: Hermes' `session.steer`.

In: responses, and the moments at which no tool call is under way any more. Out: requests, and `UserMessageAccepted`.
Hermes adds such a message to the result of the tool call under way, and the model reads it there; Hermes reports
nothing then. It forgets a message for which no further call comes. So a message is sent only while a call is under way,
and it counts as accepted when that call ends after Hermes has confirmed the message. One that was confirmed later is
accepted with the next call, or not at all.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Event, UserMessageAccepted
from gateway.wire.dialects.hermes.sessions import Call
from gateway.wire.fields import obj


class SteeringQueue:
    """The messages of one turn that Hermes has not taken up. `call` sends a request about the session."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._confirmed: list[UserMessageAccepted] = []
        self._turn_number = 0

    def begin_turn(self) -> None:
        """Hermes drops what is left of the turn before."""
        self._confirmed = []
        self._turn_number += 1

    def send(self, message: UserMessageAccepted) -> None:
        turn_number = self._turn_number

        def read_queued(result: Any, error: Any) -> list[Event]:
            if turn_number == self._turn_number and obj(result).get("status") == "queued":
                self._confirmed.append(message)
            return []

        self._call("session.steer", {"text": message.text}, read_queued)

    def take_accepted(self) -> list[Event]:
        """Called when no tool call is under way any more."""
        accepted: list[Event] = [*self._confirmed]
        self._confirmed = []
        return accepted
