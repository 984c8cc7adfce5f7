"""What happens in one session of Copilot: session events in, the house's events out.

In: events as `session.event` carries them and as `copilot -p` prints them, one by one. Out: events, facts, and the
error that a turn may end with. Questions and the end of a turn are the dialects' own: only one of them can answer, and
each ends a turn in its own way. Never raises: a field of the wrong type is an absent one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gateway.events import (
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
    TurnFailed,
    Warning,
)
from gateway.wire.acp.usage import parse_usage
from gateway.wire.dialects.copilot.errors import session_error
from gateway.wire.dialects.copilot.ignored_events import NOISE
from gateway.wire.dialects.copilot.session_state import FACTS
from gateway.wire.dialects.copilot.subagents import Lane, Lanes
from gateway.wire.dialects.copilot.tool_calls import Calls
from gateway.wire.fields import count, items, non_empty, obj, present, text

Data = dict[str, Any]


class Story:
    def __init__(self, own: Callable[[str], str], facts: dict[str, Any], handshake_layer: dict[str, Any]) -> None:
        self.lanes, self.calls = Lanes(own), Calls(own)
        self.facts, self.handshake_layer = facts, handshake_layer
        self.error: TurnFailed | None = None
        """Why the turn fails, if nothing comes after it."""

    def begin(self) -> None:
        """A new turn."""
        self.lanes.begin()
        self.calls.begin()
        self.error = None

    def read(self, kind: str, event: Data) -> list[Event] | None:
        """None: nobody knows what it means."""
        data = event.get("data")
        if type(data) is not dict:
            data = {}
        if kind == "assistant.message_delta":  # nearly all of them
            lane = self.lanes.main
            if "agentId" not in event and lane.key is not None and lane.key == data.get("messageId"):
                words = data.get("deltaContent")
                if type(words) is str:
                    return [TextMessageContent(words, lane.shown)] if words else []
        if kind in NOISE:
            return []
        if (tell := FACTS.get(kind)) is not None:
            return tell(self.facts, self.handshake_layer, data) if "agentId" not in event else []
        reader = READERS.get(kind)
        return None if reader is None else reader(self, event, data)

    def _in_lane(self, event: Data, found: Callable[[Lane], list[Event] | None]) -> list[Event] | None:
        agent_id = event.get("agentId")
        lane, opened = self.lanes.find(agent_id)
        told = found(lane)
        if opened and not told:
            self.lanes.close(agent_id)  # for nothing, as it turns out
            return told
        return None if told is None else [*opened, *told]

    # -- words

    def _text(self, event: Data, data: Data) -> list[Event] | None:
        message_id, words = non_empty(data.get("messageId")), text(data.get("deltaContent"))
        if message_id is None or words is None:
            return None
        if not words:
            return []
        return self._in_lane(event, lambda lane: [TextMessageContent(words, lane.goes_on(message_id), lane.subagent)])

    def _thought(self, event: Data, data: Data) -> list[Event] | None:
        """A delta, or the whole thought: that comes after the message, and is told only if no delta was."""
        thought_id = non_empty(data.get("reasoningId"))
        words = text(data.get("deltaContent" if "deltaContent" in data else "content"))
        if thought_id is None or words is None:
            return None
        if not words:
            return []

        def told(lane: Lane) -> list[Event]:
            if "deltaContent" not in data and thought_id in self.lanes.streamed:
                return []
            return [ReasoningMessageContent(words, lane.goes_on(thought_id), lane.subagent)]

        return self._in_lane(event, told)

    def _message(self, event: Data, data: Data) -> list[Event] | None:
        """The answer of one model call, whole: told where it did not come in deltas."""
        message_id, words = non_empty(data.get("messageId")), text(data.get("content"))
        if message_id is None:
            return None

        def told(lane: Lane) -> list[Event]:
            found: list[Event] = []
            if words and message_id not in self.lanes.streamed:
                found.append(TextMessageContent(words, lane.goes_on(message_id), lane.subagent))
            if lane.key == message_id:
                found.append(TextMessageEnd(lane.shown, lane.subagent))
                lane.broken_off()
            for request in items(data.get("toolRequests")):
                lane.broken_off()
                found += self.calls.settled(request, lane.subagent) or []
            return found

        quiet = not words and not items(data.get("toolRequests"))
        return [] if quiet else self._in_lane(event, told)

    # -- tools

    def _call(self, event: Data, read: Callable[[str | None], list[Event] | None]) -> list[Event] | None:
        def told(lane: Lane) -> list[Event] | None:
            lane.broken_off()
            return read(lane.subagent)

        return self._in_lane(event, told)

    def _arguments(self, event: Data, data: Data) -> list[Event] | None:
        return self._call(event, lambda subagent: self.calls.streamed(data, subagent))

    def _called(self, event: Data, data: Data) -> list[Event] | None:
        return self._call(event, lambda subagent: self.calls.settled(data, subagent))

    def _result(self, event: Data, data: Data) -> list[Event] | None:
        return self._call(event, lambda subagent: self.calls.result(data, subagent))

    def _printed(self, event: Data, data: Data) -> list[Event] | None:
        return self.calls.printed(data)

    def _printed_so_far(self, event: Data, data: Data) -> list[Event] | None:
        return self.calls.printed_so_far(data)

    def _progress(self, event: Data, data: Data) -> list[Event] | None:
        return self.calls.progress(data)

    # -- model calls

    def _step(self, event: Data, data: Data) -> list[Event] | None:
        name = f"turn {non_empty(data.get('turnId')) or ''}".strip()
        warned = self._went_on() if "agentId" not in event else []
        told = self._in_lane(event, lambda lane: [StepStarted(name, lane.subagent)]) or []
        return [*warned, *told]

    def _went_on(self) -> list[Event]:
        """An error after which the agent goes on was not the end."""
        error, self.error = self.error, None
        return [] if error is None else [Warning(error.code, error.message)]

    def _step_end(self, event: Data, data: Data) -> list[Event] | None:
        if not self.lanes.knows(event.get("agentId")):
            return []
        name = f"turn {non_empty(data.get('turnId')) or ''}".strip()

        def told(lane: Lane) -> list[Event]:
            found: list[Event] = []
            if lane.key is not None:
                found = [TextMessageEnd(None, lane.subagent), ReasoningMessageEnd(None, lane.subagent)]
                lane.broken_off()
            return [*found, StepFinished(name, lane.subagent)]

        return self._in_lane(event, told)

    def _used(self, event: Data, data: Data) -> list[Event] | None:
        """`inputTokens` has the cache in it, whatever the provider: 7 beside 1500 cached ones come as 1507."""
        names = {"cachedReadTokens": "cacheReadTokens", "cachedWriteTokens": "cacheWriteTokens"}
        names |= {"inputTokens": "inputTokens", "outputTokens": "outputTokens", "thoughtTokens": "reasoningTokens"}
        used = parse_usage({name: data.get(theirs) for name, theirs in names.items()})
        found: list[Event] = []
        if used is not None:
            provider = non_empty(data.get("modelProvider"))
            provider = None if provider == "other" else provider
            found.append(replace(used, model=non_empty(data.get("model")), provider=provider))
        return found + _cost(data.get("cost"))

    def _failed(self, event: Data, data: Data) -> list[Event] | None:
        error = session_error(data)
        if "agentId" in event:
            return [Custom("copilot.error", {"message": error.message, "code": error.code})]
        self.error = error
        return []

    # -- subagents

    def _subagent(self, event: Data, data: Data) -> list[Event] | None:
        agent_id = non_empty(event.get("agentId")) or non_empty(data.get("toolCallId"))
        if agent_id is None:
            return None
        call = self.calls.known(data.get("toolCallId"))
        name = non_empty(data.get("agentDisplayName")) or non_empty(data.get("agentName"))
        about, parent = non_empty(data.get("agentDescription")), non_empty(data.get("parentId"))
        return self.lanes.open(agent_id, name, about, parent, call.id if call else None)[1]

    def _subagent_end(self, event: Data, data: Data) -> list[Event] | None:
        return self.lanes.close(event.get("agentId") or data.get("toolCallId"))

    def _subagent_broke(self, event: Data, data: Data) -> list[Event] | None:
        words = text(data.get("error")) or "the subagent failed"
        return self.lanes.close(event.get("agentId") or data.get("toolCallId"), words)


def _cost(cost: Any) -> list[Event]:
    """In premium requests: Copilot's own money."""
    paid = isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0
    return [Custom("cost", {"premiumRequests": cost})] if paid else []


