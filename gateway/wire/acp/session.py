"""One ACP session as it is heard: updates, questions and the ends of turns in, the house's events out.

In: the updates of a session and of its child sessions, in the order read; what it asks; where a turn begins and ends.
Out: events, facts, and after a replay the history. A message of any shape is read or handed on, never an exception. No
IO, no clock, no JSON-RPC: `drivers` has those, and calls this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gateway.events import ClientToolCall, Event, Interrupt, TurnEnded, TurnFailed, Warning
from gateway.wire.acp.client_tools import ClientToolCalls
from gateway.wire.acp.errors import agent_fault, ends_cancelled
from gateway.wire.acp.permissions import elicitation_interrupt, permission_interrupt, tool_call_in_question
from gateway.wire.acp.session_state import SessionState
from gateway.wire.acp.updates import Updates
from gateway.wire.acp.usage import Covers
from gateway.wire.fields import non_empty, obj, text
from gateway.wire.jsonrpc import INTERNAL_ERROR, Fault, Id

PROMPT = "session/prompt"
EMPTY = "the agent ended its turn without saying or doing anything: perhaps its model failed"
ERROR_AS_TEXT = "the agent's answer looks like a failure of its model, told as text"


class SessionReader:
    """`error_texts`: patterns of a failure dressed as an answer (`faults.ERROR_TEXTS`). `usage_covers`: what the
    agent's token counts are about (`usage`)."""

    def __init__(
        self,
        facts: SessionState | None = None,
        *,
        error_texts: Sequence[re.Pattern[str]] = (),
        usage_covers: Covers = "turn",
    ) -> None:
        self.facts = facts if facts is not None else SessionState()
        self._error_texts = error_texts
        self._updates = Updates(self.facts, usage_covers)
        self._lanes = self._updates.lanes
        self._open = False

    def read(self, update: Any, session_id: str | None = None) -> list[Event]:
        """One `session/update`. `session_id`: whose it is, if it may be a child's."""
        told = obj(update)
        if told.get("sessionUpdate") != "state_update":
            return self._updates.read(update, session_id)
        if session_id is not None and self.owns(session_id):
            return self._lanes.state(session_id, told)
        return self._state(told)

    def read_all(self, updates: list[Any], session_id: str | None = None) -> list[Event]:
        """Many at once. Text that goes on where it stopped is nearly all of them, and has a way of its own."""
        found: list[Event] = []
        go_on = self._updates.short_way()
        for update in updates:
            plain = go_on is not None and type(update) is dict and "_meta" not in update
            if plain and update.get("sessionUpdate") == "agent_message_chunk" and go_on is not None:
                delta = go_on(update)
                if delta is not None:
                    found.append(delta)
                    continue
            found += self.read(update, session_id)
            go_on = self._updates.short_way()
        return found

    def read_texts(self, update: dict[str, Any], texts: list[str], session_id: str | None = None) -> list[Event]:
        """`update` with each of these texts in turn: what `read_all` of them all gives."""
        updates = [{**update, "content": {"type": "text", "text": text}} for text in texts[:2]]
        found = self.read_all(updates, session_id)
        go_on = self._updates.short_way()
        # After two of them, a third that takes the short way is like all that follow.
        if go_on is None or not self._lanes.main.messages.goes_on(update.get("messageId")):
            rest = [{**update, "content": {"type": "text", "text": text}} for text in texts[2:]]
            return found + self.read_all(rest, session_id)
        return found + self._lanes.main.messages.more(texts[2:])

    def owns(self, session_id: str) -> bool:
        """Is it a child session of this one? Its updates are read here, with its id."""
        return self._lanes.owns(session_id)

    # -- turns

    @property
    def in_turn(self) -> bool:
        return self._open

    def begin_turn(self, turn_key: str) -> None:
        """`turn_key`: short, and never used before in this thread; every id of the turn starts with it."""
        self._lanes.begin(turn_key)
        self._open, self._updates.counted = True, False

    def end_turn(
        self, stop_reason: Any, usage: Any = None, *, cancelled: bool = False, meta: Any = None
    ) -> list[Event]:
        """The prompt was answered. `cancelled`: we asked for it, so that is how it ended, whatever the agent calls it.
        `meta`: the answer's `_meta`, of which only token counts are looked at."""
        reason = "cancelled" if cancelled else non_empty(stop_reason) or "end_turn"
        found = self._close(cancelled=reason == "cancelled")
        used = self._updates.usage.read(usage, meta)
        if used is not None and not self._updates.counted:
            found.append(used)
        return [*found, *self._doubts(reason), TurnEnded(reason)]

    def fail_turn(self, fault: Fault, *, cancelled: bool = False, method: str = PROMPT) -> list[Event]:
        """The prompt was answered with an error."""
        over = ends_cancelled(fault, method, asked=cancelled)
        found = self._close(cancelled=over)
        if over:
            return [*found, TurnEnded("cancelled")]
        failure = agent_fault(fault, method)
        return [*found, TurnFailed(failure.detail, failure.code)]

    def park(self) -> list[Event]:
        """The run ends here with a question, the turn goes on in another: told before `Asked`."""
        found = [event for lane in self._lanes.all() for event in lane.tools.park()]
        for lane in self._lanes.all():
            lane.messages.break_off()
        return found

    def _close(self, *, cancelled: bool) -> list[Event]:
        self._open = False
        return self._updates.close(cancelled=cancelled)

    def _doubts(self, reason: str) -> list[Event]:
        main = self._lanes.main
        if reason == "end_turn" and not main.messages.spoke and not main.busy:
            return [Warning("EMPTY_TURN", EMPTY)]
        if reason not in ("end_turn", "refusal"):
            return []
        words = main.messages.last_text if self._error_texts else ""
        if words and any(pattern.search(words) for pattern in self._error_texts):
            return [Warning("MODEL_ERROR_AS_TEXT", ERROR_AS_TEXT)]
        return []

    def _state(self, update: dict[str, Any]) -> list[Event]:
        """Version 2: the turn lives in updates. An idle state ends it; but one that comes before the turn has run, and
        gives no reason, is the state from before."""
        state = non_empty(update.get("state"))
        if state is None:
            return self._updates.read(update, None)
        ran, self.facts.state = self.facts.state not in ("idle", None), state
        reason = non_empty(update.get("stopReason"))
        if state != "idle" or not self._open or not (ran or reason) or self.replaying:
            return []
        if reason == "error":
            return self.fail_turn(self._fault(obj(update.get("error"))))
        return self.end_turn(reason, update.get("usage"), meta=update.get("_meta"))

    def _fault(self, error: dict[str, Any]) -> Fault:
        """Version 2's; an agent that gives no reason there has given it as text."""
        code = error.get("code")
        words = text(error.get("message")) or self._lanes.main.messages.last_text
        return Fault(code if isinstance(code, int) else INTERNAL_ERROR, words, error.get("data"))

    # -- the client's own tools

    @property
    def hosted(self) -> ClientToolCalls:
        """To be told of what is offered."""
        return self._lanes.hosted

    def client_call(
        self, tool: str, arguments: dict[str, Any], agents_id: str | None = None
    ) -> tuple[list[Event], ClientToolCall]:
        """A call that has reached the server of the client's tools: what is still to be told of it, and the call as the
        client knows it. `park()` follows, then `ClientToolsCalled`. `agents_id`: the agent's own id of the call."""
        name = self.hosted.name(tool)
        for lane in self._lanes.all():
            if (known := lane.tools.arrived(tool, arguments, agents_id)) is not None:
                self._updates.heard(lane, known[0])
                return known[0], ClientToolCall(known[1], name, lane.subagent)
        found, call_id = self._lanes.main.tools.arrived_untold(tool, arguments, agents_id)
        self._updates.heard(self._lanes.main, found)
        return found, ClientToolCall(call_id, name)

    # -- questions

    def permission(self, request_id: Id, params: Any, session_id: str | None = None) -> tuple[list[Event], Interrupt]:
        """What `session/request_permission` tells of its tool call, and the question. Whether it is asked, or answered
        by policy, is the caller's to decide: to ask, `park()` follows, then `Asked`."""
        told = obj(params)
        lane, found = self._lanes.find(session_id or text(told.get("sessionId")))
        about = tool_call_in_question(told)
        found += lane.tools.update(about) or []
        call = lane.tools.known(about.get("toolCallId"))
        found += lane.tools.settle(call) if call is not None else []
        self._updates.heard(lane, found)
        name = self._question_id(request_id)
        return found, permission_interrupt(name, told, call.id if call else None, subagent=lane.subagent)

    def permission_given(self, params: Any, outcome: str) -> None:
        """What came of it (`asking.selected_option_name`), for the result of a call that never gets one."""
        told = obj(params)
        lane, _ = self._lanes.find(text(told.get("sessionId")))
        call = lane.tools.known(tool_call_in_question(told).get("toolCallId"))
        if call is not None:
            call.permission = outcome

    def elicitation(self, request_id: Id, params: Any, session_id: str | None = None) -> tuple[list[Event], Interrupt]:
        """`elicitation/create`. A tool call that it names is linked if the client has seen it."""
        told = obj(params)
        lane, found = self._lanes.find(session_id or text(told.get("sessionId")))
        call = lane.tools.known(told.get("toolCallId"))
        found += lane.tools.settle(call) if call is not None else []
        self._updates.heard(lane, found)
        name = self._question_id(request_id)
        return found, elicitation_interrupt(name, told, call.id if call else None, subagent=lane.subagent)

    def _question_id(self, request_id: Id) -> str:
        return f"{self._lanes.turn_key}:ask:{request_id}"

    def terminal(self, terminal_id: str, words: str = "", **about: Any) -> list[Event]:
        """Output of a terminal that the gateway itself runs for the agent. `about`: command, cwd, exitCode, signal."""
        terminals = self._lanes.main.terminals
        found = terminals.about(terminal_id, **about) if about else []
        return found + terminals.append(terminal_id, words)

    # -- replay

    @property
    def replaying(self) -> bool:
        return self._updates.replay is not None

    def begin_replay(self) -> None:
        """From here on what is read is history: told by `end_replay`, not as events. Facts are facts all the same."""
        self._updates.begin_replay()

    def end_replay(self) -> list[dict[str, Any]]:
        """The conversation as AG-UI messages."""
        replay, self._updates.replay = self._updates.replay, None
        if replay is None:
            return []
        replay.feed(self._close(cancelled=False))
        return replay.messages
