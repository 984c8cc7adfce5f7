"""Every variant of `session/update`, protocol versions 1 and 2 → events: one handler each, found by a table.

In: an update and whose it is. Out: events; while a replay is on, none, for then they are history. What has no handler,
or lacks what makes sense of it, is handed on as `Raw`. `state_update` is not here: it moves turns (`session`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Custom, Event, Raw, TextMessageContent, TokenUsage, ToolCallResult
from gateway.wire.acp.content import inline, to_part
from gateway.wire.acp.messages import Kind
from gateway.wire.acp.notices import Notices
from gateway.wire.acp.plans import show_plan, show_removed_plan
from gateway.wire.acp.replay import Replay
from gateway.wire.acp.session_state import READERS, SessionState
from gateway.wire.acp.subagents import Subagent, Subagents
from gateway.wire.acp.usage import Covers, UsageBook
from gateway.wire.fields import items, non_empty, obj, without_meta

Update = dict[str, Any]
Found = list[Event] | None
"""None: the update lacks what makes sense of it."""


class Updates:
    def __init__(self, facts: SessionState, covers: Covers) -> None:
        self.facts = facts
        self.lanes = Subagents()
        self.usage = UsageBook(covers)
        self.counted = False
        """Tokens of this turn were told call by call, so its own count would be one too many."""
        self.replay: Replay | None = None
        self._asides = Notices()
        self._user: str | None = None
        self._turns = 0

    def short_way(self) -> Callable[[dict[str, Any]], TextMessageContent | None] | None:
        """For text chunks without more to them, as long as nothing else is read. None: there is none now."""
        return self.lanes.main.messages.go_on if self.replay is None and self.lanes.alone else None

    def read(self, update: Any, session_id: str | None) -> list[Event]:
        told = obj(update)
        kind = told.get("sessionUpdate")
        if not isinstance(kind, str):
            return self._hand_on(_unread(update))
        if kind in READERS:
            return self._hand_on(self._fact(told, session_id))
        handler = HANDLERS.get(kind)
        if handler is None:
            return self._hand_on(_unread(update))
        lane, opening = self.lanes.find(session_id)
        found = handler(self, lane, told)
        return self._hand_on([*opening, *(_unread(update) if found is None else found)])

    def begin_replay(self) -> None:
        self.replay, self._user = Replay(), None

    def heard(self, lane: Subagent, found: list[Event]) -> None:
        """After a tool's word, or a plan's, the next chunk opens its message again; after a result, a new one."""
        lane.busy = True
        if any(isinstance(event, ToolCallResult) for event in found):
            lane.messages.answered()
        else:
            lane.messages.break_off()

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over."""
        found = [event for lane in self.lanes.all() for event in lane.tools.close(cancelled=cancelled)]
        for lane in self.lanes.all():
            lane.messages.break_off()
        return found

    def _hand_on(self, found: list[Event]) -> list[Event]:
        if self.replay is None:
            return found
        self.replay.feed(found)
        return []

    def _fact(self, update: Update, session_id: str | None) -> list[Event]:
        """A child's facts are its own: told in its name, and not kept."""
        child = session_id is not None and self.lanes.owns(session_id)
        facts = SessionState() if child else self.facts
        fact = facts.read_update(update)
        if fact is None:
            return []
        if fact[0] in ("session.mode", "session.config"):
            self.lanes.main.busy = True  # what a slash command was for: the turn was not empty
        return [Custom(fact[0], fact[1], self.lanes.tag(session_id))]

    # -- messages

    def _text(self, lane: Subagent, update: Update) -> Found:
        found = lane.messages.chunk("text", update)
        if "_meta" in update and (used := self._model_call(update)) is not None:
            return [*(found or []), used]
        return found

    def _model_call(self, update: Update) -> TokenUsage | None:
        """qwen-code counts every call of its model, on an empty chunk."""
        used = self.usage.read(obj(update.get("_meta")).get("usage"))
        self.counted = self.counted or used is not None
        return used

    def _thought(self, lane: Subagent, update: Update) -> Found:
        return lane.messages.chunk("thought", update)

    def _whole_text(self, lane: Subagent, update: Update) -> Found:
        return lane.messages.whole("text", update)

    def _whole_thought(self, lane: Subagent, update: Update) -> Found:
        return lane.messages.whole("thought", update)

    def _user_chunk(self, lane: Subagent, update: Update) -> Found:
        return self._of_user(lane, update, [update.get("content")])

    def _whole_user(self, lane: Subagent, update: Update) -> Found:
        return self._of_user(lane, update, items(update.get("content")))

    def _of_user(self, lane: Subagent, update: Update, blocks: list[Any]) -> Found:
        """The client has its own words already; only a replay needs them. There each of them begins a turn, with ids
        of its own, unless it goes on with the same message."""
        if self.replay is None or lane is not self.lanes.main:
            return []
        acp_id = non_empty(update.get("messageId")) or ""
        answered = lane.messages.spoke or lane.busy
        if self._user is None or answered or (acp_id and acp_id != self._user):
            self.replay.feed(self.close(cancelled=False))
            self._turns += 1
            self.lanes.begin(f"h{self._turns}")
        self._user = acp_id
        for part in filter(None, map(to_part, blocks)):
            self.replay.user(f"{self.lanes.turn_key}:user", part)
        return []

    # -- work

    def _tool(self, lane: Subagent, update: Update) -> Found:
        found = lane.tools_of(update).update(update)
        self.heard(lane, found or [])
        return found

    def _tool_chunk(self, lane: Subagent, update: Update) -> Found:
        found = lane.tools.content_chunk(update)
        self.heard(lane, found or [])
        return found

    def _terminal(self, lane: Subagent, update: Update) -> Found:
        return lane.terminals.update(update)

    def _terminal_chunk(self, lane: Subagent, update: Update) -> Found:
        return lane.terminals.chunk(update)

    def _plan(self, lane: Subagent, update: Update) -> Found:
        self.heard(lane, [])
        return lane.plans.show_entries(update.get("entries"))

    def _plan_update(self, lane: Subagent, update: Update) -> Found:
        self.heard(lane, [])
        return show_plan(lane.plans, update)

    def _plan_removed(self, lane: Subagent, update: Update) -> Found:
        return show_removed_plan(lane.plans, update)

    def _subagent(self, lane: Subagent, update: Update) -> Found:
        lane.busy = True
        return self.lanes.update(update, lane)

    # -- asides

    def _notice(self, lane: Subagent, update: Update) -> Found:
        return _one(self._asides.notice(update, lane.subagent))

    def _compaction(self, lane: Subagent, update: Update) -> Found:
        lane.busy = True
        return _one(self._asides.compaction(update, lane.subagent))

    def _compaction_chunk(self, lane: Subagent, update: Update) -> Found:
        return _one(self._asides.compaction_chunk(update, lane.subagent))

    def _session_message(self, lane: Subagent, update: Update) -> Found:
        """In a child's own lane it is what the child was told, or says. On the session itself it is told aside: what
        the agent wants its user to see it says in messages of its own."""
        if lane.subagent is None:
            return _one(self._asides.session_message(update))
        voice: Kind = "text" if update.get("senderSessionId") == lane.session_id else "user"
        return lane.messages.whole(voice, update)

    def _session_message_chunk(self, lane: Subagent, update: Update) -> Found:
        if lane.subagent is None:
            return _one(self._asides.session_message_chunk(update))
        return lane.messages.say("user", non_empty(update.get("messageId")), inline(update.get("content")) or "")


def _unread(update: Any) -> list[Event]:
    return [Raw(without_meta(update), "acp")]


def _one(event: Custom | None) -> Found:
    return None if event is None else [event]


HANDLERS: dict[str, Callable[[Updates, Subagent, Update], Found]] = {
    "agent_message_chunk": Updates._text,
    "agent_thought_chunk": Updates._thought,
    "user_message_chunk": Updates._user_chunk,
    "agent_message": Updates._whole_text,
    "agent_thought": Updates._whole_thought,
    "user_message": Updates._whole_user,
    "tool_call": Updates._tool,
    "tool_call_update": Updates._tool,
    "tool_call_content_chunk": Updates._tool_chunk,
    "terminal_update": Updates._terminal,
    "terminal_output_chunk": Updates._terminal_chunk,
    "plan": Updates._plan,
    "plan_update": Updates._plan_update,
    "plan_removed": Updates._plan_removed,
    "notice": Updates._notice,
    "compaction_update": Updates._compaction,
    "compaction_summary_chunk": Updates._compaction_chunk,
    "subagent_update": Updates._subagent,
    "session_message": Updates._session_message,
    "session_message_chunk": Updates._session_message_chunk,
}
"""The five kinds that state facts are in `facts.READERS`."""
