"""What a session is told of a run's input: only what it has not seen, and everything anew when it knows nothing.

In: turns, and what the session knows by then. Out: the blocks of a prompt, with a warning for whatever is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from gateway.errors import BadInput
from gateway.events import Event, UserMessageAccepted, Warning
from gateway.turn import NO_RESULT, Turn
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.prompt import new_messages, prompt_blocks

UNSERVED = "the agent has no way to call tools of the application's own: it was not told of them"


class PromptBuilder:
    def __init__(self, known: Iterable[str], *, serves_tools: bool = False, forgets: bool = False) -> None:
        """`serves_tools`: the agent is offered the client's own tools. `forgets`: it never knows what was before."""
        self._known, self._serves_tools, self._forgets = set(known), serves_tools, forgets
        self.owed: set[str] = set()
        """Calls of the client's tools that ended without a result: one that comes later is news."""
        self._keys: set[str] = set()
        """Of its turns: every id that it gave begins with one."""
        self.anew = False
        """The session that knew the conversation is gone."""
        self.warned: list[Warning] = []
        """To be told with the next turn."""

    def forget(self) -> None:
        self.anew, self._known = True, set()

    def heard(self, events: Iterable[Event]) -> None:
        """What the user said during a turn is known to the agent by then."""
        self._known.update(event.message_id for event in events if isinstance(event, UserMessageAccepted))

    def _late(self, turn: Turn) -> set[str]:
        """Calls whose results have come after all; that there is none, the agent knows."""
        results = (message for message in turn.messages if message.get("toolCallId") in self.owed)
        return {message["toolCallId"] for message in results if message["content"] != NO_RESULT}

    def key(self) -> str:
        """A new turn's."""
        key = uuid4().hex[:8]
        self._keys.add(key)
        return key

    def blocks(self, turn: Turn, handshake: Handshake) -> tuple[list[dict[str, Any]], list[Warning]]:
        """Only what the session has not seen; if that is nothing, the newest message once more: its client tries it
        again."""
        told = {message.get("toolCallId", "") for message in turn.messages}
        own = {call for call in told - self._late(turn) if call.partition(":")[0].partition("/")[0] in self._keys}
        if turn.tools and not self._serves_tools:
            self._serves_tools = True  # said once
            self.warned.append(Warning("TOOLS_DROPPED", UNSERVED, {"pointer": "/tools"}))
        anew, before, self.anew, self.warned = self.anew, self.warned, False, []
        if self._forgets:
            self._known, own, anew = set(), set(), False
        if anew and len(turn.messages) > 1:
            before.append(
                Warning("HISTORY_REPLAYED", "the agent's session was gone; the conversation was told to it anew")
            )
        elif anew:
            before.append(
                Warning("SESSION_NOT_RESUMED", "the agent's session was gone; it knows nothing of what was before")
            )
        news = new_messages(turn, self._known | own) or [one for one in turn.messages[-1:] if one["role"] == "user"]
        blocks, warned = prompt_blocks(turn, handshake.prompt_content, new_messages=news, retell=anew or self._forgets)
        if not news:
            raise BadInput("there is nothing to tell the agent: it knows all of these messages", pointer="/messages")
        self._known.update(message["id"] for message in turn.messages)
        return blocks, [*before, *warned]
