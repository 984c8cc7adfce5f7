"""Every kind of `session/update` (https://agentclientprotocol.com/protocol/prompt-turn), versions 1 and 2 → events.

In: an update, and the session that sent it. Out: events; during a replay none, because then they are history. An update
without a handler, or without a field that it needs, becomes `Raw`. `state_update` is not here: it ends turns, which
`session` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Custom, Event, Raw, TextMessageContent, TokenUsage, ToolCallResult
from gateway.wire.acp.content import inline_text, to_part
from gateway.wire.acp.messages import MODE_TEXT, Kind
from gateway.wire.acp.notices import Notices
from gateway.wire.acp.plans import show_plan, show_removed_plan
from gateway.wire.acp.replay import Replay
from gateway.wire.acp.session_state import READERS, SessionState
from gateway.wire.acp.subagents import AgentTurn, Subagents
from gateway.wire.acp.usage import Covers, UsageCounter
from gateway.wire.acp.vendor_fields import read_subagent
from gateway.wire.fields import items, non_empty, obj, text, value_at, without_meta

SYSTEM_PROMPT_TEXT = "System Prompt:\n"

Update = dict[str, Any]
Events = list[Event] | None
"""None: the update lacks a field that it needs."""


class Updates:
    def __init__(self, state: SessionState, covers: Covers) -> None:
        self.state = state
        self.subagents = Subagents()
        self.usage = UsageCounter(covers)
        self.has_counted_calls = False
        """Tokens of this turn were counted per model call, so the turn's own count would count them twice."""
        self._replay: Replay | None = None
        self._notices = Notices()
        self._replayed_user_id: str | None = None
        self._replayed_turns = 0

    def fast_path(self) -> Callable[[dict[str, Any]], TextMessageContent | None] | None:
        """A reader for plain text chunks, valid until another update is read. None: there is none now."""
        is_plain = self._replay is None and self.subagents.is_empty
        return self.subagents.main.messages.continue_text if is_plain else None

    def read(self, update: Any, session_id: str | None) -> list[Event]:
        fields = obj(update)
        kind = fields.get("sessionUpdate")
        if not isinstance(kind, str):
            return self._deliver(_to_raw(update))
        if kind in READERS:
            return self._deliver(self._change_state(fields, session_id))
        handler = HANDLERS.get(kind)
        if handler is None:
            return self._deliver(_to_raw(update))
        agent, started = self._find_agent(fields, session_id)
        events = handler(self, agent, fields)
        return self._deliver([*started, *(_to_raw(update) if events is None else events)])

    def _find_agent(self, update: Update, session_id: str | None) -> tuple[AgentTurn, list[Event]]:
        mark = read_subagent(update) if "_meta" in update else None
        return self.subagents.find(session_id) if mark is None else self.subagents.find_marked(mark)

    def note_action(self, agent: AgentTurn, events: list[Event]) -> None:
        """The agent did something beside its messages: the next chunk opens its message again; after a tool's result,
        a new one."""
        agent.has_acted = True
        if any(isinstance(event, ToolCallResult) for event in events):
            agent.messages.break_off_after_result()
        else:
            agent.messages.break_off()

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over."""
        turns = self.subagents.turns()
        events = [event for agent in turns for event in agent.tools.close(cancelled=cancelled)]
        for agent in turns:
            agent.messages.break_off()
        return events

    # -- replay

    @property
    def is_replaying(self) -> bool:
        return self._replay is not None

    def begin_replay(self) -> None:
        self._replay = Replay()
        self._replayed_user_id = None

    def end_replay(self) -> Replay | None:
        replay = self._replay
        self._replay = None
        return replay

    def _deliver(self, events: list[Event]) -> list[Event]:
        if self._replay is None:
            return events
        self._replay.feed(events)
        return []

    # -- the session's state

    def _change_state(self, update: Update, session_id: str | None) -> list[Event]:
        """A child session's state is its own: it is reported under the subagent, and not kept."""
        is_child = session_id is not None and self.subagents.owns(session_id)
        state = SessionState() if is_child else self.state
        change = state.read_update(update)
        if change is None:
            return []
        name, value = change
        if name in ("session.mode", "session.config"):
            self.subagents.main.has_acted = True  # the effect of a slash command: the turn was not empty
        return [Custom(name, value, self.subagents.subagent_of(session_id))]

    # -- messages

    def _text_chunk(self, agent: AgentTurn, update: Update) -> Events:
        if (mode := self._read_mode_text(update)) is not None:
            return self._change_state({"sessionUpdate": "current_mode_update", "currentModeId": mode}, None)
        events = agent.messages.read_chunk("text", update)
        if "_meta" in update and (usage := self._read_call_usage(update)) is not None:
            return [*(events or []), usage]
        return events

    def _read_mode_text(self, update: Update) -> str | None:
        """gemini-cli reports a new mode as a chunk of its answer: `[MODE_UPDATE] yolo`."""
        content = inline_text(update.get("content")) or ""
        mode = content.removeprefix(MODE_TEXT).strip() if content.startswith(MODE_TEXT) else ""
        return mode if mode in {known["id"] for known in self.state.modes} else None

    def _read_call_usage(self, update: Update) -> TokenUsage | None:
        """qwen-code reports the tokens of every model call, on an empty chunk."""
        usage = self.usage.read(value_at(update, "_meta", "usage"))
        self.has_counted_calls = self.has_counted_calls or usage is not None
        return usage

    def _thought_chunk(self, agent: AgentTurn, update: Update) -> Events:
        content = text(value_at(update, "content", "text")) or ""
        if content.startswith(SYSTEM_PROMPT_TEXT):  # openhands shows it as the first thought of a session
            return [Custom("acp.system_prompt", {"text": content.removeprefix(SYSTEM_PROMPT_TEXT)}, agent.subagent)]
        return agent.messages.read_chunk("thought", update)

    def _whole_text(self, agent: AgentTurn, update: Update) -> Events:
        return agent.messages.read_whole("text", update)

    def _whole_thought(self, agent: AgentTurn, update: Update) -> Events:
        return agent.messages.read_whole("thought", update)

    def _user_chunk(self, agent: AgentTurn, update: Update) -> Events:
        return self._replay_user(agent, update, [update.get("content")])

    def _whole_user(self, agent: AgentTurn, update: Update) -> Events:
        return self._replay_user(agent, update, items(update.get("content")))

    def _replay_user(self, agent: AgentTurn, update: Update, blocks: list[Any]) -> Events:
        """The client has its user's messages already; only a replay needs them. There each of them begins a turn, with
        ids of its own, unless it continues the same message."""
        if self._replay is None or agent is not self.subagents.main:
            return []
        agent_id = non_empty(update.get("messageId")) or ""
        has_answer = agent.messages.has_content or agent.has_acted
        if self._replayed_user_id is None or has_answer or (agent_id and agent_id != self._replayed_user_id):
            self._replay.feed(self.close(cancelled=False))
            self._replayed_turns += 1
            self.subagents.begin_turn(f"h{self._replayed_turns}")
        self._replayed_user_id = agent_id
        for part in filter(None, map(to_part, blocks)):
            self._replay.add_user_part(f"{self.subagents.turn_key}:user", part)
        return []

    # -- tool calls, terminals, plans, subagents

    def _tool_call(self, agent: AgentTurn, update: Update) -> Events:
        events = agent.tools_for(update).update(update)
        if events and any(isinstance(event, ToolCallResult) for event in events):
            events = [*self.subagents.end_marked(update.get("toolCallId")), *events]
        self.note_action(agent, events or [])
        return events

    def _tool_call_chunk(self, agent: AgentTurn, update: Update) -> Events:
        events = agent.tools.content_chunk(update)
        self.note_action(agent, events or [])
        return events

    def _terminal(self, agent: AgentTurn, update: Update) -> Events:
        return agent.terminals.update(update)

    def _terminal_chunk(self, agent: AgentTurn, update: Update) -> Events:
        return agent.terminals.read_chunk(update)

    def _plan(self, agent: AgentTurn, update: Update) -> Events:
        self.note_action(agent, [])
        return agent.plans.show_entries(update.get("entries"))

    def _named_plan(self, agent: AgentTurn, update: Update) -> Events:
        self.note_action(agent, [])
        return show_plan(agent.plans, update)

    def _removed_plan(self, agent: AgentTurn, update: Update) -> Events:
        return show_removed_plan(agent.plans, update)

    def _subagent(self, agent: AgentTurn, update: Update) -> Events:
        agent.has_acted = True
        return self.subagents.update(update, agent)

    # -- notices

    def _notice(self, agent: AgentTurn, update: Update) -> Events:
        return _to_list(self._notices.notice(update, agent.subagent))

    def _compaction(self, agent: AgentTurn, update: Update) -> Events:
        agent.has_acted = True
        return _to_list(self._notices.compaction(update, agent.subagent))

    def _compaction_chunk(self, agent: AgentTurn, update: Update) -> Events:
        return _to_list(self._notices.compaction_chunk(update, agent.subagent))

    def _session_message(self, agent: AgentTurn, update: Update) -> Events:
        """In a child session it is a message to the child, or from it. In the session itself it is a notice: what the
        agent wants its user to see is in messages of its own."""
        if agent.subagent is None:
            return _to_list(self._notices.session_message(update))
        kind: Kind = "text" if update.get("senderSessionId") == agent.session_id else "user"
        return agent.messages.read_whole(kind, update)

    def _session_message_chunk(self, agent: AgentTurn, update: Update) -> Events:
        if agent.subagent is None:
            return _to_list(self._notices.session_message_chunk(update))
        delta = inline_text(update.get("content")) or ""
        return agent.messages.add("user", non_empty(update.get("messageId")), delta)


