"""Requests about an agent of a mounted gateway that only that gateway can answer, forwarded to it.

These are its models, their limits and prices, and the views that need more of its definition than a snapshot has. The
answer is passed on unchanged.
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


def forwarded(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with requests about agents of a mounted gateway forwarded."""

    @wraps(endpoint)
    async def choose(request: Request) -> ASGIApp:
        gateway: Gateway = request.app.state.gateway
        agent = gateway.agents[request.path_params["agent"]]
        return await forward(request, agent) or await endpoint(request)

    return choose


async def forward(request: Request, agent: Agent) -> Response | None:
    """The answer of the mounted gateway; None: the agent is of this gateway."""
    if agent.driver is None or (proxy := agent.driver.remote_proxy) is None:
        return None
    _, _, _, *path = request.scope["path"].split("/")  # below /agents/ID
    status, media_type, body = await proxy.fetch(path, request.scope["query_string"].decode("latin-1"), request.method)
    return Response(body, status, media_type=media_type)
