"""A reader in a turn, and short builders of updates, shared by the tests of `wire.acp`."""

from __future__ import annotations

from typing import Any

from gateway.events import Event
from gateway.wire.acp.session import SessionReader


def reader(turn: str = "t1", **options: Any) -> SessionReader:
    made = SessionReader(**options)
    made.begin_turn(turn)
    return made


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def printed(content: str) -> dict[str, Any]:
    return {"type": "content", "content": text(content)}


def message(content: str, key: str | None = None, kind: str = "agent_message_chunk") -> dict[str, Any]:
    update = {"sessionUpdate": kind, "content": text(content)}
    return update if key is None else {**update, "messageId": key}


def whole(key: str, *content: str, kind: str = "agent_message") -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": key, "content": [text(part) for part in content]}


def call(key: str = "c", **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": key, "title": "Run it", "kind": "execute", **fields}


def change(key: str = "c", **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": key, **fields}


def read(session: SessionReader, *updates: dict[str, Any], session_id: str | None = None) -> list[Event]:
    return [event for update in updates for event in session.read(update, session_id)]
