"""`GET /schemas/agent.json`: the JSON Schema of an agent's file, for editors. It has no secrets and never changes."""

from __future__ import annotations

from functools import cache

from starlette.requests import Request
from starlette.responses import Response

from gateway.capabilities.merge import etag
from gateway.catalog.schema import agent_schema
from gateway.jsonio import dumps


@cache
def _body() -> bytes:
    return dumps(agent_schema())


async def agent(request: Request) -> Response:
    headers = {"etag": etag(_body()), "cache-control": "max-age=3600"}
    return Response(_body(), headers=headers, media_type="application/schema+json")
