"""An agent that is a server on a loopback port: wait until it listens.

In: a process and its health URL. Out: the URL of the agent, once it answers. The server's stdout is read and dropped:
its messages do not come by it, and a full pipe would block the server.
"""

from __future__ import annotations

import anyio
import httpx2

from gateway.drivers.cli.command import fill_template
from gateway.drivers.cli.transports.base import Endpoint
from gateway.drivers.process import Process
from gateway.errors import AgentFault

POLL_INTERVAL_SECONDS = 0.1
"""Between two requests to the health URL."""
REQUEST_TIMEOUT_SECONDS = 5.0


async def reach_server(endpoint: Endpoint) -> str:
    """The agent's URL. Raises `AgentFault` when the agent exits, or does not listen in time."""
    cli = endpoint.cli
    if cli.url is None:
        raise AgentFault(f"{endpoint.source}: cli.url is missing", code="INVALID_CONFIG")
    health_url = fill_template(cli.health or cli.url, endpoint.values)
    await _wait_until_listening(endpoint.process, health_url, cli.start_timeout)
    endpoint.tasks.start_soon(_drop_output, endpoint.process)
    return fill_template(cli.url, endpoint.values)


async def _wait_until_listening(process: Process, health_url: str, limit: float) -> None:
    """Until the URL answers with a status below 500."""
    with anyio.move_on_after(limit):
        async with port_client(process, timeout=httpx2.Timeout(REQUEST_TIMEOUT_SECONDS)) as client:
            while process.exit_code is None:
                try:
                    if (await client.get(health_url)).status_code < 500:
                        return
                except httpx2.HTTPError:
                    pass
                await anyio.sleep(POLL_INTERVAL_SECONDS)
            raise process.died("it listened")
    raise AgentFault(f"the agent did not listen within {limit:g} seconds", code="AGENT_STALLED")


def port_client(process: Process, *, timeout: httpx2.Timeout, base_url: str = "") -> httpx2.AsyncClient:
    """A client for the port on which the process listens, also when it is in a sandbox with a loopback interface of its
    own. No proxy of the environment: it is for the network outside, not for loopback."""
    uds = None if process.port_socket is None else str(process.port_socket)
    transport = httpx2.AsyncHTTPTransport(uds=uds, limits=httpx2.Limits(max_connections=None), trust_env=False)
    return httpx2.AsyncClient(base_url=base_url, transport=transport, timeout=timeout, trust_env=False)


async def _drop_output(process: Process) -> None:
    while await process.read():
        pass
