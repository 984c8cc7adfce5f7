"""A run's input → the blocks of one `session/prompt`.

In: the turn, the messages that the session has not seen, what the agent takes. Out: blocks, and a warning for each
part that had to be left out. Nothing is left out silently. The agent's own words are never told back to it, but for
`retell`, when the session that knew them is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gateway.events import Warning
from gateway.turn import Turn, text_of
from gateway.wire.acp.content import Block, fenced, resource_block, text_block, to_block
from gateway.wire.fields import json_text
from gateway.wire.prompt_content import PromptContent

RETOLD_CHARS = 40_000
"""Of an earlier conversation, at most so much is told: its end, which matters most."""
TOLD = ("user", "system", "developer", "tool")
"""Roles that speak to the agent. The others are its own words, or shown beside the conversation."""


def new_messages(turn: Turn, known_ids: Collection[str]) -> list[dict[str, Any]]:
    """What is to be told now. `known_ids`: messages that the session was given, and tool calls that it answered
    itself: their results come back with every input, and are news to nobody."""
    return [
        message
        for message in turn.messages
        if message["role"] in TOLD and message["id"] not in known_ids and message.get("toolCallId") not in known_ids
    ]


def prompt_blocks(
    turn: Turn, accepted: PromptContent, *, new_messages: Sequence[dict[str, Any]], retell: bool
) -> tuple[list[Block], list[Warning]]:
    """`retell`: only what stands from the newest user message on is the prompt; all before it is told as a story."""
    now = _latest(new_messages) if retell else list(new_messages)
    blocks: list[Block] = []
    warned: list[Warning] = []
    if retell and (story := _story(turn, now)):
        blocks.append(text_block(story))
    for message in now:
        _tell(message, turn, accepted, blocks, warned)
    blocks += _surroundings(turn, accepted)
    return blocks, warned


def _latest(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    return list(messages[users[-1] :]) if users else list(messages)


def _tell(
    message: dict[str, Any], turn: Turn, accepted: PromptContent, blocks: list[Block], warned: list[Warning]
) -> None:
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if (opening := _opening(message, turn)) is not None:
        blocks.append(text_block(opening))
    for number, part in enumerate(parts):
        if part.get("type") == "text" and not part.get("text"):
            continue
        block = to_block(part, accepted, f"agui://message/{message['id']}/{number}")
        if block is None:
            warned.append(_dropped(part, _pointer(turn, message, number), accepted))
        else:
            blocks.append(block)


def _opening(message: dict[str, Any], turn: Turn) -> str | None:
    """A prompt has one voice, the user's: whoever else speaks is introduced."""
    match message["role"]:
        case "user":
            return None
        case "tool":
            failed = f" It failed: {message['error']}" if message.get("error") else ""
            return f"Result of the tool {_tool_name(turn, message['toolCallId'])}:{failed}"
        case _:
            return "Instructions of the application:"


def _tool_name(turn: Turn, call_id: str) -> str:
    for message in turn.messages:
        for call in message.get("toolCalls") or ():
            if call["id"] == call_id:
                return f"{call['function']['name']} (call {call_id})"
    return f"call {call_id}"


def _pointer(turn: Turn, message: dict[str, Any], number: int) -> str:
    at = next((index for index, known in enumerate(turn.messages) if known is message), None)
    return "" if at is None else f"/messages/{at}/content/{number}"


def _dropped(part: dict[str, Any], pointer: str, accepted: PromptContent) -> Warning:
    kind = part.get("type")
    source = part.get("source", {}).get("type")
    need = {"image": "image", "audio": "audio", "document": "embeddedContext"}.get(str(kind))
    if source == "file":
        why = "ACP cannot carry a provider's handle to a file"
    elif need is None:
        why = f"ACP cannot carry a part of this kind ({kind})"
    else:
        why = f"{accepted.agent_name or 'the agent'} does not offer promptCapabilities.{need}"
    return Warning("CONTENT_DROPPED", f"{pointer}: the {kind} was left out: {why}", {"pointer": pointer})


def _surroundings(turn: Turn, accepted: PromptContent) -> list[Block]:
    """The application's context and state: embedded where the agent takes that, else as text at the end."""
    told = [
        (f"agui://context/{number}", "text/plain", f"{entry['description']}\n\n{entry['value']}".strip())
        for number, entry in enumerate(turn.context)
    ]
    if turn.state not in (None, {}, [], ""):
        told.append(("agui://state", "application/json", json_text(turn.state)))
    if accepted.embedded_context:
        return [resource_block(uri, mime, {"text": words}) for uri, mime, words in told]
    if not told:
        return []
    return [text_block("Context of the application:\n\n" + "\n".join(fenced(words, uri) for uri, _, words in told))]


def _story(turn: Turn, now: list[dict[str, Any]]) -> str:
    skip = {id(message) for message in now}
    lines = [_line(message) for message in turn.messages if id(message) not in skip]
    told = "\n\n".join(line for line in lines if line)
    if len(told) > RETOLD_CHARS:
        told = f"[the beginning, {len(told) - RETOLD_CHARS} characters, is left out]\n…{told[-RETOLD_CHARS:]}"
    return f"The conversation so far:\n\n{told}\n\nIt goes on:" if told else ""


def _line(message: dict[str, Any]) -> str:
    words = text_of(message.get("content") or "") if message["role"] not in ("activity", "reasoning") else ""
    calls = [f"(called {c['function']['name']} {c['function']['arguments']})" for c in message.get("toolCalls") or ()]
    said = "\n".join([words, *calls] if words else calls)
    return f"{message['role']}: {said}" if said else ""
