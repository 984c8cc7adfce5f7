"""`GET /healthz`: the process answers. `GET /readyz`: the gateway would admit a run."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.errors import Busy, GatewayError
from gateway.runs.admission import STOPPING
from gateway.service.gateway import Gateway
from gateway.web.problems import problem_response


async def healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    if gateway.engine.is_draining:
        return problem_response(Busy(STOPPING[1], code=STOPPING[0]))
    try:
        await gateway.store.check()
    except GatewayError as exc:
        return problem_response(exc)
    return JSONResponse(
        {
            "status": "ready",
            "runs": gateway.engine.live_runs,
            "agents": len([agent for agent in gateway.agents if agent.definition.is_listed]),
        }
    )
