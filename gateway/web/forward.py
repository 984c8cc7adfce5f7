"""Requests that only a mounted gateway can answer, forwarded to it.

In: a request for an agent of a mounted gateway: its models with their limits and prices, and the views that need more
of its definition than a snapshot holds. Out: that gateway's response, unchanged. Never: requests for this gateway's own
agents.
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
    """The endpoint for this gateway's own agents; a request for an agent of a mounted gateway is forwarded."""

    @wraps(endpoint)
    async def choose(request: Request) -> ASGIApp:
        gateway: Gateway = request.app.state.gateway
        return await forward(request, gateway.agents[request.path_params["agent"]]) or await endpoint(request)

    return choose


async def forward(request: Request, agent: Agent, query: str | None = None) -> Response | None:
    """The mounted gateway's response; None if the agent is this gateway's own. `query`: default the request's."""
    if agent.driver is None or (proxy := agent.driver.remote_proxy) is None:
        return None
    _, _, _, *path = request.scope["path"].split("/")  # The part below /agents/ID.
    query = request.scope["query_string"].decode("latin-1") if query is None else query
    status, media_type, body = await proxy.fetch(path, query, request.method)
    return Response(body, status, media_type=media_type)
