"""`GET /workspaces`: the folders that agents may work in, to choose one for a thread."""

from __future__ import annotations

from functools import partial

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from gateway.identity import Caller
from gateway.runs.workspace_folders import read_folder
from gateway.service.gateway import Gateway


async def show(request: Request) -> Response:
    """`?path=`: a folder inside a root; default: the folder that a run works in if it names none. `?agent=`: with
    whether this agent's new threads have a worktree by default."""
    gateway: Gateway = request.app.state.gateway
    query = request.query_params
    folder = await run_sync(partial(read_folder, gateway.workspaces, query.get("path") or None))
    shown = {"roots": [str(root) for root in gateway.workspaces.roots], **folder.to_json()}
    shown["worktree"]["default"] = _has_worktree(gateway, request.state.caller, query.get("agent"))
    return JSONResponse(shown)


def _has_worktree(gateway: Gateway, caller: Caller, agent_id: str | None) -> bool:
    if agent_id is None:
        return gateway.settings.worktree
    caller.require_agent(agent_id)
    stated = gateway.agents[agent_id].definition.worktree
    return gateway.settings.worktree if stated is None else stated
