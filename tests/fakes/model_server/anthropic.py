"""Anthropic Messages: `POST /v1/messages`, streaming and whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tests.fakes.model_server.conversation import (
    Answer,
    Asked,
    Call,
    Json,
    Reply,
    Say,
    Step,
    Think,
    Tool,
    Wire,
    event,
    own_words,
)

SIGNATURE = "c2NyaXB0ZWQ="
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Json) -> Asked:
    words, images, results = _newest(body.get("messages", []))
    return Asked(
        words=words,
        results=results,
        images=images,
        tools=tuple(
            Tool(tool["name"], tool["input_schema"]) for tool in body.get("tools", ()) if "input_schema" in tool
        ),
        system="\n".join(_texts(body.get("system") or [])),
        shape=_shape(body),
        forced=(body.get("tool_choice") or {}).get("name"),
        stream=bool(body.get("stream")),
    )


def _newest(messages: list[Json]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The user's last words and images, and the results of tools since."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        blocks = _blocks(message["content"])
        found = ["".join(_texts(block.get("content") or [])) for block in blocks if block["type"] == "tool_result"]
        results[:0] = found
        if not found and (words := own_words(_texts(blocks))):
            images = (block["source"] for block in blocks if block["type"] == "image")
            return words, tuple(source.get("media_type", "url") for source in images), tuple(results)
    return "", (), tuple(results)


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(content: str | list[Json]) -> list[str]:
    return [block["text"] for block in _blocks(content) if block.get("type") == "text"]


def _shape(body: Json) -> Json | None:
    wanted = body.get("output_format") or (body.get("output_config") or {}).get("format") or {}
    return wanted.get("schema")


def stream(reply: Reply) -> Iterator[bytes]:
    yield _event("message_start", message=_message(reply, [], None, 1))
    for index, step in enumerate(reply.answer.steps):
        yield _event("content_block_start", index=index, content_block=_empty(reply, index, step))
        for delta in _deltas(step):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    reason = {"stop_reason": _reason(reply.answer), "stop_sequence": None}
    yield _event("message_delta", delta=reason, usage={"output_tokens": reply.answer.tokens})
    yield _event("message_stop")


def _event(kind: str, **fields: Any) -> bytes:
    return event(orjson.dumps({"type": kind, **fields}), kind)


def _empty(reply: Reply, index: int, step: Step) -> Json:
    match step:
        case Think():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Say():
            return {"type": "text", "text": ""}
        case Call():
            return {"type": "tool_use", "id": f"toolu_{reply.id}_{index}", "name": step.tool.name, "input": {}}


def _deltas(step: Step) -> Iterator[Json]:
    match step:
        case Think():
            yield from ({"type": "thinking_delta", "thinking": piece} for piece in step.pieces)
            yield {"type": "signature_delta", "signature": SIGNATURE}
        case Say():
            yield from ({"type": "text_delta", "text": piece} for piece in step.pieces)
        case Call():
            text = orjson.dumps(step.arguments).decode()
            half = len(text) // 2
            yield from ({"type": "input_json_delta", "partial_json": part} for part in ("", text[:half], text[half:]))


def whole(reply: Reply) -> Json:
    blocks = [_block(reply, index, step) for index, step in enumerate(reply.answer.steps)]
    return _message(reply, blocks, _reason(reply.answer), reply.answer.tokens)


def _block(reply: Reply, index: int, step: Step) -> Json:
    empty = _empty(reply, index, step)
    match step:
        case Think():
            return empty | {"thinking": "".join(step.pieces), "signature": SIGNATURE}
        case Say():
            return empty | {"text": "".join(step.pieces)}
        case Call():
            return empty | {"input": step.arguments}


def _message(reply: Reply, blocks: list[Json], reason: str | None, tokens: int) -> Json:
    usage = {
        "input_tokens": reply.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens,
    }
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": blocks,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def _reason(answer: Answer) -> str:
    return "tool_use" if answer.calls else "end_turn"


def failure(status: int) -> Json:
    kind = ERRORS.get(status, "api_error")
    error = {"type": kind, "message": f"the script wants status {status}"}
    return {"type": "error", "error": error, "request_id": "req_scripted"}


WIRE = Wire(read, stream, whole, failure)
