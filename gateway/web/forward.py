"""Questions about an agent of another gateway that only that gateway can answer: its models, their limits and prices,
and the views that need more of its definition than a snapshot has. What it answers is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


def known_there(endpoint: Endpoint) -> Endpoint:
    """The endpoint, for agents of this gateway's own."""

    @wraps(endpoint)
    async def choose(request: Request) -> ASGIApp:
        gateway: Gateway = request.app.state.gateway
        return await from_there(request, gateway.agents[request.path_params["agent"]]) or await endpoint(request)

    return choose


async def from_there(request: Request, agent: Agent) -> Response | None:
    """None: it is to be answered here."""
    if agent.driver is None or (far := agent.driver.remote_proxy) is None:
        return None
    _, _, _, *path = request.scope["path"].split("/")  # below /agents/ID
    status, kind, body = await far.fetch(path, request.scope["query_string"].decode("latin-1"), request.method)
    return Response(body, status, media_type=kind)
