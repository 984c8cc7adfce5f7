"""The same question in four formats: what a test asks the scripted model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_server import anthropic, chat, gemini, responses
from tests.fakes.model_server.conversation import Wire
from tests.fakes.model_server.readers import Json, Made, read_anthropic, read_chat, read_gemini, read_responses

SHELL: Json = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}, "timeout": {"type": "integer"}},
    "required": ["command", "description"],
}
WRITE: Json = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["file_path", "content"],
}
TOOLS = {"Bash": SHELL, "write_file": WRITE}
PNG = "aGVsbG8="


@dataclass(frozen=True, slots=True)
class Format:
    """A wire format with a client's side of it."""

    wire: Wire
    paths: tuple[str, str]
    """Where to ask: for a stream, for a whole answer."""
    read: Callable[[Iterable[bytes]], Made]
    ask: Callable[..., Json]
    """(words, *results, tools=True, image=False) → the body of a request."""


def ask_anthropic(words: str, *results: str, tools: bool = True, image: bool = False) -> Json:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    parts: list[Json] = [{"type": "text", "text": words}, *([{"type": "image", "source": source}] if image else [])]
    messages: list[Json] = [{"role": "user", "content": parts}]
    for result in results:
        used = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
        messages += [
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": result}]},
        ]
    offered = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    return {"model": "m", "max_tokens": 9, "messages": messages, **({"tools": offered} if tools else {})}


def ask_chat(words: str, *results: str, tools: bool = True, image: bool = False) -> Json:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    parts: list[Json] = [{"type": "text", "text": words}, *([picture] if image else [])]
    messages: list[Json] = [{"role": "user", "content": parts}]
    for result in results:
        call = {"id": "t", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t", "content": result},
        ]
    offered = [{"type": "function", "function": {"name": name, "parameters": s}} for name, s in TOOLS.items()]
    return {"model": "m", "messages": messages, **({"tools": offered} if tools else {})}


def ask_responses(words: str, *results: str, tools: bool = True, image: bool = False) -> Json:
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
    parts: list[Json] = [{"type": "input_text", "text": words}, *([picture] if image else [])]
    items: list[Json] = [{"type": "message", "role": "user", "content": parts}]
    for result in results:
        items += [
            {"type": "function_call", "call_id": "t", "name": "Bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t", "output": result},
        ]
    offered = [{"type": "function", "name": name, "parameters": schema} for name, schema in TOOLS.items()]
    return {"model": "m", "input": items, **({"tools": offered} if tools else {})}


def ask_gemini(words: str, *results: str, tools: bool = True, image: bool = False) -> Json:
    picture = {"inlineData": {"mimeType": "image/png", "data": PNG}}
    parts: list[Json] = [{"text": words}, *([picture] if image else [])]
    contents: list[Json] = [{"role": "user", "parts": parts}]
    for result in results:
        answered = {"name": "Bash", "response": {"output": result}}
        contents += [
            {"role": "model", "parts": [{"functionCall": {"name": "Bash", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": answered}]},
        ]
    offered: list[Any] = [{"name": name, "parametersJsonSchema": schema} for name, schema in TOOLS.items()]
    return {"contents": contents, **({"tools": [{"functionDeclarations": offered}]} if tools else {})}


GEMINI_PATHS = ("/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:generateContent")

FORMATS = {
    "anthropic": Format(anthropic.WIRE, ("/v1/messages",) * 2, read_anthropic, ask_anthropic),
    "chat": Format(chat.WIRE, ("/v1/chat/completions",) * 2, read_chat, ask_chat),
    "responses": Format(responses.WIRE, ("/v1/responses",) * 2, read_responses, ask_responses),
    "gemini": Format(gemini.WIRE, GEMINI_PATHS, read_gemini, ask_gemini),
}
