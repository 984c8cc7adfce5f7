"""`GET /agents` and `GET /agents/{agent}`: what there is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway import __version__
from gateway.drivers.probe import Availability
from gateway.runs.agents import Agent
from gateway.web.house import House


async def index(request: Request) -> Response:
    """`GET /`: where to go from here."""
    house: House = request.app.state.house
    return JSONResponse(
        {
            "name": "agui-gateway",
            "version": __version__,
            "agents": {agent.definition.id: f"/agents/{agent.definition.id}" for agent in house.agents},
            "routes": {
                "POST /agents/{id}": "one run: RunAgentInput in, AG-UI events out (SSE, or protobuf by Accept)",
                "GET /agents/{id}/capabilities": "what the agent can do now (?explain=1: and who says so)",
                "GET /agents": "the agents, and whether they can run",
                "GET /runs/{run}/events": "follow a run again (Last-Event-ID or ?after=N)",
                "POST /runs/{run}/cancel": "stop a run",
                "/copilotkit": "runtimeUrl for a CopilotKit app",
                "GET /healthz, /readyz": "for orchestrators",
            },
        }
    )


async def list_agents(request: Request) -> Response:
    house: House = request.app.state.house
    return JSONResponse({"agents": [await describe(house, agent) for agent in house.agents]})


async def show(request: Request) -> Response:
    house: House = request.app.state.house
    return JSONResponse(await describe(house, house.agents[request.path_params["agent"]]))


async def describe(house: House, agent: Agent) -> dict[str, Any]:
    tree = (await house.snapshots.current(agent)).snapshot.tree()
    if agent.driver is None:
        found = Availability("broken", agent.broken, "mend the agent's file and restart")
    else:
        found = await agent.driver.availability()
    availability = {key: value for key, value in asdict(found).items() if value is not None}
    own = f"/agents/{agent.definition.id}"
    return {
        "id": agent.definition.id,
        "driver": agent.definition.driver,
        "identity": tree.get("identity", {}),
        "availability": availability,
        "links": {"run": own, "capabilities": f"{own}/capabilities"},
    }
