"""User messages for a turn under way, by the extension that several ACP agents share: `_session/steering`.

In: messages, the agent's answers to them, and the turn's events. Out: whether the agent took a message, and
`UserMessageAccepted` among the events. The agent's answer means that the message is in the turn, not that its model has
read it: that shows in the agent's next output. Messages of a turn that is cancelled first are lost with it. An agent
without a turn under way leaves the message to the gateway (`promptRequired`), and has not taken it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from gateway.background import Tasks
from gateway.errors import AgentFault
from gateway.events import (
    Event,
    ReasoningMessageContent,
    TextMessageContent,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
    UserMessageAccepted,
)

log = logging.getLogger(__name__)

METHOD = "_session/steering"
ACCEPTED_OUTCOMES = ("injected", "startedNewTurn")
ANSWER_TIMEOUT_SECONDS = 10.0
"""How long the caller of `send` waits for the agent's answer, and the end of a turn for the answers still to come."""
NEXT_OUTPUT = (TextMessageContent, ReasoningMessageContent, ToolCallStart, TurnEnded, TurnFailed)
"""The first of these events shows that the model has read the messages accepted before."""

SendRequest = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Steering:
    """Of one turn."""

    def __init__(self, send_request: SendRequest, tasks: Tasks) -> None:
        self._send_request = send_request
        self._tasks = tasks
        self._unanswered = 0
        self._all_answered = anyio.Event()
        self._all_answered.set()
        self.accepted: list[UserMessageAccepted] = []
        """Messages that the agent has accepted and not yet acted upon."""

    async def send(self, session_id: str, message: UserMessageAccepted) -> bool:
        """False: the agent has not taken the message, and will not."""
        answered, refused = anyio.Event(), anyio.Event()
        if not self._unanswered:
            self._all_answered = anyio.Event()
        self._unanswered += 1
        self._tasks.start_soon(self._send, session_id, message, answered, refused)
        with anyio.move_on_after(ANSWER_TIMEOUT_SECONDS):
            await answered.wait()
        return not refused.is_set()

    async def _send(
        self, session_id: str, message: UserMessageAccepted, answered: anyio.Event, refused: anyio.Event
    ) -> None:
        params = {
            "sessionId": session_id,
            "prompt": [{"type": "text", "text": message.text}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        }
        try:
            result = await self._send_request(METHOD, params)
            if isinstance(result, dict) and result.get("outcome") in ACCEPTED_OUTCOMES:
                self.accepted.append(message)
            else:
                refused.set()
        except AgentFault as exc:
            log.info("a message for the turn under way was refused: %s", exc.detail)
            refused.set()
        finally:
            answered.set()
            self._unanswered -= 1
            if not self._unanswered:
                self._all_answered.set()

    async def wait_until_answered(self) -> None:
        """Until the agent has answered every message, or takes too long."""
        with anyio.move_on_after(ANSWER_TIMEOUT_SECONDS):
            await self._all_answered.wait()

    def insert_accepted(self, events: list[Event], *, cancelled: bool) -> list[Event]:
        """The events, with the accepted messages before the first event that shows them read."""
        for index, event in enumerate(events):
            if isinstance(event, NEXT_OUTPUT) and getattr(event, "subagent", None) is None:
                messages, self.accepted = self.accepted, []
                is_cancelled = cancelled or (isinstance(event, TurnEnded) and event.stop_reason == "cancelled")
                return events if is_cancelled else [*events[:index], *messages, *events[index:]]
        return events
