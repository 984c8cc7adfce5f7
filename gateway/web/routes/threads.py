"""Threads: the conversations there are, and the agents' sessions behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.capabilities.merge import Snapshot
from gateway.capabilities.option_checks import check_ability
from gateway.capabilities.versions import Key
from gateway.errors import BadInput, NotCapable
from gateway.jsonio import loads
from gateway.registry.agents import Agent
from gateway.runs.thread_state import ThreadKey
from gateway.service.gateway import Gateway
from gateway.turn import Options, Turn
from gateway.web.request_body import read_body, read_json_body
from gateway.web.routes.runs import checked

WISHES: dict[str, Callable[[str], Options]] = {
    "mode": lambda mode: Options(mode=mode),
    "model": lambda model: Options(model=model),
}
"""What can be set that a run may ask for too."""


def _places(request: Request) -> tuple[Gateway, Agent, ThreadKey]:
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    thread_id = request.path_params.get("thread", "")
    return gateway, agent, ThreadKey(agent.definition.id, thread_id, request.state.principal)


async def list_threads(request: Request) -> Response:
    """`GET /agents/{agent}/threads`, newest first."""
    gateway, agent, thread = _places(request)
    return JSONResponse({"threads": await gateway.control.threads(agent, thread.principal)})


async def show(request: Request) -> Response:
    gateway, agent, thread = _places(request)
    return JSONResponse(await gateway.control.show(agent, thread))


async def delete(request: Request) -> Response:
    gateway, agent, thread = _places(request)
    await gateway.control.delete(agent, thread)
    return Response(status_code=204)


async def close(request: Request) -> Response:
    """`POST …/close`: frees the agent's session; the thread brings it back when it is used."""
    gateway, _, thread = _places(request)
    return JSONResponse({"closed": await gateway.control.close(thread)})


async def fork(request: Request) -> Response:
    """`POST …/fork`, with `{"threadId": "…"}` or nothing."""
    gateway, agent, thread = _places(request)
    body = await read_body(request, gateway.settings)
    wish = _object(body).get("threadId", f"fork-{uuid4().hex[:8]}") if body.strip() else f"fork-{uuid4().hex[:8]}"
    if not isinstance(wish, str) or not wish:
        raise BadInput("threadId is the new thread's id, a string", pointer="/threadId")
    check_ability("fork_session_id", await _snapshot(gateway, thread), agent.definition)
    session_id = await gateway.control.fork(agent, thread, wish)
    return JSONResponse({"threadId": wish, "sessionId": session_id}, 201)


async def _snapshot(gateway: Gateway, thread: ThreadKey) -> Snapshot:
    return (await gateway.capability_source.current(Key(*thread))).snapshot


async def set_mode(request: Request) -> Response:
    return await _set(request, "mode")


async def set_model(request: Request) -> Response:
    return await _set(request, "model")


async def set_config(request: Request) -> Response:
    return await _set(request, "config")


async def _set(request: Request, what: str) -> Response:
    gateway, agent, thread = _places(request)
    given = _object(await read_json_body(request, gateway.settings))
    given, warnings = await _held(gateway, agent, thread, what, given)
    told = await gateway.control.set(agent, thread, what, given)
    gateway.changes.touch(agent.definition.id)
    return JSONResponse({**told, "warnings": warnings} if warnings else told)


async def _held(
    gateway: Gateway, agent: Agent, thread: ThreadKey, what: str, given: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """What a run could not ask for cannot be set either: the same check, with the same words."""
    wish = given.get(what)
    if what not in WISHES or not isinstance(wish, str):
        return given, []  # the session knows its own options; a body of another shape is refused by whoever reads it
    turn = Turn(thread.thread_id, "", options=WISHES[what](wish))
    try:
        turn = await checked(gateway, agent, turn, thread.principal)
    except NotCapable as exc:
        exc.extra["pointer"] = f"/{what}"
        raise
    about = [notice for notice in turn.warnings if notice.pointer.endswith(f"/{what}")]
    return {what: getattr(turn.options, what)}, [{"code": one.code, "message": one.message} for one in about]


async def call(request: Request) -> Response:
    """`POST …/acp`, with `{"method": "…", "params": {…}}`: any further method of ACP."""
    gateway, agent, thread = _places(request)
    given = _object(await read_json_body(request, gateway.settings))
    method, params = given.get("method"), given.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadInput('the body must be {"method": "…", "params": {…}}', pointer="/method")
    return JSONResponse({"result": await gateway.control.call(agent, thread, method, params)})


def _object(body: bytes) -> dict[str, Any]:
    given = loads(body)
    if not isinstance(given, dict):
        raise BadInput("the body must be a JSON object", pointer="")
    return given
