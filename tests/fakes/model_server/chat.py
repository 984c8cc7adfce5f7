"""OpenAI Chat Completions: `POST /v1/chat/completions`, streaming and whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tests.fakes.model_server.conversation import (
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

CREATED = 1_790_000_000
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


def read(body: Json) -> Asked:
    messages = body.get("messages", [])
    words, images, results = _newest(messages)
    systems = [message for message in messages if message["role"] in ("system", "developer")]
    return Asked(
        words=words,
        results=results,
        images=images,
        tools=tuple(_tool(tool["function"]) for tool in body.get("tools") or () if "function" in tool),
        system="\n".join(text for message in systems for text in _texts(message)),
        shape=_shape(body.get("response_format") or {}),
        forced=_forced(body.get("tool_choice")),
        stream=bool(body.get("stream")),
    )


def _newest(messages: list[Json]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The user's last words and images, and the results of tools since."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] == "tool":
            results.insert(0, "".join(_texts(message)))
        elif message["role"] == "user" and (words := own_words(_texts(message))):
            return words, tuple(_images(message)), tuple(results)
    return "", (), tuple(results)


def _parts(message: Json) -> list[Json]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(message: Json) -> list[str]:
    return [part["text"] for part in _parts(message) if part["type"] == "text"]


def _images(message: Json) -> Iterator[str]:
    for part in _parts(message):
        if part["type"] == "image_url":
            yield kind_of(part["image_url"]["url"])


def kind_of(url: str) -> str:
    """The media type of a `data:` URL."""
    return url.removeprefix("data:").split(";")[0] if url.startswith("data:") else "url"


def _tool(function: Json) -> Tool:
    return Tool(function["name"], function.get("parameters") or {})


def _shape(wanted: Json) -> Json | None:
    match wanted:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
        case {"type": "json_object"}:
            return {"type": "object"}
        case _:
            return None


def _forced(choice: Any) -> str | None:
    return choice["function"]["name"] if isinstance(choice, dict) and "function" in choice else None


def stream(reply: Reply) -> Iterator[bytes]:
    yield _chunk(reply, {"role": "assistant", "content": ""})
    calls = 0
    for step in reply.answer.steps:
        for delta in _deltas(reply, step, calls):
            yield _chunk(reply, delta)
        calls += isinstance(step, Call)
    # Without `include_usage` some providers put the usage beside the last choice; no choices at all upset old clients.
    apart = bool((reply.options.get("stream_options") or {}).get("include_usage"))
    yield _chunk(reply, {}, _reason(reply), None if apart else _usage(reply))
    if apart:
        yield event(orjson.dumps({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)}))
    yield event(b"[DONE]")


def _deltas(reply: Reply, step: Step, index: int) -> Iterator[Json]:
    match step:
        case Think():
            yield from ({"reasoning_content": piece} for piece in step.pieces)
        case Say():
            yield from ({"content": piece} for piece in step.pieces)
        case Call():
            text = orjson.dumps(step.arguments).decode()
            half = len(text) // 2
            yield {"tool_calls": [{"index": index, **_call(reply, step, index, "")}]}
            for part in (text[:half], text[half:]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _chunk(reply: Reply, delta: Json, reason: str | None = None, usage: Json | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    told = {"usage": usage} if usage else {}
    return event(orjson.dumps({**_head(reply, "chat.completion.chunk"), "choices": [choice], **told}))


def whole(reply: Reply) -> Json:
    steps = reply.answer.steps
    calls = [step for step in steps if isinstance(step, Call)]
    message: Json = {"role": "assistant", "content": _joined(steps, Say) or None, "refusal": None}
    if thought := _joined(steps, Think):
        message["reasoning_content"] = thought
    if calls:
        texts = (orjson.dumps(call.arguments).decode() for call in calls)
        message["tool_calls"] = [
            _call(reply, call, index, text) for index, (call, text) in enumerate(zip(calls, texts, strict=True))
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(reply)}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def _joined(steps: tuple[Step, ...], kind: type[Say] | type[Think]) -> str:
    return "".join(piece for step in steps if isinstance(step, kind) for piece in step.pieces)


def _call(reply: Reply, step: Call, index: int, arguments: str) -> Json:
    function = {"name": step.tool.name, "arguments": arguments}
    return {"id": f"call_{reply.id}_{index}", "type": "function", "function": function}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.answer.calls else "stop"


def _head(reply: Reply, kind: str) -> Json:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": CREATED, "model": reply.model}


def _usage(reply: Reply) -> Json:
    tokens = reply.answer.tokens
    return {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": tokens,
        "total_tokens": reply.input_tokens + tokens,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def failure(status: int) -> Json:
    kind = ERRORS.get(status, "server_error")
    return {"error": {"message": f"the script wants status {status}", "type": kind, "param": None, "code": None}}


WIRE = Wire(read, stream, whole, failure)
