"""Text and thinking of one lane in one turn → deltas that name their message.

In: chunks, with or without an id of the message, and version 2's whole messages. Out: text and reasoning deltas. A
chunk that goes on where the last one stopped carries no id: that is the short way through the house, and nearly all
chunks take it. Agents give one id to the thinking and the text of a model's answer; in AG-UI they are two messages.
"""

from __future__ import annotations

from typing import Any, Literal

from gateway.events import ActivitySnapshot, Event, ReasoningMessageContent, TextMessageContent
from gateway.wire.acp.content import inline, to_part
from gateway.wire.fields import items, non_empty

Kind = Literal["text", "thought", "user"]
MARKS: dict[Kind, str] = {"text": "", "thought": ":thought", "user": ":user"}
NONE = object()
"""Equal to no id. Not the messages themselves: what refers to itself is kept until somebody looks for it."""


class Messages:
    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix, self._subagent = prefix, subagent
        self._going_on: tuple[Kind, str | None] | None = None
        """The message that is open at the client, by the agent's own id."""
        self._open_text: object = NONE
        """…and if that is one of text, its id once more, to be compared fast; else what no id is equal to."""
        self._count = 0
        self._said: dict[tuple[Kind, str], list[str]] = {}
        self._ids: dict[tuple[Kind, str], tuple[int, str]] = {}
        self._results = 0
        self._last: list[str] = []
        self._words = self._last
        self.spoke = False

    @property
    def last_text(self) -> str:
        """The newest message of text."""
        return "".join(self._last)

    def break_off(self) -> None:
        """Something else came between, or the run ended: the next chunk opens its message again."""
        self._going_on, self._open_text = None, NONE
        for pieces in (self._last, self._words):
            if len(pieces) > 1:  # a text in pieces takes twelve times its size, and a session may be idle for long
                pieces[:] = ["".join(pieces)]

    def answered(self) -> None:
        """A tool gave its result: what is said now stands below it, whatever message it belongs to for the agent."""
        self._results += 1
        self.break_off()

    def go_on(self, update: dict[str, Any]) -> TextMessageContent | None:
        """The short way: one more piece of the text that is open. None: anything else, for `chunk`."""
        block = update.get("content")
        if self._open_text != update.get("messageId") or type(block) is not dict or block.get("type") != "text":
            return None
        words = block.get("text")
        if type(words) is not str or not words:
            return None
        self._last.append(words)
        if self._words is not self._last:
            self._words.append(words)
        return TextMessageContent(words, None, self._subagent)

    def goes_on(self, acp_id: object) -> bool:
        return self._open_text == acp_id

    def more(self, texts: list[str]) -> list[Event]:
        """Many more pieces of the text that is open: `go_on` for each."""
        texts = [words for words in texts if words]
        self._last += texts
        if self._words is not self._last:
            self._words += texts
        return [TextMessageContent(words, None, self._subagent) for words in texts]

    def chunk(self, kind: Kind, update: dict[str, Any]) -> list[Event] | None:
        """None: no content that is known."""
        block = update.get("content")
        words = inline(block)
        if words is None:
            return self._shown(block)
        return self.say(kind, non_empty(update.get("messageId")), words)

    def say(self, kind: Kind, acp_id: str | None, words: str, metadata: dict[str, Any] | None = None) -> list[Event]:
        if not words:
            return []
        message_id = None
        if self._going_on != (kind, acp_id):
            message_id = self._open(kind, acp_id)
        self.spoke = True
        self._words.append(words)
        if kind == "thought":
            return [ReasoningMessageContent(words, message_id, self._subagent, metadata)]
        if kind == "text" and self._words is not self._last:
            self._last.append(words)
        return [TextMessageContent(words, message_id, self._subagent, "user" if kind == "user" else None, metadata)]

    def _open(self, kind: Kind, acp_id: str | None) -> str:
        self._going_on = (kind, acp_id)
        self._open_text = acp_id if kind == "text" else NONE
        if kind == "text":
            self._last = []
        # Without an id nobody comes back to it: the words need not be kept twice.
        anonymous = self._last if kind == "text" else []
        self._words = anonymous if acp_id is None else self._said.setdefault((kind, acp_id), [])
        return self._id(kind, acp_id)

    def whole(self, kind: Kind, update: dict[str, Any]) -> list[Event] | None:
        """Version 2's upsert. What is new of it is told; what was said otherwise before cannot be taken back, so then
        it is a new message that names the one it stands for. None: no id."""
        acp_id = non_empty(update.get("messageId"))
        if acp_id is None:
            return None
        if not isinstance(update.get("content"), list):
            return []
        blocks = items(update["content"])
        words = "".join(inline(block) or "" for block in blocks)
        found = [event for block in blocks if inline(block) is None for event in self._shown(block) or ()]
        said = "".join(self._said.get((kind, acp_id), ()))
        if words.startswith(said):
            return found + self.say(kind, acp_id, words[len(said) :])
        return found + self._anew(kind, acp_id, words)

    def _anew(self, kind: Kind, acp_id: str, words: str) -> list[Event]:
        if not words:
            return []
        before = self._id(kind, acp_id)
        self._said[kind, acp_id] = []
        self.answered()
        return self.say(kind, acp_id, words, {"acp": {"replaces": before}})

    def _id(self, kind: Kind, acp_id: str | None) -> str:
        if acp_id is None:
            self._count += 1
            return f"{self._prefix}:m{self._count}{MARKS[kind]}"
        at, known = self._ids.get((kind, acp_id), (None, None))
        if known is None or at != self._results:
            again = "" if known is None else f".{self._results}"
            known = f"{self._prefix}:{acp_id}{again}{MARKS[kind]}"
            self._ids[kind, acp_id] = (self._results, known)
        return known

    def _shown(self, block: Any) -> list[Event] | None:
        """An image or a sound in the agent's answer: AG-UI's messages cannot hold it, an activity can."""
        part = to_part(block)
        if part is None:
            return None
        self.spoke = True
        self._count += 1
        place = f"{self._prefix}:content{self._count}"
        return [ActivitySnapshot(place, "content", {"parts": [part]}, subagent=self._subagent)]
