"""`/agents/{agent}/install` and `/agents/{agent}/plugins`: what would be run, and the output while it runs (SSE)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.errors import BadInput
from gateway.jsonio import dumps
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.web.disconnect import run_until_disconnect
from gateway.web.request_body import read_json_body
from gateway.web.routes.threads import parse_object


async def show(request: Request) -> Response:
    gateway, agent = _target(request)
    return JSONResponse(gateway.installation.plan(agent))


async def install(request: Request) -> Response:
    gateway, agent = _target(request)
    body = await read_json_body(request, parse_object)
    events = await gateway.installation.install(agent, _read_text(body, "command"), request.state.principal)
    return _stream(events)


async def list_plugins(request: Request) -> Response:
    gateway, agent = _target(request)
    search = request.query_params.get("search")
    listed = await run_until_disconnect(request, lambda: gateway.installation.list_plugins(agent, search))
    return JSONResponse(listed)


async def change_plugin(request: Request) -> Response:
    """POST installs a plugin, DELETE removes one."""
    gateway, agent = _target(request)
    body = await read_json_body(request, parse_object)
    name = _read_text(body, "name")
    if name is None:
        raise BadInput("which plugin? the body needs a `name`", pointer="/name")
    operation: Any = "install" if request.method == "POST" else "uninstall"
    confirmed = _read_text(body, "command")
    principal = request.state.principal
    return _stream(await gateway.installation.change_plugin(agent, operation, name, confirmed, principal))


def _target(request: Request) -> tuple[Gateway, Agent]:
    gateway: Gateway = request.app.state.gateway
    return gateway, gateway.agents[request.path_params["agent"]]


def _read_text(body: dict[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{key} is a text", pointer=f"/{key}")
    return value


def _stream(events: AsyncIterator[dict[str, Any]]) -> Response:
    """The command is stopped when the client leaves."""

    async def lines() -> AsyncIterator[dict[str, str]]:
        async for event in events:
            yield {"data": dumps(event).decode()}

    return EventSourceResponse(lines(), sep="\n")
