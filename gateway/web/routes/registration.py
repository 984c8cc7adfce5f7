"""`PUT /agents/{agent}` and `DELETE /agents/{agent}`: agents that come and go while the gateway runs.

A definition starts programs with the gateway's rights, so this is for administrators. Where there are tokens, the door
has asked for the scope `admin`. Where there are none, only a program on this machine may: the request must come from
loopback, straight (no proxy's header in it) and from no web page at all, not even one of the gateway's own. A browser
cannot leave out the headers by which it is told from a program.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.errors import BadInput, Forbidden, NotJson, WrongType
from gateway.identity import LOCAL
from gateway.jsonio import loads
from gateway.service.gateway import Gateway
from gateway.web.request_body import read_body
from gateway.web.routes.agents import describe

JSON, TOML = "application/json", "application/toml"
A_PAGES = ("origin", "sec-fetch-site", "sec-fetch-mode")
A_PROXYS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


async def put(request: Request) -> Response:
    """201: it is new; 200: it replaces, or covers, another."""
    gateway: Gateway = request.app.state.gateway
    _administrator(request)
    agent_id = request.path_params["agent"]
    new = await gateway.registrations.put(agent_id, await _table(request, gateway), request.state.principal)
    return JSONResponse(await describe(gateway, gateway.agents[agent_id]), 201 if new else 200)


async def delete(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    _administrator(request)
    await gateway.registrations.delete(request.path_params["agent"], request.state.principal)
    return Response(status_code=204)


def _administrator(request: Request) -> None:
    if request.state.principal != LOCAL:
        return  # it has a token, and the door has held it against the scope
    wrong = None
    if not _on_loopback(request):
        wrong = "it does not come from this machine"
    elif found := [name for name in A_PAGES if name in request.headers]:
        wrong = f"it comes from a web page ({found[0]})"
    elif found := [name for name in A_PROXYS if name in request.headers]:
        wrong = f"it comes through a proxy ({found[0]})"
    if wrong is not None:
        way_out = "start the gateway with a --token-file and send a token with the scope `admin`"
        raise Forbidden(
            f"a request without a token may not change agents when {wrong}: {way_out}", code="ADMIN_REQUIRED"
        )


def _on_loopback(request: Request) -> bool:
    try:
        return request.client is not None and ip_address(request.client.host).is_loopback
    except ValueError:
        return False


async def _table(request: Request, gateway: Gateway) -> dict[str, Any]:
    """The format of an agent's file, as JSON or as it is."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (JSON, TOML):
        raise WrongType(f"the body must be {JSON} or {TOML}, not {kind or 'without a type'}")
    body = await read_body(request, gateway.settings)
    table = loads(body) if kind == JSON else _toml(body)
    if not isinstance(table, dict):
        raise BadInput("the body must be an object", pointer="")
    return table


def _toml(body: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(body.decode("utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise NotJson(f"the body is not TOML: {exc}", code="NOT_TOML") from exc
