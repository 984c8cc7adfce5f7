"""One thread of Codex as it works: its items → messages, thoughts, tool calls, live output.

In: items as they start and complete, and the deltas between. Out: events, each message told once and each call closed
once, whichever of start, deltas and completion came. A subagent's thread is a lane of its own. What came of a call that
outlives its turn is told when it is known, as CUSTOM `codex.tool_call`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.events import (
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.activities import LiveOutput, Plans
from gateway.wire.dialects.codex.tool_calls import KINDS, Item, arguments, call_name, patch_lines, result, shown, status
from gateway.wire.fields import count, non_empty, present, text

MESSAGES = ("agentMessage", "plan")
TOLD = {
    "hookPrompt": "codex.hook_prompt",
    "contextCompaction": "codex.compaction",
    "enteredReviewMode": "codex.review",
    "exitedReviewMode": "codex.review",
    "subAgentActivity": "codex.subagent",
}
"""Items that are neither said nor called, and the CUSTOM events that tell them."""
ECHOES = ("userMessage",)
"""Our own words, come back."""


@dataclass(slots=True)
class Call:
    id: str
    item_id: str
    ended: bool = False
    answered: bool = False
    item: Item | None = None
    """As it was told last; None when its result is."""
    live: LiveOutput | None = None


class Lane:
    def __init__(self, prefix: str, subagent: str | None = None) -> None:
        self.subagent = subagent
        self._calls: dict[str, Call] = {}
        self.begin(prefix)

    def begin(self, prefix: str) -> None:
        """A new turn: new ids. Calls that are still open stay known."""
        self._prefix = prefix
        self.last_text = ""
        """The newest whole message."""
        self._calls = {name: call for name, call in self._calls.items() if call.item is not None}
        for call in self._calls.values():
            call.live = None
        self._ids: dict[str, str] = {}
        self._pieces: dict[str, list[str]] = {}
        self._phases: dict[str, dict[str, Any]] = {}
        self.plans = Plans(prefix, self.subagent)

    # -- messages and thoughts

    def text(self, item_id: str, delta: str) -> TextMessageContent:
        """A piece of a message. Nearly all that ever comes: nothing is done twice."""
        pieces = self._pieces.get(item_id)
        if pieces is None:
            pieces = self._pieces[item_id] = []
            self._ids[item_id] = f"{self._prefix}:{item_id}"
            pieces.append(delta)
            return TextMessageContent(delta, self._ids[item_id], self.subagent, None, self._phases.pop(item_id, None))
        pieces.append(delta)
        return TextMessageContent(delta, self._ids[item_id], self.subagent)

    def thought(self, item_id: str, part: str, delta: str) -> ReasoningMessageContent:
        """`part`: every part of a summary is a message of its own."""
        key = f"{item_id}:{part}"
        self._pieces.setdefault(key, []).append(delta)
        return ReasoningMessageContent(delta, f"{self._prefix}:{key}", self.subagent)

    def _message(self, item: Item) -> list[Event]:
        """Complete. What no delta told is told now; what deltas told otherwise cannot be taken back."""
        item_id, words = item["id"], text(item.get("text")) or ""
        said = "".join(self._pieces.get(item_id, ()))
        self.last_text = words or said
        self._phase(item)
        rest = words[len(said) :] if words.startswith(said) else ""
        found: list[Event] = [self.text(item_id, rest)] if rest else []
        if said or rest:
            found.append(TextMessageEnd(self._ids[item_id], self.subagent))
        if item.get("questions"):
            found.append(Custom("codex.questions", {"questions": item["questions"]}, self.subagent))
        return found

    def _phase(self, item: Item) -> None:
        if (phase := non_empty(item.get("phase"))) is not None and item["id"] not in self._pieces:
            self._phases[item["id"]] = {"codex": {"phase": phase}}

    def _thoughts(self, item: Item) -> list[Event]:
        found: list[Event] = []
        for kind, key in (("s", "summary"), ("c", "content")):
            for number, words in enumerate(item[key] if isinstance(item.get(key), list) else ()):
                found += self._thought_whole(item["id"], f"{kind}{number}", text(words) or "")
        return found

    def _thought_whole(self, item_id: str, part: str, words: str) -> list[Event]:
        said = "".join(self._pieces.get(f"{item_id}:{part}", ()))
        rest = words[len(said) :] if words.startswith(said) else ""
        found: list[Event] = [self.thought(item_id, part, rest)] if rest else []
        return (
            [*found, ReasoningMessageEnd(f"{self._prefix}:{item_id}:{part}", self.subagent)] if said or rest else found
        )

    def fitted(self, schema: Mapping[str, Any] | None) -> Any:
        """The answer to a turn that had to fit a schema, as what it is."""
        if schema is None:
            return None
        try:
            return orjson.loads(self.last_text)
        except orjson.JSONDecodeError:
            return None

    # -- items

    def started(self, item: Item) -> list[Event] | None:
        """None: of a kind that is not known."""
        kind = item.get("type")
        if kind in KINDS:
            return self._start(item)
        if kind in MESSAGES:
            self._phase(item)
            return []
        if kind == "reasoning" or kind in ECHOES:
            return []
        return self._told(item, "started")

    def completed(self, item: Item) -> list[Event] | None:
        kind = item.get("type")
        if kind in KINDS:
            return self._finish(item)
        if kind in MESSAGES:
            return self._message(item)
        if kind == "reasoning":
            return self._thoughts(item)
        return [] if kind in ECHOES else self._told(item, "completed")

    def _told(self, item: Item, moment: str) -> list[Event] | None:
        name = TOLD.get(item.get("type", ""))
        return None if name is None else [Custom(name, {"moment": moment, **item}, self.subagent)]

    # -- calls

    def call_id(self, item_id: Any) -> str | None:
        """AG-UI's id of a call that the client has seen."""
        call = self._calls.get(item_id) if isinstance(item_id, str) else None
        return None if call is None else call.id

    def files(self, item_id: Any) -> list[str]:
        """What a call is about to change."""
        call = self._calls.get(item_id) if isinstance(item_id, str) else None
        return [] if call is None or call.item is None else patch_lines(call.item)

    def waiting(self, kind: str) -> list[tuple[str, Item]]:
        """Calls of a kind that have no result yet: their AG-UI ids and items."""
        open_calls = ((call.id, call.item) for call in self._calls.values() if not call.answered)
        return [(name, item) for name, item in open_calls if item is not None and item["type"] == kind]

    def _start(self, item: Item) -> list[Event]:
        item_id = item["id"]
        if item_id in self._calls:
            return []
        call = self._calls[item_id] = Call(f"{self._prefix}:{item_id}", item_id, item=item)
        found: list[Event] = [ToolCallStart(call.id, call_name(item), subagent=self.subagent, metadata=shown(item))]
        return found if KINDS[item["type"]].late else [*found, *self._end(call, item)]

    def _end(self, call: Call, item: Item) -> list[Event]:
        if call.ended:
            return []
        call.ended = True
        return [ToolCallArgs(call.id, arguments(item)), ToolCallEnd(call.id)]

    def _finish(self, item: Item) -> list[Event]:
        found = self._start(item)
        call = self._calls[item["id"]]
        if call.answered:
            return self._late(call, item)
        found += self._end(call, item)
        call.answered, call.item = True, None
        found += self._printed(call, item)
        return [*found, ToolCallResult(call.id, result(item), subagent=self.subagent, metadata=shown(item))]

    def _late(self, call: Call, item: Item) -> list[Event]:
        if call.item is None:
            return []  # told twice
        call.item = None
        about = {"toolCallId": call.id, "status": status(item), "exitCode": count(item.get("exitCode"))}
        return [Custom("codex.tool_call", present(about | {"output": result(item)}), self.subagent)]

    def park(self) -> list[Event]:
        """The run ends with a question while the turn waits: what the client sees closed is closed here, too."""
        return [event for call in self._calls.values() if call.item for event in self._end(call, call.item)]

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over. What became of a call that is still open, nobody said."""
        found: list[Event] = []
        for call in self._calls.values():
            if not call.answered and call.item is not None:
                found += self._end(call, call.item)
                call.answered = True
                about = shown(call.item)
                words = CANCELLED if cancelled else UNREPORTED
                found.append(ToolCallResult(call.id, words, subagent=self.subagent, metadata=about))
        return found

    # -- what a call says while it runs

    def output(self, item_id: str, delta: str) -> list[Event] | None:
        """None: of a call that is not known."""
        call = self._calls.get(item_id)
        if call is None:
            return None
        if call.live is None:
            cwd = text(call.item.get("cwd")) if call.item is not None else None
            about = present({"terminalId": item_id, "toolCallId": call.id, "cwd": cwd})
            call.live = LiveOutput(f"{self._prefix}:terminal:{item_id}", "terminal", self.subagent, about)
        return call.live.append(delta)

    def _printed(self, call: Call, item: Item) -> list[Event]:
        """The end of a command that was seen at work. Its first words may have been missed: now they are known."""
        if call.live is None or item["type"] != "commandExecution":
            return []
        whole = text(item.get("aggregatedOutput")) or ""
        found = call.live.replace(whole) if whole.endswith(call.live.text) else []
        return [*found, *call.live.set_fields(exitCode=count(item.get("exitCode")))]

    def progress(self, item_id: str, message: str) -> list[Event] | None:
        call = self._calls.get(item_id)
        if call is None:
            return None
        if call.live is None:
            call.live = LiveOutput(f"{call.id}:output", "tool_output", self.subagent, {"toolCallId": call.id})
        return call.live.append(f"{message}\n")
