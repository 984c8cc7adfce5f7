"""Threads: the conversations of an agent, and the sessions behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from gateway.agui.run_input_schema import ID
from gateway.agui.schema import Findings
from gateway.capabilities.option_checks import check_ability
from gateway.errors import BadInput, NotCapable
from gateway.identity import Caller, ThreadKey
from gateway.jsonio import loads
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.service.run_permissions import check_call, check_config
from gateway.turn import Options, Turn
from gateway.web.json_response import JsonResponse
from gateway.web.request_body import read_body, read_json_body

RUN_OPTIONS: dict[str, Callable[[str], Options]] = {
    "mode": lambda mode: Options(mode=mode),
    "model": lambda model: Options(model=model),
}
"""Settings of a thread that are options of a run, too."""


def read_target(request: Request) -> tuple[Gateway, Agent, ThreadKey]:
    """The gateway, and the agent and thread that the path names."""
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    thread_id = request.path_params.get("thread", "")
    return gateway, agent, ThreadKey(agent.definition.id, thread_id, request.state.principal)


async def list_threads(request: Request) -> Response:
    """`GET /agents/{agent}/threads`, newest first."""
    gateway, agent, thread = read_target(request)
    return JsonResponse({"threads": await gateway.threads.list_threads(agent, thread.principal)})


async def show(request: Request) -> Response:
    gateway, _, thread = read_target(request)
    return JsonResponse(await gateway.threads.show(thread))


async def delete(request: Request) -> Response:
    gateway, agent, thread = read_target(request)
    kept = await gateway.threads.delete(agent, thread, request.state.caller)
    return Response(status_code=204) if kept is None else JsonResponse({"kept": kept.to_json()})


async def close(request: Request) -> Response:
    """`POST …/close`: closes the agent's session; the next use of the thread resumes it."""
    gateway, _, thread = read_target(request)
    return JsonResponse({"closed": await gateway.threads.close(thread)})


async def fork(request: Request) -> Response:
    """`POST …/fork`, with `{"threadId": "…"}` or an empty body."""
    gateway, agent, thread = read_target(request)
    body = await read_body(request, lambda data: parse_object(data) if data.strip() else {})
    new_id = body.get("threadId", f"fork-{uuid4().hex[:8]}")
    findings = Findings()
    ID.read(new_id, ("threadId",), findings)
    findings.raise_if_refused()
    check_ability("fork_session_id", (await gateway.snapshots.take(agent, thread)).snapshot, agent.definition_in_use)
    session_id = await gateway.threads.fork(agent, thread, new_id, request.state.caller)
    return JsonResponse({"threadId": new_id, "sessionId": session_id}, 201)


async def set_mode(request: Request) -> Response:
    return await _set(request, "mode")


async def set_model(request: Request) -> Response:
    return await _set(request, "model")


async def set_config(request: Request) -> Response:
    return await _set(request, "config")


async def _set(request: Request, setting: str) -> Response:
    gateway, agent, thread = read_target(request)
    body = await read_json_body(request, parse_object)
    body, warnings = await _check_setting(gateway, agent, thread, request.state.caller, setting, body)
    values = await gateway.threads.set(agent, thread, setting, body, request.state.caller)
    gateway.changes.touch(agent.definition.id)
    return JsonResponse({**values, "warnings": warnings} if warnings else values)


async def _check_setting(
    gateway: Gateway, agent: Agent, thread: ThreadKey, caller: Caller, setting: str, body: dict[str, Any]
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """What a run could not request cannot be set either: the same check, with the same message. Returns the body to
    use, and warnings."""
    value = body.get(setting)
    if setting == "config":
        check_config(agent.definition, body.get("id"), body.get("value"), caller)
    if setting not in RUN_OPTIONS or not isinstance(value, str):
        return body, []  # the session checks its own options; a body of another shape is refused when it is read
    turn = Turn(thread.thread_id, "", options=RUN_OPTIONS[setting](value))
    try:
        turn = (await gateway.checked_runs.check(agent, turn, caller)).turn
    except NotCapable as exc:
        exc.extra["pointer"] = f"/{setting}"
        raise
    notices = [notice for notice in turn.warnings if notice.pointer.endswith(f"/{setting}")]
    warnings = [{"code": notice.code, "message": notice.message} for notice in notices]
    return {setting: getattr(turn.options, setting)}, warnings


async def call(request: Request) -> Response:
    """`POST …/acp`, with `{"method": "…", "params": {…}}`: any further method of ACP."""
    gateway, agent, thread = read_target(request)
    body = await read_json_body(request, parse_object)
    method = body.get("method")
    params = body.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise BadInput('the body must be {"method": "…", "params": {…}}', pointer="/method")
    check_call(agent.definition, params, request.state.caller)
    return JsonResponse({"result": await gateway.threads.call(agent, thread, method, params, request.state.caller)})


def parse_object(body: bytes) -> dict[str, Any]:
    parsed = loads(body)
    if not isinstance(parsed, dict):
        raise BadInput("the body must be a JSON object", pointer="")
    return parsed
