"""`GET /agents` and `GET /agents/{agent}`: the agents, and whether they can run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway import __version__
from gateway.capabilities.option_checks import list_offered
from gateway.identity import Caller
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway


async def index(request: Request) -> Response:
    """`GET /`, for a program: the routes."""
    request.state.caller.require("read")  # the page at this address is open to everybody, this is not
    return JSONResponse(
        {
            "name": "agui-gateway",
            "version": __version__,
            "agents": {agent.definition.id: f"/agents/{agent.definition.id}" for agent in usable_agents(request)},
            "routes": {
                "POST /agents/{id}": "one run: RunAgentInput in, AG-UI events out (SSE, or protobuf by Accept)",
                "GET /agents/{id}/capabilities": "what the agent can do now (?explain=1: and who says so; SSE: live)",
                "GET /capabilities/matrix": "what all agents can do, side by side (CSV by Accept)",
                "GET /agents": "the agents, and whether they can run",
                "GET /runs/{run}/events": "follow a run again (Last-Event-ID or ?after=N)",
                "POST /runs/{run}/cancel": "stop a run",
                "/copilotkit": "runtimeUrl for a CopilotKit app",
                "GET /healthz, /readyz": "for orchestrators",
            },
        }
    )


def usable_agents(request: Request) -> list[Agent]:
    """The agents that the caller may use: for it there are no others."""
    gateway: Gateway = request.app.state.gateway
    caller: Caller = request.state.caller
    agents = [agent for agent in gateway.agents if agent.definition.is_listed]
    return [agent for agent in agents if caller.may_use(agent.definition.id)]


async def list_agents(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    usable = usable_agents(request)
    described: dict[str, dict[str, Any]] = {agent.definition.id: {} for agent in usable}

    async def fill(agent: Agent) -> None:
        described[agent.definition.id] = await describe(gateway, agent, request.state.principal)

    async with anyio.create_task_group() as tasks:  # each may have to probe its agent, and none waits for another
        for agent in usable:
            tasks.start_soon(fill, agent)
    return JSONResponse({"gateway": gateway.id, "agents": list(described.values())})


async def show(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    return JSONResponse(await describe(gateway, gateway.agents[request.path_params["agent"]], request.state.principal))


async def describe(gateway: Gateway, agent: Agent, principal: str) -> dict[str, Any]:
    """As this principal sees the agent: each may have credentials of its own."""
    availability = await agent.probe()
    if (home := gateway.snapshots.find_home(agent, principal)) is not None:
        availability = await agent.probe_home(home)
    snapshot = (await gateway.snapshots.take(agent, principal=principal)).snapshot
    tree = snapshot.tree()
    own = f"/agents/{agent.definition.id}"
    return {
        "id": agent.definition.id,
        "driver": agent.definition.driver,
        "identity": tree.get("identity", {}),
        "availability": availability.to_json(),
        "options": list_offered(snapshot),
        **({"via": list(agent.definition.via)} if agent.definition.via else {}),
        **_describe_transports(tree, agent),
        **_definition_failure(agent),
        "links": {"run": own, **{name: f"{own}/{name}" for name in ("capabilities", "models", "threads", "install")}},
    }


def _describe_transports(tree: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """The transports of an agent that has several; of a transport that is used alone, the agent that has it."""
    if not agent.definition.is_listed:
        return {"transportOf": agent.definition.transport_of}
    transports = tree.get("custom", {}).get("gateway", {}).get("transports")
    return {} if transports is None else {"transports": transports}


def _definition_failure(agent: Agent) -> dict[str, Any]:
    """Only where the newest definition is invalid, and the last good one in use."""
    if agent.failure is None:
        return {}
    since = datetime.fromtimestamp(agent.failure.since, UTC).isoformat(timespec="milliseconds")
    return {"definition": {"error": agent.failure.error, "since": since}}
