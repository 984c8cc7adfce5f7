"""One ACP session: updates, requests and the ends of turns in; events out.

In: the updates of a session and of its child sessions, in order; the agent's requests to the user; where a turn begins
and ends. Out: events, the session's state, and after a replay the history. A message of any form is read or becomes
`Raw`; it never raises. Never: IO, a clock, JSON-RPC; `drivers.acp` has those, and calls this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gateway.events import ClientToolCall, Event, Interrupt, TurnEnded, TurnFailed, Warning
from gateway.wire.acp.client_tools import ClientToolCalls
from gateway.wire.acp.errors import agent_fault, is_cancellation
from gateway.wire.acp.questions import Questions
from gateway.wire.acp.session_state import SessionState
from gateway.wire.acp.updates import Updates
from gateway.wire.acp.usage import Covers
from gateway.wire.acp.vendor_notifications import read_notification
from gateway.wire.fields import integer, non_empty, obj, text
from gateway.wire.jsonrpc import INTERNAL_ERROR, Fault, Id

PROMPT = "session/prompt"
EMPTY_TURN = "the agent ended its turn without saying or doing anything: perhaps its model failed"
ERROR_AS_TEXT = "the agent's answer looks like a failure of its model, sent as text"
ANSWERED_REASONS = ("end_turn", "refusal")
"""The agent considers its answer complete."""
FAILURE_MAX_CHARS = 1_000
"""Of an answer that is a failure, in the error's message."""


