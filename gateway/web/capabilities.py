"""`GET /agents/{agent}/capabilities`: what this agent can do, now."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.agui import legacy
from gateway.capabilities.merge import etag, to_json
from gateway.errors import BadRequest
from gateway.web.house import Current, House

VIEWS = ("agui",)


async def show(request: Request) -> Response:
    house: House = request.app.state.house
    current = await house.snapshots.current(house.agents[request.path_params["agent"]])
    query = request.query_params
    if not query:
        return _answer(request, current.body, current.etag)
    if query.get("view", "agui") not in VIEWS:
        raise BadRequest(f"there is no view {query['view']!r}. Known: {', '.join(VIEWS)}.", code="UNKNOWN_VIEW")
    if query.get("explain", "0") not in ("", "0", "false"):
        return _explained(current)
    if query.get("protocol") == "0":
        body = to_json(legacy.capabilities(current.snapshot.tree()))
        return _answer(request, body, etag(body))
    return _answer(request, current.body, current.etag)


def _answer(request: Request, body: bytes, tag: str) -> Response:
    headers = {"etag": tag, "cache-control": "no-store"}
    asked = request.headers.get("if-none-match")
    if asked is not None and (asked == "*" or tag in [part.strip().removeprefix("W/") for part in asked.split(",")]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def _explained(current: Current) -> Response:
    body = {
        "capabilities": current.snapshot.tree(),
        "explain": current.snapshot.explain(),
        "version": current.etag.strip('"'),
    }
    return JSONResponse(body, headers={"etag": current.etag, "cache-control": "no-store"})
