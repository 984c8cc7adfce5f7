"""Notices, compactions and messages between sessions: CUSTOM events."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, Raw
from tests.wire.acp.session_helper import read, reader, text


def compaction(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "compaction_update", "compactionId": "k", **fields}


def test_a_notice_is_sent_without_vendors_data() -> None:
    notice = {"sessionUpdate": "notice", "severity": "warning", "title": "Careful", "_meta": {"key": "sk"}}
    assert read(reader(), notice) == [Custom("acp.notice", {"severity": "warning", "title": "Careful"})]


def test_a_summary_in_pieces_is_whole_at_the_end() -> None:
    chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k"}
    events = read(
        reader(),
        compaction(status="in_progress"),
        {**chunk, "content": text("We ")},
        {**chunk, "content": text("talked.")},
        compaction(status="completed"),
    )
    assert [event.value for event in events if isinstance(event, Custom)] == [
        {"compactionId": "k", "status": "in_progress"},
        {"compactionId": "k", "delta": "We "},
        {"compactionId": "k", "delta": "talked."},
        {"compactionId": "k", "status": "completed", "summary": "We talked."},
    ]


def test_a_summary_may_come_whole() -> None:
    (event,) = read(reader(), compaction(status="failed", summary=[text("a"), text("b")], error="no room"))
    assert event == Custom(
        "acp.compaction", {"compactionId": "k", "status": "failed", "error": "no room", "summary": "ab"}
    )


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "notice", "severity": "info"},
        {"sessionUpdate": "compaction_update"},
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k"},
        {"sessionUpdate": "session_message", "content": []},
        {"sessionUpdate": "session_message_chunk", "messageId": "m"},
    ],
)
def test_what_makes_no_sense_is_handed_on(update: dict[str, Any]) -> None:
    assert read(reader(), update) == [Raw(update, "acp")]
