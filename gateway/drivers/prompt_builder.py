"""The prompt of a turn: what the session has not seen of a run's input, or all of it when the session knows nothing.

In: turns, and what the session knows. Out: the content blocks of the prompt, with a warning for each part left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from gateway.errors import BadInput, NotCapable
from gateway.events import Event, UserMessageAccepted, Warning
from gateway.turn import NO_RESULT, Turn, answered_call_of
from gateway.wire.acp.prompt import new_messages, prompt_blocks
from gateway.wire.prompt_content import PromptContent

TOOLS_DROPPED = Warning(
    "TOOLS_DROPPED", "the agent cannot call tools of the application: it did not get them", {"pointer": "/tools"}
)
HISTORY_REPLAYED = Warning(
    "HISTORY_REPLAYED", "the agent's session was gone; the prompt repeats the conversation so far"
)
SESSION_NOT_RESUMED = Warning(
    "SESSION_NOT_RESUMED", "the agent's session was gone; the new one knows nothing of the conversation so far"
)


class PromptBuilder:
    """Of one session."""

    def __init__(self, known: Iterable[str], *, serves_tools: bool = False, forgets: bool = False) -> None:
        """`known`: ids of messages and tool calls that the session has seen. `serves_tools`: the agent gets the client
        tools. `forgets`: the agent remembers no earlier turn, so that every prompt holds the whole conversation."""
        self._known = set(known)
        self._forgets = forgets
        self._has_tool_warning = serves_tools
        self._unanswered: set[str] = set()
        """Client tool calls that ended without a result: a result that comes later is new to the agent."""
        self._keys: set[str] = set()
        """Of its turns: every tool call id that the agent's dialect makes begins with one of them."""
        self._is_lost = False
        """The session that knew the conversation is gone."""
        self._warnings: list[Warning] = []

    def forget(self) -> None:
        """The agent's session is gone: the next prompt repeats the conversation."""
        self._is_lost = True
        self._known = set()

    def add_accepted(self, events: Iterable[Event]) -> None:
        """A user message that the agent accepted during a turn is known to it."""
        self._known.update(event.message_id for event in events if isinstance(event, UserMessageAccepted))

    def add_warning(self, warning: Warning) -> None:
        """For the next turn."""
        self._warnings.append(warning)

    def mark_unanswered(self, call_id: str) -> None:
        """A client tool call has no result (yet)."""
        self._unanswered.add(call_id)

    def mark_answered(self, call_id: str) -> None:
        self._unanswered.discard(call_id)

    def new_key(self) -> str:
        """A prefix for the ids of a new turn."""
        key = uuid4().hex[:8]
        self._keys.add(key)
        return key

    def build(self, turn: Turn, accepted: PromptContent) -> tuple[list[dict[str, Any]], list[Warning]]:
        """(content blocks, warnings). `accepted`: the kinds of content the agent takes. If every message is known, the
        newest user message is sent once more: the client retries it."""
        if turn.tools and not self._has_tool_warning:
            self._has_tool_warning = True
            self._warnings.append(TOOLS_DROPPED)
        if self._forgets:
            self._known = set()
            self._is_lost = False
        is_lost, self._is_lost = self._is_lost, False
        warnings, self._warnings = self._warnings, []
        if is_lost:
            warnings.append(HISTORY_REPLAYED if len(turn.messages) > 1 else SESSION_NOT_RESUMED)
        known = self._known if self._forgets else self._known | self._own_calls(turn)
        messages = new_messages(turn, known) or _newest_user_message(turn)
        blocks, dropped = prompt_blocks(turn, accepted, new_messages=messages, retell=is_lost or self._forgets)
        if not messages:
            raise BadInput("there is nothing new for the agent: it knows all of these messages", pointer="/messages")
        if dropped and (turn.options.strict or not blocks):
            # With nothing left, the agent would answer an empty prompt.
            first = dropped[0]
            raise NotCapable(first.message, capability="multimodal.input", pointer=first.detail.get("pointer"))
        self._known.update(message["id"] for message in turn.messages)
        return blocks, [*warnings, *dropped]

    def _own_calls(self, turn: Turn) -> set[str]:
        """Tool calls of this session's turns, whose results the agent knows."""
        calls = {answered_call_of(message) or "" for message in turn.messages} - self._late_results(turn)
        return {call for call in calls if call.partition(":")[0].partition("/")[0] in self._keys}

    def _late_results(self, turn: Turn) -> set[str]:
        """Client tool calls whose results have come after all; a call that has none is no news to the agent."""
        results = (message for message in turn.messages if answered_call_of(message) in self._unanswered)
        return {message["toolCallId"] for message in results if message["content"] != NO_RESULT}


def _newest_user_message(turn: Turn) -> list[dict[str, Any]]:
    return [message for message in turn.messages[-1:] if message["role"] == "user"]
