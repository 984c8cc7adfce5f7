"""What an agent says beside the conversation → CUSTOM events: notices, compactions, messages between sessions.

In: the updates of these kinds. Out: one event each, named `acp.…`; None for an update that lacks what makes sense of
it. Remembers only the summaries that come in pieces.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom
from gateway.wire.acp.content import inline
from gateway.wire.fields import items, non_empty, present, text

PARTIES = ("messageId", "senderSessionId", "recipientSessionId", "senderMessageId", "recipientMessageId")


class Notices:
    def __init__(self) -> None:
        self._summaries: dict[str, str] = {}

    def notice(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        told = present({key: text(update.get(key)) for key in ("severity", "title", "description")})
        return Custom("acp.notice", told, subagent) if "title" in told else None

    def compaction(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        name = non_empty(update.get("compactionId"))
        if name is None:
            return None
        if isinstance(update.get("summary"), list):
            self._summaries[name] = "".join(inline(block) or "" for block in items(update["summary"]))
        about = {"compactionId": name, "status": text(update.get("status")), "error": text(update.get("error"))}
        return Custom("acp.compaction", present(about | {"summary": self._summaries.get(name)}), subagent)

    def compaction_chunk(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        name, words = non_empty(update.get("compactionId")), inline(update.get("content"))
        if name is None or words is None:
            return None
        self._summaries[name] = self._summaries.get(name, "") + words
        return Custom("acp.compaction", {"compactionId": name, "delta": words}, subagent)

    def session_message(self, update: dict[str, Any]) -> Custom | None:
        told = present({key: text(update.get(key)) for key in PARTIES})
        words = "".join(inline(block) or "" for block in items(update.get("content")))
        return Custom("acp.session_message", told | {"text": words}) if "messageId" in told else None

    def session_message_chunk(self, update: dict[str, Any]) -> Custom | None:
        name, words = non_empty(update.get("messageId")), inline(update.get("content"))
        if name is None or words is None:
            return None
        return Custom("acp.session_message", {"messageId": name, "delta": words})