def _told(name: str, *keys: str) -> Callable[[Story, Data, Data], list[Event]]:
    """An aside that is handed on: these of its fields."""

    def read(story: Story, event: Data, data: Data) -> list[Event]:
        lane, opened = story.lanes.find(event.get("agentId"))
        shown = {key: data.get(key) for key in keys if isinstance(data.get(key), str | int | float)}
        return [*opened, Custom(f"copilot.{name}", shown, subagent=lane.subagent)]

    return read


def _compaction(story: Story, event: Data, data: Data) -> list[Event]:
    lane, opened = story.lanes.find(event.get("agentId"))
    done = data.get("success")
    about = {
        "status": "completed" if done is True else "failed" if done is False else "started",
        "trigger": text(data.get("trigger")),
        "error": text(data.get("error")),
        "tokensBefore": count(data.get("preCompactionTokens")),
        "tokensAfter": count(data.get("postCompactionTokens")),
    }
    return [*opened, Custom("copilot.compaction", present(about), subagent=lane.subagent)]


def _notification(story: Story, event: Data, data: Data) -> list[Event]:
    about = {"kind": text(obj(data.get("kind")).get("type")), "content": text(data.get("content"))}
    return [Custom("copilot.notification", present(about))]


READERS: dict[str, Callable[[Story, Data, Data], list[Event] | None]] = {
    "assistant.message_delta": Story._text,
    "assistant.message": Story._message,
    "assistant.reasoning_delta": Story._thought,
    "assistant.reasoning": Story._thought,
    "assistant.tool_call_delta": Story._arguments,
    "assistant.turn_start": Story._step,
    "assistant.turn_end": Story._step_end,
    "assistant.usage": Story._used,
    "assistant.intent": _told("intent", "intent"),
    "assistant.turn_retry": _told("retry", "model", "reason"),
    "assistant.server_tool_progress": _told("server_tool", "kind", "status", "outputIndex"),
    "tool.execution_start": Story._called,
    "tool.execution_complete": Story._result,
    "tool.shell_output": Story._printed,
    "tool.execution_partial_result": Story._printed_so_far,
    "tool.execution_progress": Story._progress,
    "session.error": Story._failed,
    "session.info": _told("info", "infoType", "message", "url", "tip"),
    "session.warning": _told("warning", "warningType", "message", "url"),
    "session.task_complete": _told("task_complete", "summary", "success", "outcome", "reason"),
    "session.autopilot_stopped": _told("autopilot_stopped", "reason"),
    "session.truncation": _told("truncation", "tokenLimit", "tokensRemovedDuringTruncation"),
    "session.compaction_start": _compaction,
    "session.compaction_complete": _compaction,
    "system.notification": _notification,
    "skill.invoked": _told("skill", "name", "description", "trigger"),
    "subagent.started": Story._subagent,
    "subagent.completed": Story._subagent_end,
    "subagent.failed": Story._subagent_broke,
}