class SessionReader:
    """`error_texts`: patterns of an answer that is probably a failure (`errors.ERROR_TEXTS`): a warning.
    `failure_texts`: how this agent is known to word one: the turn failed. `usage_covers`: what the agent's token counts
    cover (`usage`)."""

    def __init__(
        self,
        state: SessionState | None = None,
        *,
        error_texts: Sequence[re.Pattern[str]] = (),
        failure_texts: Sequence[re.Pattern[str]] = (),
        usage_covers: Covers = "turn",
    ) -> None:
        self.state = state if state is not None else SessionState()
        self._error_texts = error_texts
        self._failure_texts = failure_texts
        self._updates = Updates(self.state, usage_covers)
        self._subagents = self._updates.subagents
        self._questions = Questions(self._updates)
        self._is_in_turn = False

    def read(self, update: Any, session_id: str | None = None) -> list[Event]:
        """One `session/update`. `session_id`: the session that sent it, if that may be a child."""
        fields = obj(update)
        if fields.get("sessionUpdate") != "state_update":
            return self._updates.read(update, session_id)
        if session_id is not None and self.owns(session_id):
            return self._subagents.update_state(session_id, fields)
        return self._read_state(fields)

    def read_all(self, updates: list[Any], session_id: str | None = None) -> list[Event]:
        """Many updates at once. Nearly all of them continue the open text, for which there is a fast path."""
        events: list[Event] = []
        fast_path = self._updates.fast_path()
        for update in updates:
            is_plain = fast_path is not None and type(update) is dict and "_meta" not in update
            if is_plain and update.get("sessionUpdate") == "agent_message_chunk" and fast_path is not None:
                delta = fast_path(update)
                if delta is not None:
                    events.append(delta)
                    continue
            events += self.read(update, session_id)
            fast_path = self._updates.fast_path()
        return events

    def read_texts(self, update: dict[str, Any], texts: list[str], session_id: str | None = None) -> list[Event]:
        """`update` with each of these texts: the same as `read_all` of all of them."""
        events = self.read_all([_with_text(update, text) for text in texts[:2]], session_id)
        messages = self._subagents.main.messages
        # After two of them, a third that takes the fast path is like all that follow.
        if self._updates.fast_path() is None or not messages.has_open_text(update.get("messageId")):
            return events + self.read_all([_with_text(update, text) for text in texts[2:]], session_id)
        return events + messages.continue_texts(texts[2:])

    def read_notification(self, method: str, params: Any) -> list[Event]:
        """A notification that ACP does not describe."""
        return read_notification(method, params, self.state)

    def owns(self, session_id: str) -> bool:
        """Whether it is a child session of this one. Its updates are read here, with its id."""
        return self._subagents.owns(session_id)

    # -- turns

    @property
    def has_open_calls(self) -> bool:
        """A tool call of the turn has begun, and has no result yet."""
        return self._is_in_turn and any(agent.tools.open_calls for agent in self._subagents.turns())

    @property
    def is_in_turn(self) -> bool:
        return self._is_in_turn

    def begin_turn(self, turn_key: str) -> None:
        """`turn_key`: short, and never used before in this thread; every id of the turn starts with it."""
        self._subagents.begin_turn(turn_key)
        self._is_in_turn = True
        self._updates.has_counted_calls = False

    def end_turn(
        self, stop_reason: Any, usage: Any = None, *, cancelled: bool = False, meta: Any = None
    ) -> list[Event]:
        """The agent answered the prompt. `cancelled`: the gateway asked for it, so the turn was cancelled, whatever the
        agent calls it. `meta`: the answer's `_meta`, of which only token counts are read."""
        reason = "cancelled" if cancelled else non_empty(stop_reason) or "end_turn"
        events = self._close(cancelled=reason == "cancelled")
        tokens = self._updates.usage.read(usage, meta)
        if tokens is not None and not self._updates.has_counted_calls:
            events.append(tokens)
        if reason in ANSWERED_REASONS and self._has_failed_text():
            answer = self._subagents.main.messages.last_text.strip()
            return [*events, TurnFailed(answer[:FAILURE_MAX_CHARS], "MODEL_ERROR")]
        return [*events, *self._warnings(reason), TurnEnded(reason)]

    def _has_failed_text(self) -> bool:
        answer = self._subagents.main.messages.last_text if self._failure_texts else ""
        return bool(answer) and any(pattern.search(answer) for pattern in self._failure_texts)

    def fail_turn(self, fault: Fault, *, cancelled: bool = False, method: str = PROMPT) -> list[Event]:
        """The agent answered the prompt with an error."""
        was_cancelled = is_cancellation(fault, method, requested=cancelled)
        events = self._close(cancelled=was_cancelled)
        if was_cancelled:
            return [*events, TurnEnded("cancelled")]
        failure = agent_fault(fault, method)
        return [*events, TurnFailed(failure.detail, failure.code)]

    def park(self) -> list[Event]:
        """The run ends here, and the turn goes on in another: the events due before `InterruptRequested`."""
        turns = self._subagents.turns()
        events = [event for agent in turns for event in agent.tools.park()]
        for agent in turns:
            agent.messages.break_off()
        return events

    def _close(self, *, cancelled: bool) -> list[Event]:
        self._is_in_turn = False
        return self._updates.close(cancelled=cancelled)

    def _warnings(self, reason: str) -> list[Event]:
        main = self._subagents.main
        if reason == "end_turn" and not main.messages.has_content and not main.has_acted:
            return [Warning("EMPTY_TURN", EMPTY_TURN)]
        if reason not in ANSWERED_REASONS:
            return []
        answer = main.messages.last_text if self._error_texts else ""
        if answer and any(pattern.search(answer) for pattern in self._error_texts):
            return [Warning("MODEL_ERROR_AS_TEXT", ERROR_AS_TEXT)]
        return []

    def _read_state(self, update: dict[str, Any]) -> list[Event]:
        """Version 2: updates carry the turn's state. An idle state ends the turn; one that comes before the turn has
        run, and gives no reason, is the state from before."""
        state = non_empty(update.get("state"))
        if state is None:
            return self._updates.read(update, None)
        has_run = self.state.state not in ("idle", None)
        self.state.state = state
        reason = non_empty(update.get("stopReason"))
        if state != "idle" or not self._is_in_turn or not (has_run or reason) or self.is_replaying:
            return []
        if reason == "error":
            return self.fail_turn(self._fault(obj(update.get("error"))))
        return self.end_turn(reason, update.get("usage"), meta=update.get("_meta"))

    def _fault(self, error: dict[str, Any]) -> Fault:
        """An agent that gives no reason in the error has given it as text."""
        code = integer(error.get("code"))
        message = text(error.get("message")) or self._subagents.main.messages.last_text
        return Fault(INTERNAL_ERROR if code is None else code, message, error.get("data"))

    # -- the client's own tools

    @property
    def client_tools(self) -> ClientToolCalls:
        return self._subagents.client_tools

    def call_client_tool(
        self, tool: str, arguments: dict[str, Any], agent_call_id: str | None = None
    ) -> tuple[list[Event], ClientToolCall]:
        """A call that has reached the server of the client's own tools: the events still due of it, and the call as the
        client knows it. `park()` follows, then `ClientToolsCalled`."""
        name = self.client_tools.client_name(tool)
        for agent in self._subagents.turns():
            if (known := agent.tools.match_call(tool, arguments, agent_call_id)) is not None:
                events, call_id = known
                self._updates.note_action(agent, events)
                return events, ClientToolCall(call_id, name, agent.subagent)
        events, call_id = self._subagents.main.tools.add_unreported(tool, arguments, agent_call_id)
        self._updates.note_action(self._subagents.main, events)
        return events, ClientToolCall(call_id, name)

    # -- requests to the user

    def read_permission(
        self, request_id: Id, params: Any, session_id: str | None = None
    ) -> tuple[list[Event], Interrupt]:
        """What `session/request_permission` reports of its tool call, and the interrupt. The caller decides whether the
        user is asked, or the run's policy answers; to ask, `park()` follows, then `InterruptRequested`."""
        return self._questions.read_permission(request_id, obj(params), session_id)

    def set_permission_outcome(self, params: Any, outcome: str) -> None:
        """What was decided (`permissions.selected_option_name`), for the result of a call that never gets one."""
        self._questions.set_permission_outcome(obj(params), outcome)

    def read_elicitation(
        self, request_id: Id, params: Any, session_id: str | None = None
    ) -> tuple[list[Event], Interrupt]:
        """`elicitation/create`. A tool call that it names is linked if the client has seen it."""
        return self._questions.read_elicitation(request_id, obj(params), session_id)

    def show_terminal(self, terminal_id: str, output: str = "", **fields: Any) -> list[Event]:
        """Output of a terminal that the gateway itself runs for the agent. `fields`: command, cwd, exitCode, signal."""
        terminals = self._subagents.main.terminals
        events = terminals.set_fields(terminal_id, **fields) if fields else []
        return events + terminals.append(terminal_id, output)

    # -- replay

    @property
    def is_replaying(self) -> bool:
        return self._updates.is_replaying

    def begin_replay(self) -> None:
        """From here on updates are history, which `end_replay` returns. The session's state changes all the same."""
        self._updates.begin_replay()

    def end_replay(self) -> list[dict[str, Any]]:
        """The conversation as AG-UI messages."""
        replay = self._updates.end_replay()
        if replay is None:
            return []
        replay.feed(self._close(cancelled=False))
        return replay.messages


def _with_text(update: dict[str, Any], content: str) -> dict[str, Any]:
    return {**update, "content": {"type": "text", "text": content}}
