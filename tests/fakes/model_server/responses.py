"""OpenAI Responses: `POST /v1/responses`, streaming and whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import orjson

from tests.fakes.model_server.chat import CREATED, failure, kind_of
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

OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output")


def read(body: Json) -> Asked:
    items = _items(body)
    words, images, results = _newest(items)
    found = [item for item in items if item.get("type") == "tool_search_output"]
    late = (tool for item in found for tool in item.get("tools") or ())
    return Asked(
        words=words,
        results=results,
        searched=_searched(items),
        images=images,
        tools=tuple(_tools([*(body.get("tools") or ()), *late], None)),
        system=str(body.get("instructions") or ""),
        shape=((body.get("text") or {}).get("format") or {}).get("schema"),
        forced=body["tool_choice"].get("name") if isinstance(body.get("tool_choice"), dict) else None,
        stream=bool(body.get("stream")),
    )


def _items(body: Json) -> list[Json]:
    given = body.get("input") or []
    return [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given


def _newest(items: list[Json]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The user's last words and images, and the results of tools since."""
    results: list[str] = []
    for item in reversed(items):
        if item.get("type") in OUTPUTS:
            results.insert(0, "".join(_texts(item.get("output") or [])))
        elif item.get("role") == "user" and (words := own_words(_texts(item["content"]))):
            images = (part for part in _parts(item["content"]) if part["type"] == "input_image")
            return words, tuple(kind_of(part["image_url"]) for part in images), tuple(results)
    return "", (), tuple(results)


def _searched(items: list[Json]) -> bool:
    """Since the user's last words."""
    for item in reversed(items):
        if item.get("type") == "tool_search_output":
            return True
        if item.get("role") == "user" and own_words(_texts(item["content"])):
            return False
    return False


def _parts(content: Any) -> list[Json]:
    return [{"type": "input_text", "text": content}] if isinstance(content, str) else list(content)


def _texts(content: Any) -> list[str]:
    return [part["text"] for part in _parts(content) if part["type"] in ("input_text", "output_text", "text")]


def _tools(given: Any, space: str | None) -> Iterator[Tool]:
    for tool in given:
        match tool:
            case {"type": "function", "name": str(name)}:
                yield Tool(name, tool.get("parameters") or {}, "function", space)
            case {"type": "custom", "name": str(name)}:
                yield Tool(name, {}, "free", space)
            case {"type": "tool_search"}:
                yield Tool("tool_search", tool.get("parameters") or {}, "search")
            case {"type": "namespace", "name": str(name), "tools": list(inner)}:
                yield from _tools(inner, name)


def stream(reply: Reply) -> Iterator[bytes]:
    numbers = count()

    def tell(kind: str, **fields: Any) -> bytes:
        return event(orjson.dumps({"type": kind, "sequence_number": next(numbers), **fields}), kind)

    begun = _response(reply, "in_progress", [])
    yield tell("response.created", response=begun)
    yield tell("response.in_progress", response=begun)
    for index, step in enumerate(reply.answer.steps):
        item = _item(reply, index, step)
        yield tell("response.output_item.added", output_index=index, item=_begun(item))
        for kind, fields in _inner(step):
            yield tell(kind, item_id=item["id"], output_index=index, **fields)
        yield tell("response.output_item.done", output_index=index, item=item)
    yield tell("response.completed", response=whole(reply))


def _inner(step: Step) -> Iterator[tuple[str, Json]]:
    """What stands between an item's beginning and its end."""
    match step:
        case Think():
            yield from _part("reasoning_summary", "summary_index", {"type": "summary_text", "text": ""}, step.pieces)
        case Say():
            empty: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield from _part("output", "content_index", empty, step.pieces)
        case Call(tool=Tool(kind="search")):
            return
        case Call():
            free = step.tool.kind == "free"
            head = "response.custom_tool_call_input" if free else "response.function_call_arguments"
            text = _argument(step)
            half = len(text) // 2
            yield from ((f"{head}.delta", {"delta": part}) for part in (text[:half], text[half:]))
            yield f"{head}.done", {("input" if free else "arguments"): text}


def _part(name: str, index: str, empty: Json, pieces: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
    outer = "content_part" if name == "output" else f"{name}_part"
    text = "".join(pieces)
    at = {index: 0}
    more: Json = {"logprobs": []} if name == "output" else {}
    yield f"response.{outer}.added", {**at, "part": empty}
    yield from ((f"response.{name}_text.delta", {**at, "delta": piece, **more}) for piece in pieces)
    yield f"response.{name}_text.done", {**at, "text": text, **more}
    yield f"response.{outer}.done", {**at, "part": {**empty, "text": text}}


def whole(reply: Reply) -> Json:
    items = [_item(reply, index, step) for index, step in enumerate(reply.answer.steps)]
    return _response(reply, "completed", items)


def _item(reply: Reply, index: int, step: Step) -> Json:
    own = f"{reply.id}_{index}"
    match step:
        case Think():
            summary = [{"type": "summary_text", "text": "".join(step.pieces)}]
            return {"type": "reasoning", "id": f"rs_{own}", "summary": summary, "encrypted_content": None}
        case Say():
            part = {"type": "output_text", "text": "".join(step.pieces), "annotations": [], "logprobs": []}
            head = {"type": "message", "id": f"msg_{own}", "role": "assistant", "status": "completed"}
            return {**head, "content": [part]}
        case Call():
            return {"id": f"fc_{own}", "call_id": f"call_{own}", "status": "completed", **_call(step)}


def _call(step: Call) -> Json:
    if step.tool.kind == "search":
        return {"type": "tool_search_call", "execution": "client", "arguments": step.arguments}
    kind, key = ("custom_tool_call", "input") if step.tool.kind == "free" else ("function_call", "arguments")
    space = {"namespace": step.tool.space} if step.tool.space else {}
    return {"type": kind, "name": step.tool.name, **space, key: _argument(step)}


def _argument(step: Call) -> str:
    return step.text if step.tool.kind == "free" else orjson.dumps(step.arguments).decode()


def _begun(item: Json) -> Json:
    """The item as it is announced: nothing in it yet."""
    empty = {"summary": [], "content": [], "arguments": "", "input": "", "status": "in_progress"}
    return item if item["type"] == "tool_search_call" else {key: empty.get(key, item[key]) for key in item}


def _response(reply: Reply, status: str, items: list[Json]) -> Json:
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": reply.model,
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(reply) if status == "completed" else None,
        "metadata": {},
    }


def _usage(reply: Reply) -> Json:
    tokens = reply.answer.tokens
    return {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + tokens,
    }


WIRE = Wire(read, stream, whole, failure)
