"""One turn of Hermes: words, thoughts, calls, subagents → events.

In: the payload of an event. Out: events, or None for a payload that is not what it should be. Hermes names a call's
arguments only with its result, so that is where they are told; a command that somebody is asked about is told before.
After a call it puts two newlines before its words, which stand in no message of its own: a new message needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.events import (
    ActivitySnapshot,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.fields import items, json_text, non_empty, present, text

Payload = dict[str, Any]

SHOWN = ("summary", "inline_diff", "duration_s")
"""Of a call that is done: what stands beside its result."""


@dataclass(slots=True)
class Call:
    id: str
    name: str
    context: str = ""
    told: Any = None
    """The arguments as far as they were told before the end."""
    done: bool = False


class Speech:
    def __init__(self, own: Callable[[str], str]) -> None:
        self._own = own
        self._text = self._thinking = self._glue = False
        self.calls: dict[str, Call] = {}
        self._subagents: set[str] = set()

    def begin_turn(self) -> None:
        self._text = self._thinking = self._glue = False
        self.calls.clear()
        self._subagents.clear()

    # -- words

    def delta(self, payload: Payload) -> list[Event] | None:
        words = payload.get("text")
        if type(words) is not str:
            return None
        if self._text:
            return [TextMessageContent(words)]
        if self._glue:
            words = words.lstrip("\n")
        if not words:
            return []
        found = self._end_thought()
        self._text, self._glue = True, False
        return [*found, TextMessageContent(words)]

    def thought(self, payload: Payload) -> list[Event] | None:
        words = payload.get("text")
        if type(words) is not str:
            return None
        if self._thinking or not words:
            return [ReasoningMessageContent(words)] if words else []
        found = self.end_text()
        self._thinking = True
        return [*found, ReasoningMessageContent(words)]

    def interim(self, payload: Payload) -> list[Event] | None:
        """The words before a call, complete."""
        words = text(payload.get("text"))
        if words is None:
            return None
        streamed = self._text or payload.get("already_streamed") is True
        return [*([] if streamed else self._whole(words)), *self.end_text()]

    def last(self, payload: Payload) -> list[Event]:
        """The answer, where it did not stream."""
        words = text(payload.get("text"))
        silent = not self._text and payload.get("response_previewed") is not True
        return [*(self._whole(words) if silent and words else []), *self.end_text()]

    def _whole(self, words: str) -> list[Event]:
        found = self._end_thought()
        self._text = bool(words)
        return [*found, TextMessageContent(words)] if words else found

    def end_text(self) -> list[Event]:
        found = self._end_thought()
        if self._text:
            self._text = False
            found.append(TextMessageEnd())
        return found

    def _end_thought(self) -> list[Event]:
        if not self._thinking:
            return []
        self._thinking = False
        return [ReasoningMessageEnd()]

    # -- calls

    def call_began(self, payload: Payload) -> list[Event] | None:
        call_id, name = non_empty(payload.get("tool_id")), non_empty(payload.get("name"))
        if call_id is None or name is None:
            return None
        if call_id in self.calls:
            return []
        call = self.calls[call_id] = Call(self._own(call_id), name, text(payload.get("context")) or "")
        metadata = {"hermes": {"context": call.context}} if call.context else None
        return [*self.end_text(), ToolCallStart(call.id, name, metadata=metadata)]

    def call_done(self, payload: Payload) -> list[Event] | None:
        began = self.call_began(payload)
        if began is None:
            return None
        call = self.calls[payload["tool_id"]]
        if call.done:
            return []
        call.done = self._glue = True
        args = payload.get("args")
        found = [*began, *self.settle(call, args)]
        shown = present({name: payload.get(name) for name in SHOWN})
        if call.told != args and args is not None:
            shown["args"] = args  # a human was shown something else, with its secrets blacked out
        result = payload.get("result")
        content = result if isinstance(result, str) else json_text(result)
        found.append(ToolCallResult(call.id, content, metadata={"hermes": shown} if shown else None))
        return [*found, *self._plan(payload)]

    def settle(self, call: Call, args: Any) -> list[Event]:
        """The arguments are complete: the call is over, or somebody is asked about it."""
        if call.told is not None:
            return []
        call.told = {} if args is None else args
        return [ToolCallArgs(call.id, json_text(call.told)), ToolCallEnd(call.id)]

    def asked_about(self, kind: str, payload: Payload) -> Call | None:
        """The call that a question is about: the one whose context shows the command, or the only open one."""
        waiting = [call for call in self.calls.values() if not call.done]
        command = (text(payload.get("command")) or "").strip().split("\n")[0][:60]
        fitting = [call for call in waiting if call.name == kind or (command and command in call.context)]
        found = fitting or waiting
        return found[0] if len(found) == 1 else None

    def _plan(self, payload: Payload) -> list[Event]:
        if "todos" not in payload:
            return []
        keys = ("id", "content", "status")
        entries = [present({key: text(entry.get(key)) for key in keys}) for entry in items(payload["todos"])]
        return [ActivitySnapshot(self._own("plan"), "plan", {"entries": entries})]

    # -- subagents

    def subagent(self, moment: str, payload: Payload) -> list[Event] | None:
        """None: nothing that can be said in an event."""
        told = non_empty(payload.get("subagent_id"))
        if told is None:
            return None
        own = self._own(f"subagent:{told}")
        if moment == "start" and told not in self._subagents:
            return self._delegated(told, own, payload)
        if moment == "complete" and told in self._subagents:
            self._subagents.discard(told)
            return [_concluded(own, payload)]
        return None

    def _delegated(self, told: str, own: str, payload: Payload) -> list[Event]:
        self._subagents.add(told)
        parent = non_empty(payload.get("parent_id"))
        by = [call for call in self.calls.values() if not call.done and call.name == "delegate_task"]
        goal = non_empty(payload.get("goal"))
        return [
            *self.end_text(),
            SubagentStarted(
                own,
                name=non_empty(payload.get("model")) or "subagent",
                description=goal,
                parent=self._own(f"subagent:{parent}") if parent in self._subagents else None,
                tool_call_id=by[0].id if len(by) == 1 else None,
            ),
        ]


def _concluded(own: str, payload: Payload) -> Event:
    said = text(payload.get("summary")) or text(payload.get("text"))
    status = non_empty(payload.get("status")) or "completed"
    if status in ("completed", "complete", "success", "ok"):
        return SubagentFinished(own, said)
    return SubagentError(own, said or f"the subagent ended: {status}", status.upper())
