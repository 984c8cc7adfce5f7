"""A run's input → the content blocks of one prompt, in ACP's form.

In: the turn, the messages that the session has not seen, and the content that the agent takes. Out: blocks, and a
warning for each part that was left out. Never: the agent's own messages, but for `retell`, when the session that knew
them is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gateway.events import Warning
from gateway.json_patch import pointer
from gateway.turn import Turn, answered_call_of, text_of, tool_calls_of
from gateway.wire.acp.content import Block, fence_text, resource_block, text_block, to_block
from gateway.wire.fields import json_text
from gateway.wire.prompt_content import PromptContent

RETOLD_MAX_CHARS = 40_000
"""Characters of an earlier conversation that are sent: its end, which matters most."""
INPUT_ROLES = ("user", "system", "developer", "tool")
"""Roles of messages for the agent. The others are its own messages, or shown beside the conversation."""


def new_messages(turn: Turn, known_ids: Collection[str]) -> list[dict[str, Any]]:
    """The messages to send. `known_ids`: messages that the session has, and tool calls that it answered itself, whose
    results come back with every input."""
    return [
        message
        for message in turn.messages
        if message["role"] in INPUT_ROLES
        and message["id"] not in known_ids
        and answered_call_of(message) not in known_ids
    ]


def prompt_blocks(
    turn: Turn, accepted: PromptContent, *, new_messages: Sequence[dict[str, Any]], retell: bool
) -> tuple[list[Block], list[Warning]]:
    """`retell`: the prompt begins with the newest user message, and the conversation before it is one text."""
    messages = _from_last_user_message(new_messages) if retell else list(new_messages)
    blocks: list[Block] = []
    warnings: list[Warning] = []
    if retell and (history := _history_text(turn, messages)):
        blocks.append(text_block(history))
    for message in messages:
        _add_message(message, turn, accepted, blocks, warnings)
    blocks += _context_blocks(turn, accepted)
    return blocks, warnings


def _from_last_user_message(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    return list(messages[users[-1] :]) if users else list(messages)


def _add_message(
    message: dict[str, Any], turn: Turn, accepted: PromptContent, blocks: list[Block], warnings: list[Warning]
) -> None:
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if (introduction := _introduction(message, turn)) is not None:
        blocks.append(text_block(introduction))
    for number, part in enumerate(parts):
        if part.get("type") == "text" and not part.get("text"):
            continue
        block = to_block(part, accepted, f"agui://message/{message['id']}/{number}")
        if block is None:
            warnings.append(_dropped_warning(part, _pointer(turn, message, number), accepted))
        else:
            blocks.append(block)


def _introduction(message: dict[str, Any], turn: Turn) -> str | None:
    """A prompt is the user's; a message of another role is introduced."""
    match message["role"]:
        case "user":
            return None
        case "tool":
            error = f" It failed: {message['error']}" if message.get("error") else ""
            return f"Result of the tool {_tool_name(turn, message['toolCallId'])}:{error}"
        case _:
            return "Instructions of the application:"


def _tool_name(turn: Turn, call_id: str) -> str:
    for message in turn.messages:
        for call in tool_calls_of(message):
            if call["id"] == call_id:
                return f"{call['function']['name']} (call {call_id})"
    return f"call {call_id}"


def _pointer(turn: Turn, message: dict[str, Any], number: int) -> str:
    index = next((index for index, known in enumerate(turn.messages) if known is message), None)
    return "" if index is None else pointer(("messages", index, "content", number))


def _dropped_warning(part: dict[str, Any], pointer: str, accepted: PromptContent) -> Warning:
    kind = part.get("type")
    source = part.get("source", {}).get("type")
    need = {"image": "image", "audio": "audio", "document": "embeddedContext"}.get(str(kind))
    agent = accepted.agent_name or "the agent"
    if source == "file":
        reason = "ACP cannot carry a provider's handle to a file"
    elif kind == "document" and accepted.embedded_context:
        reason = f"{agent} is not known to pass the bytes of a file to its model; a file of text would reach it"
    elif need is None:
        reason = f"ACP cannot carry a part of this kind ({kind})"
    else:
        reason = f"{agent} does not offer promptCapabilities.{need}"
    return Warning("CONTENT_DROPPED", f"{pointer}: the {kind} was left out: {reason}", {"pointer": pointer})


def _context_blocks(turn: Turn, accepted: PromptContent) -> list[Block]:
    """The application's context and state: embedded if the agent takes that, else as text at the end."""
    documents = [
        (f"agui://context/{number}", "text/plain", f"{entry['description']}\n\n{entry['value']}".strip())
        for number, entry in enumerate(turn.context)
    ]
    if turn.state not in (None, {}, [], ""):
        documents.append(("agui://state", "application/json", json_text(turn.state)))
    if accepted.embedded_context:
        return [resource_block(uri, mime, {"text": content}) for uri, mime, content in documents]
    if not documents:
        return []
    texts = "\n".join(fence_text(content, uri) for uri, _, content in documents)
    return [text_block(f"Context of the application:\n\n{texts}")]


def _history_text(turn: Turn, prompt: list[dict[str, Any]]) -> str:
    in_prompt = {id(message) for message in prompt}
    lines = [_line(message) for message in turn.messages if id(message) not in in_prompt]
    history = "\n\n".join(line for line in lines if line)
    if len(history) > RETOLD_MAX_CHARS:
        dropped = len(history) - RETOLD_MAX_CHARS
        history = f"[the beginning, {dropped} characters, is left out]\n…{history[-RETOLD_MAX_CHARS:]}"
    return f"The conversation so far:\n\n{history}\n\nIt goes on:" if history else ""


def _line(message: dict[str, Any]) -> str:
    content = text_of(message.get("content") or "") if message["role"] not in ("activity", "reasoning") else ""
    functions = [call["function"] for call in tool_calls_of(message)]
    calls = [f"(called {function['name']} {function['arguments']})" for function in functions]
    text = "\n".join([content, *calls] if content else calls)
    return f"{message['role']}: {text}" if text else ""
