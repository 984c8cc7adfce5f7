"""Threads: the conversations there are, and the agents' sessions behind them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.errors import BadInput
from gateway.jsontext import loads
from gateway.runs.agents import Agent
from gateway.runs.threads import ThreadKey
from gateway.web.body import read_body, read_json_body
from gateway.web.house import House


def _places(request: Request) -> tuple[House, Agent, ThreadKey]:
    house: House = request.app.state.house
    agent = house.agents[request.path_params["agent"]]
    thread_id = request.path_params.get("thread", "")
    return house, agent, ThreadKey(agent.definition.id, thread_id, request.state.principal)


async def list_threads(request: Request) -> Response:
    """`GET /agents/{agent}/threads`, newest first."""
    house, agent, thread = _places(request)
    return JSONResponse({"threads": await house.control.threads(agent, thread.principal)})


async def show(request: Request) -> Response:
    house, agent, thread = _places(request)
    return JSONResponse(await house.control.show(agent, thread))


async def delete(request: Request) -> Response:
    house, agent, thread = _places(request)
    await house.control.delete(agent, thread)
    return Response(status_code=204)


async def close(request: Request) -> Response:
    """`POST …/close`: frees the agent's session; the thread brings it back when it is used."""
    house, _, thread = _places(request)
    return JSONResponse({"closed": await house.control.close(thread)})


async def fork(request: Request) -> Response:
    """`POST …/fork`, with `{"threadId": "…"}` or nothing."""
    house, agent, thread = _places(request)
    body = await read_body(request, house.settings)
    wish = _object(body).get("threadId", f"fork-{uuid4().hex[:8]}") if body.strip() else f"fork-{uuid4().hex[:8]}"
    if not isinstance(wish, str) or not wish:
        raise BadInput("threadId is the new thread's id, a string", pointer="/threadId")
    session_id = await house.control.fork(agent, thread, wish)
    return JSONResponse({"threadId": wish, "sessionId": session_id}, 201)


async def set_mode(request: Request) -> Response:
    return await _set(request, "mode")


async def set_model(request: Request) -> Response:
    return await _set(request, "model")


async def set_config(request: Request) -> Response:
    return await _set(request, "config")


async def _set(request: Request, what: str) -> Response:
    house, agent, thread = _places(request)
    given = _object(await read_json_body(request, house.settings))
    return JSONResponse(await house.control.set(agent, thread, what, given))


async def call(request: Request) -> Response:
    """`POST …/acp`, with `{"method": "…", "params": {…}}`: any further method of ACP."""
    house, agent, thread = _places(request)
    given = _object(await read_json_body(request, house.settings))
    method, params = given.get("method"), given.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadInput('the body must be {"method": "…", "params": {…}}', pointer="/method")
    return JSONResponse({"result": await house.control.call(agent, thread, method, params)})


def _object(body: bytes) -> dict[str, Any]:
    given = loads(body)
    if not isinstance(given, dict):
        raise BadInput("the body must be a JSON object", pointer="")
    return given
