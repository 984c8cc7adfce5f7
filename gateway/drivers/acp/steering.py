"""Words for a turn under way, by the extension that ACP agents share: `_session/steering`.

In: words, the agent's answer to them, and the turn's events. Out: whether they are in, and `UserMessageAccepted` among
the events. The agent says that it has put them into the turn, not when its model is asked with them: that shows by what
it says or does next. Words of a turn that is cancelled first are gone with it. An agent without a turn to put them into
leaves them to us (`promptRequired`), and nothing was said.
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
IN = ("injected", "startedNewTurn")
ANSWER_LIMIT = 10.0
"""So long whoever steers waits for the agent's answer, and a turn's end for those that are out."""
NEXT = (TextMessageContent, ReasoningMessageContent, ToolCallStart, TurnEnded, TurnFailed)

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Steering:
    """Of one turn."""

    def __init__(self, ask: Ask, tasks: Tasks) -> None:
        self._ask, self._tasks = ask, tasks
        self._out = 0
        self._settled = anyio.Event()
        self._settled.set()
        self.words: list[UserMessageAccepted] = []
        """The agent has them; it has not gone on since."""

    async def say(self, session_id: str, words: UserMessageAccepted) -> bool:
        """False: the agent has not taken them, and will not."""
        answered, refused = anyio.Event(), anyio.Event()
        if not self._out:
            self._settled = anyio.Event()
        self._out += 1
        self._tasks.start_soon(self._say, session_id, words, answered, refused)
        with anyio.move_on_after(ANSWER_LIMIT):
            await answered.wait()
        return not refused.is_set()

    async def _say(
        self, session_id: str, words: UserMessageAccepted, answered: anyio.Event, refused: anyio.Event
    ) -> None:
        prompt = [{"type": "text", "text": words.text}]
        about = {"steering": {"idleBehavior": "promptRequired"}}
        try:
            told = await self._ask(METHOD, {"sessionId": session_id, "prompt": prompt, "_meta": about})
            if isinstance(told, dict) and told.get("outcome") in IN:
                self.words.append(words)
            else:
                refused.set()
        except AgentFault as exc:
            log.info("words for a turn under way were not taken: %s", exc.detail)
            refused.set()
        finally:
            answered.set()
            self._out -= 1
            if not self._out:
                self._settled.set()

    async def settled(self) -> None:
        """No answer is out any more, or it takes too long."""
        with anyio.move_on_after(ANSWER_LIMIT):
            await self._settled.wait()

    def placed(self, events: list[Event], *, cancelled: bool) -> list[Event]:
        """With what was heard before the first of them that shows it."""
        for number, event in enumerate(events):
            if isinstance(event, NEXT) and getattr(event, "subagent", None) is None:
                words, self.words = self.words, []
                stopped = cancelled or (isinstance(event, TurnEnded) and event.stop_reason == "cancelled")
                return events if stopped else [*events[:number], *words, *events[number:]]
        return events
