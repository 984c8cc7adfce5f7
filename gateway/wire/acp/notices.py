"""Updates beside the conversation → CUSTOM events: notices, compactions, messages between sessions.

In: the updates of these kinds. Out: one event each, named `acp.…`; None for an update that lacks a field it needs.
Summaries that come in pieces are the only state.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom
from gateway.wire.acp.content import inline_text
from gateway.wire.fields import items, non_empty, present, text

MESSAGE_FIELDS = ("messageId", "senderSessionId", "recipientSessionId", "senderMessageId", "recipientMessageId")


class Notices:
    def __init__(self) -> None:
        self._summaries: dict[str, str] = {}

    def notice(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        fields = present({key: text(update.get(key)) for key in ("severity", "title", "description")})
        return Custom("acp.notice", fields, subagent) if "title" in fields else None

    def compaction(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        compaction_id = non_empty(update.get("compactionId"))
        if compaction_id is None:
            return None
        if isinstance(update.get("summary"), list):
            self._summaries[compaction_id] = "".join(inline_text(block) or "" for block in items(update["summary"]))
        fields = {
            "compactionId": compaction_id,
            "status": text(update.get("status")),
            "error": text(update.get("error")),
            "summary": self._summaries.get(compaction_id),
        }
        return Custom("acp.compaction", present(fields), subagent)

    def compaction_chunk(self, update: dict[str, Any], subagent: str | None) -> Custom | None:
        compaction_id = non_empty(update.get("compactionId"))
        delta = inline_text(update.get("content"))
        if compaction_id is None or delta is None:
            return None
        self._summaries[compaction_id] = self._summaries.get(compaction_id, "") + delta
        return Custom("acp.compaction", {"compactionId": compaction_id, "delta": delta}, subagent)

    def session_message(self, update: dict[str, Any]) -> Custom | None:
        fields = present({key: text(update.get(key)) for key in MESSAGE_FIELDS})
        content = "".join(inline_text(block) or "" for block in items(update.get("content")))
        return Custom("acp.session_message", fields | {"text": content}) if "messageId" in fields else None

    def session_message_chunk(self, update: dict[str, Any]) -> Custom | None:
        message_id = non_empty(update.get("messageId"))
        delta = inline_text(update.get("content"))
        if message_id is None or delta is None:
            return None
        return Custom("acp.session_message", {"messageId": message_id, "delta": delta})
