"""The scripted model server as an ASGI app.

In: requests of four providers' clients. Out: what `script` decides, in the format of the path; and at `GET /requests`
everything that was asked, for assertions (`DELETE` forgets it). It calls nobody and keeps nothing on disk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import uuid4

import anyio
import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fakes.model_server import anthropic, chat, gemini, responses
from tests.fakes.model_server.conversation import MODELS, Answer, Failure, Json, Reply, Wire
from tests.fakes.model_server.script import answer

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(slots=True)
class Seen:
    """Every request since the beginning, or since somebody asked to forget."""

    requests: list[Json] = field(default_factory=list)

    async def note(self, request: Request) -> Json:
        body = _read(await request.body())
        told = {"method": request.method, "path": request.url.path, "headers": dict(request.headers), "body": body}
        self.requests.append({"number": len(self.requests), **told})
        return body if isinstance(body, dict) else {}

    async def tell(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.requests.clear()
        return Response(orjson.dumps(self.requests), media_type="application/json")


def _read(data: bytes) -> Any:
    try:
        return orjson.loads(data or b"{}")
    except orjson.JSONDecodeError:
        return data.decode(errors="replace")


def create_app() -> Starlette:
    seen = Seen()
    routes = [Route("/requests", seen.tell, methods=["GET", "DELETE"])]
    for prefix in ("/v1", ""):
        routes += [
            _post(f"{prefix}/messages", _endpoint(seen, anthropic.WIRE)),
            _post(f"{prefix}/messages/count_tokens", _counting(seen, "input_tokens")),
            _post(f"{prefix}/responses", _endpoint(seen, responses.WIRE)),
            _post(f"{prefix}/chat/completions", _endpoint(seen, chat.WIRE)),
            Route(f"{prefix}/models", _models(seen)),
            Route(f"{prefix}/models/{{model:path}}", _model(seen)),
        ]
    routes += [_post("/v1beta/models/{model}:{verb}", _gemini(seen)), Route("/v1beta/models", _models(seen))]
    return Starlette(routes=routes, exception_handlers={HTTPException: _elsewhere(seen)})


def _post(path: str, endpoint: Endpoint) -> Route:
    return Route(path, endpoint, methods=["POST"])


def _endpoint(seen: Seen, wire: Wire) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = await seen.note(request)
        return _respond(wire, body, str(body.get("model", MODELS[0])), stream=wire.read(body).stream)

    return endpoint


def _gemini(seen: Seen) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        body = await seen.note(request)
        model, verb = request.path_params["model"], request.path_params["verb"]
        if verb == "countTokens":
            return JSONResponse({"totalTokens": _tokens(body)})
        listed = verb == "streamGenerateContent" and request.query_params.get("alt") != "sse"
        wire = Wire(gemini.read, gemini.stream, _chunk_list, gemini.failure) if listed else gemini.WIRE
        return _respond(wire, body, model, stream=verb == "streamGenerateContent" and not listed)

    return endpoint


def _chunk_list(reply: Reply) -> list[Json]:
    return list(gemini.chunks(reply))


def _respond(wire: Wire, body: Json, model: str, *, stream: bool) -> Response:
    decided = answer(wire.read(body))
    if isinstance(decided, Failure):
        return JSONResponse(wire.failure(decided.status), decided.status)
    reply = Reply(uuid4().hex[:16], model, decided, _tokens(body), body)
    if stream:
        return StreamingResponse(_paced(wire.stream(reply), decided), media_type="text/event-stream")
    return Response(orjson.dumps(wire.whole(reply)), media_type="application/json")


async def _paced(frames: Iterator[bytes], decided: Answer) -> AsyncIterator[bytes]:
    for frame in frames:
        await anyio.sleep(decided.pause)
        yield frame


def _tokens(body: Json) -> int:
    """Four bytes are about a token."""
    return len(orjson.dumps(body)) // 4 + 1


def _counting(seen: Seen, key: str) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return JSONResponse({key: _tokens(await seen.note(request))})

    return endpoint


def _models(seen: Seen) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        await seen.note(request)
        models = [_about(name) for name in MODELS]
        ends = {"has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
        return JSONResponse({"object": "list", "data": models, "models": models, **ends})

    return endpoint


def _model(seen: Seen) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        await seen.note(request)
        return JSONResponse(_about(request.path_params["model"]))

    return endpoint


def _about(name: str) -> Json:
    """One model as all providers' clients want it: the keys of one do not disturb another."""
    openai = {"id": name, "object": "model", "created": chat.CREATED, "owned_by": "script"}
    claude = {"type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return {**openai, **claude, "name": f"models/{name}", "context_length": 200_000}


def _elsewhere(seen: Seen) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What an agent looks for and does not find is noted too."""

    async def endpoint(request: Request, exc: Exception) -> Response:
        status = exc.status_code if isinstance(exc, HTTPException) else 500
        await seen.note(request)
        return JSONResponse(chat.failure(status), status)

    return endpoint
