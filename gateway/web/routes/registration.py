"""`PUT /agents/{agent}` and `DELETE /agents/{agent}`: agents that come and go while the gateway runs.

A definition starts programs with the gateway's rights, so this is for administrators: the route requires the scope
`admin`. Without a token only a program of the person at this machine may: the request must come from loopback, directly
(without a proxy's header) and from no web page, not even one of the gateway's own. A browser cannot leave out the
headers that distinguish it from a program.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.errors import BadInput, Forbidden, NotJson, WrongType
from gateway.jsonio import loads
from gateway.service.gateway import Gateway
from gateway.web.request_body import read_body
from gateway.web.routes.agents import describe

JSON, TOML = "application/json", "application/toml"
BROWSER_HEADERS = ("origin", "sec-fetch-site", "sec-fetch-mode")
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


async def put(request: Request) -> Response:
    """201: the agent is new; 200: it replaces another, or covers one from a file."""
    gateway: Gateway = request.app.state.gateway
    _require_administrator(request)
    agent_id = request.path_params["agent"]
    new = await gateway.registrations.put(agent_id, await _read_table(request, gateway), request.state.principal)
    return JSONResponse(await describe(gateway, gateway.agents[agent_id], request.state.principal), 201 if new else 200)


async def delete(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    _require_administrator(request)
    await gateway.registrations.delete(request.path_params["agent"], request.state.principal)
    return Response(status_code=204)


def _require_administrator(request: Request) -> None:
    if request.state.caller.credential != "user":
        return  # the route has checked the scope of its token, which no web page has by itself
    reason = None
    if not _on_loopback(request):
        reason = "it does not come from this machine"
    elif headers := [name for name in BROWSER_HEADERS if name in request.headers]:
        reason = f"it comes from a web page ({headers[0]})"
    elif headers := [name for name in PROXY_HEADERS if name in request.headers]:
        reason = f"it comes through a proxy ({headers[0]})"
    if reason is not None:
        advice = "start the gateway with a --token-file and send a token with the scope `admin`"
        raise Forbidden(
            f"a request without a token may not change agents when {reason}: {advice}", code="ADMIN_REQUIRED"
        )


def _on_loopback(request: Request) -> bool:
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False


async def _read_table(request: Request, gateway: Gateway) -> dict[str, Any]:
    """The format of an agent's file, as JSON or TOML."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in (JSON, TOML):
        raise WrongType(f"the body must be {JSON} or {TOML}, not {media_type or 'without a type'}")
    table = await read_body(request, loads if media_type == JSON else _parse_toml)
    if not isinstance(table, dict):
        raise BadInput("the body must be an object", pointer="")
    return table


def _parse_toml(body: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(body.decode("utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise NotJson(f"the body is not TOML: {exc}", code="NOT_TOML") from exc
