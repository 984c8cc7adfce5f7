"""One lane of a conversation, the agent's own or a subagent's: what it says and does → events.

In: the events that pi and omp tell of a model's answers and of tools, in both versions of the format. Out: text and
thinking token by token, tool calls, results, usage. A block's end comes late with many providers, when the next block
has long begun: the next block's beginning is what ends it for the client. The copies of the whole message that older
versions send with every token are looked at for a tool call's name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from gateway.events import (
    ActivitySnapshot,
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    StepFinished,
    StepStarted,
    TextMessageContent,
    TextMessageEnd,
)
from gateway.wire.acp.content import to_part
from gateway.wire.dialects.pi.tool_calls import Calls
from gateway.wire.dialects.pi.usage import Ledger
from gateway.wire.fields import items, non_empty, obj, present, text

Kind = Literal["text", "thinking"]

ECHOES = frozenset(("user", "system", "developer"))
"""Messages of these roles are the prompt once more, or the agent's own instructions."""


class Lane:
    def __init__(
        self, agent: str, own: Callable[[str], str], ledger: Ledger, subagent: str | None = None, *, intent: bool
    ) -> None:
        self._agent, self._own, self._ledger, self._subagent = agent, own, ledger, subagent
        self.calls = Calls(agent, own, subagent, intent=intent)
        self._message = self._step = self._shown = 0
        self._open: tuple[Kind, int] | None = None
        """The block that is open at the client."""
        self._ids: set[str] = set()
        self._said: dict[Kind, list[str]] = {"text": [], "thinking": []}
        """Of the message that is being written."""
        self.stop: str | None = None
        """Why the newest answer ended; with `error`, `fault` says how."""
        self.fault: dict[str, Any] = {}

    def read(self, told: dict[str, Any]) -> Iterable[Event] | None:
        """None: not understood, or none of a lane's."""
        handler = LANES_OWN.get(non_empty(told.get("type")) or "")
        return None if handler is None else handler(self, told)

    def break_off(self) -> None:
        """The run ended, or something else came between: what is said next is a message of its own."""
        self._open = None

    # -- what the model says

    def _message_start(self, told: dict[str, Any]) -> list[Event] | None:
        if obj(told.get("message")).get("role") != "assistant":
            return [] if non_empty(obj(told.get("message")).get("role")) else None
        self._message += 1
        self._said = {"text": [], "thinking": []}
        self._open = None
        self.calls.new_message()
        return []

    def update(self, told: dict[str, Any]) -> Iterable[Event] | None:
        event = told.get("assistantMessageEvent")
        if type(event) is not dict:
            return None
        kind = event.get("type")
        if kind == "text_delta":
            return self.say("text", event.get("contentIndex"), event.get("delta"))
        if kind == "thinking_delta":
            return self.say("thinking", event.get("contentIndex"), event.get("delta"))
        if not isinstance(kind, str):
            return None
        if kind in UNTOLD:
            return []
        index, handler = event.get("contentIndex"), BLOCKS.get(kind)
        return handler(self, index, event, told.get("message")) if handler and type(index) is int else None

    def say(self, kind: Kind, index: Any, words: Any) -> list[Event] | None:
        if type(words) is not str or type(index) is not int:
            return None
        if not words:
            return []
        self._said[kind].append(words)
        message_id = None if self._open == (kind, index) else self._opened(kind, index)
        if kind == "text":
            return [TextMessageContent(words, message_id, self._subagent)]
        return [ReasoningMessageContent(words, message_id, self._subagent)]

    def _opened(self, kind: Kind, index: int) -> str:
        """A block that goes on after another came between is a second message."""
        self._open = (kind, index)
        base = self._own(f"m{self._message}.{index}")
        found, again = base, 1
        while found in self._ids:
            again += 1
            found = f"{base}.{again}"
        self._ids.add(found)
        return found

    def _block_end(self, index: int, event: dict[str, Any], message: Any) -> list[Event]:
        if self._open is None or self._open[1] != index:
            return []
        kind, self._open = self._open[0], None
        return [TextMessageEnd(None, self._subagent) if kind == "text" else ReasoningMessageEnd(None, self._subagent)]

    def _image(self, index: int, event: dict[str, Any], message: Any) -> list[Event] | None:
        """AG-UI's messages hold no image; an activity can."""
        part = to_part(event.get("content"))
        if part is None:
            return None
        self._shown += 1
        place = self._own(f"content{self._message}.{self._shown}")
        return [ActivitySnapshot(place, "content", {"parts": [part]}, subagent=self._subagent)]

    def _call_start(self, index: int, event: dict[str, Any], message: Any) -> Iterable[Event]:
        self._open = None
        return self.calls.start(index, event, message)

    def _call_delta(self, index: int, event: dict[str, Any], message: Any) -> Iterable[Event]:
        return self.calls.delta(index, event, message)

    def _call_end(self, index: int, event: dict[str, Any], message: Any) -> Iterable[Event]:
        return self.calls.end(index, event, message)

    def _message_end(self, told: dict[str, Any]) -> Iterable[Event] | None:
        message = obj(told.get("message"))
        match message.get("role"):
            case "assistant":
                return self._answered(message)
            case "toolResult":
                return [*self.calls.gave(message, message), *self._ledger.enter(message.get("usage"), {})]
            case "custom" | "hookMessage":
                return self._aside(message)
            case role if isinstance(role, str) and role in ECHOES:
                return []
            case _:
                return None

    def _answered(self, message: dict[str, Any]) -> list[Event]:
        """The message whole: for what no event told of it."""
        blocks = items(message.get("content"))
        found = [*self._rest("thinking", blocks), *self._rest("text", blocks)]
        for block in blocks:
            if block.get("type") == "toolCall":
                found += self.calls.complete(block)
        self.calls.new_message()
        self.stop, self.fault = non_empty(message.get("stopReason")), message
        return [*found, *self._ledger.enter(message.get("usage"), message)]

    def _rest(self, kind: Kind, blocks: list[dict[str, Any]]) -> list[Event]:
        whole = "".join(text(block.get(kind)) or "" for block in blocks if block.get("type") == kind)
        said = "".join(self._said[kind])
        if len(whole) <= len(said) or not whole.startswith(said):
            return []
        goes_on = self._open[1] if self._open is not None and self._open[0] == kind else 0
        return self.say(kind, goes_on, whole[len(said) :]) or []

    def _aside(self, message: dict[str, Any]) -> list[Event]:
        """An extension's own message; what it does not want shown is for the model alone."""
        if message.get("display") is False:
            return []
        content = message.get("content")
        words = content if isinstance(content, str) else _joined(content)
        value = present({"type": non_empty(message.get("customType")), "text": words})
        return [Custom(f"{self._agent}.message", value, self._subagent)] if words else []

    # -- what it does

    def _turn_start(self, told: dict[str, Any]) -> list[Event]:
        self._step += 1
        return [StepStarted(f"turn {self._step}", self._subagent)]

    def _turn_end(self, told: dict[str, Any]) -> list[Event]:
        return [StepFinished(f"turn {self._step}", self._subagent)] if self._step else []

    def _tool_start(self, told: dict[str, Any]) -> Iterable[Event] | None:
        self._open = None
        return self.calls.runs(told) if non_empty(told.get("toolCallId")) else None

    def _tool_update(self, told: dict[str, Any]) -> Iterable[Event] | None:
        return self.calls.prints(told) if non_empty(told.get("toolCallId")) else None

    def _tool_end(self, told: dict[str, Any]) -> Iterable[Event] | None:
        self._open = None
        return self.calls.gave(told, obj(told.get("result"))) if non_empty(told.get("toolCallId")) else None


def _joined(content: Any) -> str:
    return "\n".join(text(block.get("text")) or "" for block in items(content)).strip()


UNTOLD = frozenset(("start", "done", "error", "text_start", "thinking_start"))
"""Events inside an answer that say nothing of their own: what they begin or end is told by the others."""

BLOCKS: dict[str, Callable[[Lane, int, dict[str, Any], Any], Iterable[Event] | None]] = {
    "text_end": Lane._block_end,
    "thinking_end": Lane._block_end,
    "image_end": Lane._image,
    "toolcall_start": Lane._call_start,
    "toolcall_delta": Lane._call_delta,
    "toolcall_end": Lane._call_end,
}

LANES_OWN: dict[str, Callable[[Lane, dict[str, Any]], Iterable[Event] | None]] = {
    "message_update": Lane.update,
    "message_start": Lane._message_start,
    "message_end": Lane._message_end,
    "turn_start": Lane._turn_start,
    "turn_end": Lane._turn_end,
    "tool_execution_start": Lane._tool_start,
    "tool_execution_update": Lane._tool_update,
    "tool_execution_end": Lane._tool_end,
}