def _to_raw(update: Any) -> list[Event]:
    return [Raw(without_meta(update), "acp")]


def _to_list(event: Custom | None) -> Events:
    return None if event is None else [event]


HANDLERS: dict[str, Callable[[Updates, AgentTurn, Update], Events]] = {
    "agent_message_chunk": Updates._text_chunk,
    "agent_thought_chunk": Updates._thought_chunk,
    "user_message_chunk": Updates._user_chunk,
    "agent_message": Updates._whole_text,
    "agent_thought": Updates._whole_thought,
    "user_message": Updates._whole_user,
    "tool_call": Updates._tool_call,
    "tool_call_update": Updates._tool_call,
    "tool_call_content_chunk": Updates._tool_call_chunk,
    "terminal_update": Updates._terminal,
    "terminal_output_chunk": Updates._terminal_chunk,
    "plan": Updates._plan,
    "plan_update": Updates._named_plan,
    "plan_removed": Updates._removed_plan,
    "notice": Updates._notice,
    "compaction_update": Updates._compaction,
    "compaction_summary_chunk": Updates._compaction_chunk,
    "subagent_update": Updates._subagent,
    "session_message": Updates._session_message,
    "session_message_chunk": Updates._session_message_chunk,
}
"""The five kinds that change the session's state are in `session_state.READERS`."""
