"""Gemini: `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

from collections.abc import Iterator

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

ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL_ERROR",
    503: "UNAVAILABLE",
}


def read(body: Json) -> Asked:
    words, images, results = _newest(body.get("contents", []))
    config = body.get("generationConfig") or {}
    return Asked(
        words=words,
        results=results,
        images=images,
        tools=tuple(_tools(body)),
        system="\n".join(_texts((body.get("systemInstruction") or {}).get("parts", []))),
        shape=config.get("responseJsonSchema") or config.get("responseSchema"),
        forced=_forced(body),
    )


def _newest(contents: list[Json]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The user's last words and images, and the results of tools since."""
    results: list[str] = []
    for content in reversed(contents):
        parts = content.get("parts") or []
        if content.get("role", "user") == "model":
            continue
        found = [_result(part["functionResponse"]) for part in parts if "functionResponse" in part]
        results[:0] = found
        if not found and (words := own_words(_texts(parts))):
            kinds = (part["inlineData"]["mimeType"] for part in parts if "inlineData" in part)
            return words, tuple(kind for kind in kinds if kind.startswith("image/")), tuple(results)
    return "", (), tuple(results)


def _result(answered: Json) -> str:
    given = answered.get("response") or {}
    return str(given.get("output") or orjson.dumps(given).decode())


def _texts(parts: list[Json]) -> list[str]:
    return [part["text"] for part in parts if "text" in part]


def _tools(body: Json) -> Iterator[Tool]:
    for group in body.get("tools") or ():
        for tool in group.get("functionDeclarations", ()):
            yield Tool(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})


def _forced(body: Json) -> str | None:
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    names = calling.get("allowedFunctionNames") or ()
    return names[0] if calling.get("mode") == "ANY" and names else None


def stream(reply: Reply) -> Iterator[bytes]:
    for chunk in chunks(reply):
        yield event(orjson.dumps(chunk))


def chunks(reply: Reply) -> Iterator[Json]:
    """Without `alt=sse` the stream is one JSON list of these."""
    parts = [part for index, step in enumerate(reply.answer.steps) for part in _parts(reply, index, step)]
    for part in parts:
        yield _chunk(reply, [part], None)
    yield _chunk(reply, [{"text": ""}], "STOP")


def _parts(reply: Reply, index: int, step: Step) -> Iterator[Json]:
    match step:
        case Think():
            # A real thought begins with its subject; agents cut it off there.
            yield {"text": f"**Considering**\n{''.join(step.pieces)}", "thought": True}
        case Say():
            yield from ({"text": piece} for piece in step.pieces)
        case Call():
            call = {"id": f"call_{reply.id}_{index}", "name": step.tool.name, "args": step.arguments}
            yield {"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="}


def whole(reply: Reply) -> Json:
    parts: list[Json] = []
    for index, step in enumerate(reply.answer.steps):
        found = list(_parts(reply, index, step))
        parts += [{"text": "".join(step.pieces)}] if isinstance(step, Say) else found
    return _chunk(reply, parts, "STOP")


def _chunk(reply: Reply, parts: list[Json], reason: str | None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    usage = {
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": reply.answer.tokens,
        "totalTokenCount": reply.input_tokens + reply.answer.tokens,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": reply.model,
        "responseId": reply.id,
    }


def failure(status: int) -> Json:
    name = ERRORS.get(status, "UNKNOWN")
    return {"error": {"code": status, "message": f"the script wants status {status}", "status": name}}


WIRE = Wire(read, stream, whole, failure)
