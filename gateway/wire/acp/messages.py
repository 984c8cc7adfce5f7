"""Text and reasoning of one agent or subagent in one turn → deltas that name their message.

In: chunks, with or without an id of the message, and version 2's whole messages. Out: text and reasoning deltas. A
chunk that continues the open message carries no id: that is the fast path through the gateway, and nearly all chunks
take it. Agents give one id to the reasoning and the text of a model's answer; in AG-UI they are two messages.
"""

from __future__ import annotations

from typing import Any, Literal

from gateway.events import ActivitySnapshot, Event, ReasoningMessageContent, TextMessageContent
from gateway.wire.acp.content import inline_text, to_part
from gateway.wire.fields import items, non_empty

Kind = Literal["text", "thought", "user"]
SUFFIXES: dict[Kind, str] = {"text": "", "thought": ":thought", "user": ":user"}
MODE_TEXT = "[MODE_UPDATE] "
"""Begins a chunk that is no text of the answer (`updates`)."""
NO_ID = object()
"""Equal to no id."""


class Messages:
    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix = prefix
        self._subagent = subagent
        self._open: tuple[Kind, str | None] | None = None
        """The message that is open at the client, by the agent's id."""
        self._open_text_id: object = NO_ID
        """The agent's id of the open message if it is one of text, to be compared fast; else equal to no id."""
        self._count = 0
        self._pieces: dict[tuple[Kind, str], list[str]] = {}
        """What was sent of each message that has an id."""
        self._ids: dict[tuple[Kind, str], tuple[int, str]] = {}
        """Message → the number of results before it, and its AG-UI id."""
        self._results = 0
        self._last_text: list[str] = []
        self._open_pieces = self._last_text
        self.has_content = False

    @property
    def last_text(self) -> str:
        """The newest message of text."""
        return "".join(self._last_text)

    def break_off(self) -> None:
        """Something else came between, or the run ended: the next chunk opens its message again."""
        self._open = None
        self._open_text_id = NO_ID
        for pieces in (self._last_text, self._open_pieces):
            if len(pieces) > 1:  # a text in pieces takes twelve times its size, and a session may be idle for long
                pieces[:] = ["".join(pieces)]

    def break_off_after_result(self) -> None:
        """A tool gave its result: the next chunk is a new message below it, even if the agent continues an old one."""
        self._results += 1
        self.break_off()

    # -- the fast path

    def continue_text(self, update: dict[str, Any]) -> TextMessageContent | None:
        """One more piece of the open text message. None: anything else, for `read_chunk`."""
        block = update.get("content")
        if self._open_text_id != update.get("messageId") or type(block) is not dict or block.get("type") != "text":
            return None
        text = block.get("text")
        if type(text) is not str or not text or text.startswith(MODE_TEXT):
            return None
        self._last_text.append(text)
        if self._open_pieces is not self._last_text:
            self._open_pieces.append(text)
        return TextMessageContent(text, None, self._subagent)

    def has_open_text(self, agent_id: object) -> bool:
        return self._open_text_id == agent_id

    def continue_texts(self, texts: list[str]) -> list[Event]:
        """Many more pieces of the open text message: `continue_text` for each."""
        texts = [text for text in texts if text]
        self._last_text += texts
        if self._open_pieces is not self._last_text:
            self._open_pieces += texts
        return [TextMessageContent(text, None, self._subagent) for text in texts]

    # -- any chunk

    def read_chunk(self, kind: Kind, update: dict[str, Any]) -> list[Event] | None:
        """None: content of an unknown type."""
        block = update.get("content")
        text = inline_text(block)
        if text is None:
            return self._show_media(block)
        return self.add(kind, non_empty(update.get("messageId")), text)

    def add(self, kind: Kind, agent_id: str | None, text: str, metadata: dict[str, Any] | None = None) -> list[Event]:
        if not text:
            return []
        message_id = None
        if self._open != (kind, agent_id):
            message_id = self._open_message(kind, agent_id)
        self.has_content = True
        self._open_pieces.append(text)
        if kind == "thought":
            return [ReasoningMessageContent(text, message_id, self._subagent, metadata)]
        if kind == "text" and self._open_pieces is not self._last_text:
            self._last_text.append(text)
        return [TextMessageContent(text, message_id, self._subagent, "user" if kind == "user" else None, metadata)]

    def _open_message(self, kind: Kind, agent_id: str | None) -> str:
        self._open = (kind, agent_id)
        self._open_text_id = agent_id if kind == "text" else NO_ID
        if kind == "text":
            self._last_text = []
        # A message without an id is never continued by its id, so its text need not be kept twice.
        unnamed = self._last_text if kind == "text" else []
        self._open_pieces = unnamed if agent_id is None else self._pieces.setdefault((kind, agent_id), [])
        return self._message_id(kind, agent_id)

    def read_whole(self, kind: Kind, update: dict[str, Any]) -> list[Event] | None:
        """Version 2's whole message. What is new of it is sent. Text that was sent otherwise cannot be taken back: then
        it is a new message that names the one it replaces. None: no id."""
        agent_id = non_empty(update.get("messageId"))
        if agent_id is None:
            return None
        if not isinstance(update.get("content"), list):
            return []
        blocks = items(update["content"])
        text = "".join(inline_text(block) or "" for block in blocks)
        events = [event for block in blocks if inline_text(block) is None for event in self._show_media(block) or ()]
        sent = "".join(self._pieces.get((kind, agent_id), ()))
        if text.startswith(sent):
            return events + self.add(kind, agent_id, text[len(sent) :])
        return events + self._replace(kind, agent_id, text)

    def _replace(self, kind: Kind, agent_id: str, text: str) -> list[Event]:
        if not text:
            return []
        before = self._message_id(kind, agent_id)
        self._pieces[kind, agent_id] = []
        self.break_off_after_result()
        return self.add(kind, agent_id, text, {"acp": {"replaces": before}})

    def _message_id(self, kind: Kind, agent_id: str | None) -> str:
        if agent_id is None:
            self._count += 1
            return f"{self._prefix}:m{self._count}{SUFFIXES[kind]}"
        results, known = self._ids.get((kind, agent_id), (None, None))
        if known is None or results != self._results:
            number = "" if known is None else f".{self._results}"
            known = f"{self._prefix}:{agent_id}{number}{SUFFIXES[kind]}"
            self._ids[kind, agent_id] = (self._results, known)
        return known

    def _show_media(self, block: Any) -> list[Event] | None:
        """An image or audio in the agent's answer: an AG-UI message cannot hold it, an activity can."""
        part = to_part(block)
        if part is None:
            return None
        self.has_content = True
        self._count += 1
        activity_id = f"{self._prefix}:content{self._count}"
        return [ActivitySnapshot(activity_id, "content", {"parts": [part]}, subagent=self._subagent)]
