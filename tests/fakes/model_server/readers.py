"""Strict readers of the four streams, written from the providers' documentation and sharing nothing with the writers.

In: the frames of one stream. Out: what a client would make of them. Any frame that a client could stumble over fails an
assertion here: an index that skips, a part that is not closed, a delta of the wrong kind, an end that comes twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(slots=True)
class Made:
    """What the model said."""

    thought: str = ""
    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    reason: str | None = None
    tokens: tuple[int, int] = (0, 0)


def events(frames: Iterable[bytes]) -> Iterator[tuple[str | None, str]]:
    """(event, data) of server-sent events, each frame being whole events."""
    for frame in frames:
        assert frame.endswith(b"\n\n")
        for block in frame.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            assert set(fields) <= {"event", "data"}
            yield fields.get("event"), fields["data"]


def read_anthropic(frames: Iterable[bytes]) -> Made:
    made, blocks, open_block = Made(), 0, None
    told = [(name, json.loads(data)) for name, data in events(frames)]
    assert [name for name, _ in told] == [data["type"] for _, data in told]
    assert told[0][0] == "message_start" and told[0][1]["message"]["content"] == []
    assert [name for name, _ in told][-2:] == ["message_delta", "message_stop"]
    for name, data in told[1:-2]:
        assert data["index"] == blocks
        match name:
            case "content_block_start":
                assert open_block is None
                open_block = data["content_block"] | {"partial": ""}
            case "content_block_delta":
                assert open_block is not None
                _anthropic_delta(made, open_block, data["delta"])
            case "content_block_stop":
                assert open_block is not None
                if open_block["type"] == "tool_use":
                    made.calls.append((open_block["name"], json.loads(open_block["partial"])))
                assert open_block["type"] != "thinking" or open_block["signature"]
                blocks, open_block = blocks + 1, None
            case other:
                raise AssertionError(other)
    assert open_block is None
    made.reason = told[-2][1]["delta"]["stop_reason"]
    made.tokens = (told[0][1]["message"]["usage"]["input_tokens"], told[-2][1]["usage"]["output_tokens"])
    return made


def _anthropic_delta(made: Made, block: Json, delta: Json) -> None:
    match block["type"], delta:
        case "thinking", {"type": "thinking_delta", "thinking": str(piece)}:
            made.thought += piece
        case "thinking", {"type": "signature_delta", "signature": str(signature)}:
            block["signature"] = signature
        case "text", {"type": "text_delta", "text": str(piece)}:
            made.text += piece
        case "tool_use", {"type": "input_json_delta", "partial_json": str(piece)}:
            block["partial"] += piece
        case other:
            raise AssertionError(other)


def read_chat(frames: Iterable[bytes]) -> Made:
    made = Made()
    calls: list[tuple[str, str]] = []
    told = list(events(frames))
    assert told[-1] == (None, "[DONE]")
    chunks = [json.loads(data) for _, data in told[:-1]]
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    for chunk in chunks:
        if chunk.get("usage"):
            made.tokens = (chunk["usage"]["prompt_tokens"], chunk["usage"]["completion_tokens"])
        for choice in chunk["choices"]:
            assert made.reason is None, "nothing comes after the end"
            made.thought += choice["delta"].get("reasoning_content") or ""
            made.text += choice["delta"].get("content") or ""
            _chat_calls(calls, choice["delta"].get("tool_calls", []))
            made.reason = choice["finish_reason"]
    made.calls = [(name, json.loads(arguments)) for name, arguments in calls]
    return made


def _chat_calls(calls: list[tuple[str, str]], deltas: list[Json]) -> None:
    for delta in deltas:
        if "id" in delta:
            assert delta["index"] == len(calls) and delta["type"] == "function"
            calls.append((delta["function"]["name"], ""))
        name, so_far = calls[delta["index"]]
        calls[delta["index"]] = (name, so_far + delta["function"]["arguments"])


def read_responses(frames: Iterable[bytes]) -> Made:
    told = [(name, json.loads(data)) for name, data in events(frames)]
    assert [name for name, _ in told] == [data["type"] for _, data in told]
    assert [data["sequence_number"] for _, data in told] == list(range(len(told)))
    names = [name for name, _ in told]
    assert names[:2] == ["response.created", "response.in_progress"] and names[-1] == "response.completed"
    items: list[Json] = []
    pieces = ""
    for name, data in told[2:-1]:
        assert name is not None and data["output_index"] == len(items)
        if name.endswith(".delta"):
            pieces += data["delta"]
        elif name == "response.output_item.done":
            assert pieces == _content(data["item"]), "the deltas add up to the item"
            items.append(data["item"])
            pieces = ""
        else:
            assert name.endswith((".added", ".done"))
    response = told[-1][1]["response"]
    assert response["output"] == items
    return read_whole_response(response)


def _content(item: Json) -> str:
    match item["type"]:
        case "reasoning":
            return "".join(part["text"] for part in item["summary"])
        case "message":
            return "".join(part["text"] for part in item["content"])
        case "function_call":
            return str(item["arguments"])
        case "custom_tool_call":
            return str(item["input"])
        case _:
            return ""


def read_whole_response(response: Json) -> Made:
    made = Made(reason=response["status"])
    made.tokens = (response["usage"]["input_tokens"], response["usage"]["output_tokens"])
    assert sum(made.tokens) == response["usage"]["total_tokens"]
    for item in response["output"]:
        match item["type"]:
            case "reasoning":
                made.thought += _content(item)
            case "message":
                made.text += _content(item)
            case "function_call":
                made.calls.append((item["name"], json.loads(item["arguments"])))
            case "custom_tool_call":
                made.calls.append((item["name"], item["input"]))
            case other:
                raise AssertionError(other)
    return made


def read_gemini(frames: Iterable[bytes]) -> Made:
    return read_gemini_chunks([json.loads(data) for _, data in events(frames)])


def read_gemini_chunks(chunks: list[Json]) -> Made:
    made = Made()
    assert len({chunk["responseId"] for chunk in chunks}) == 1
    for chunk in chunks:
        usage = chunk["usageMetadata"]
        made.tokens = (usage["promptTokenCount"], usage["candidatesTokenCount"])
        assert sum(made.tokens) == usage["totalTokenCount"]
        [candidate] = chunk["candidates"]
        assert made.reason is None and candidate["content"]["role"] == "model"
        for part in candidate["content"]["parts"]:
            if "functionCall" in part:
                made.calls.append((part["functionCall"]["name"], part["functionCall"]["args"]))
            elif part.get("thought"):
                made.thought += part["text"].removeprefix("**Considering**\n")
            else:
                made.text += part["text"]
        made.reason = candidate.get("finishReason")
    return made
