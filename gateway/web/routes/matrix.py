"""`GET /capabilities/matrix`: every agent by every capability, as JSON or, by `Accept: text/csv`, as a table.

A cell that is missing, or empty, is unknown, which is not `false`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import Response

from gateway.capabilities.merge import Snapshot, etag, to_json
from gateway.capabilities.versions import RenderedSnapshot
from gateway.encode.negotiate import accepts
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.web.routes.agents import usable_agents
from gateway.web.routes.capabilities import answer, is_true

CSV = "text/csv"

Matrix = dict[str, dict[str, Any]]
"""Path → agent → value, or its explanation."""


async def show(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    explain = is_true(request.query_params.get("explain"))
    snapshots = await _snapshots(gateway, usable_agents(request), request.state.principal)
    cells = _to_matrix(snapshots, explain=explain)
    if accepts(request.headers.get("accept"), CSV):
        return _answer(request, _to_csv(list(snapshots), cells, explain=explain), f"{CSV}; charset=utf-8")
    return _answer(request, to_json({"agents": list(snapshots), "leaves": cells}), "application/json")


async def _snapshots(gateway: Gateway, agents: Sequence[Agent], principal: str) -> Mapping[str, Snapshot]:
    snapshots: dict[str, Snapshot | None] = {agent.definition.id: None for agent in agents}

    async def fill(agent: Agent) -> None:
        snapshots[agent.definition.id] = (await gateway.snapshots.take(agent, principal=principal)).snapshot

    async with anyio.create_task_group() as tasks:  # each may have to read its agent, and none waits for another
        for agent in agents:
            tasks.start_soon(fill, agent)
    return {name: snapshot for name, snapshot in sorted(snapshots.items()) if snapshot is not None}


def _to_matrix(snapshots: Mapping[str, Snapshot], *, explain: bool) -> Matrix:
    cells: Matrix = {}
    for name, snapshot in snapshots.items():
        for path, value in (snapshot.explain() if explain else snapshot.values).items():
            cells.setdefault(path, {})[name] = value
    return dict(sorted(cells.items()))


def _to_csv(agents: Sequence[str], matrix: Matrix, *, explain: bool) -> bytes:
    """A row for each capability. Values are JSON, so that `"1"` differs from `1` and no cell is read as a formula."""
    text = StringIO()
    rows = csv.writer(text)
    columns = [column for name in agents for column in ((name, f"{name}: stated by") if explain else (name,))]
    rows.writerow(["capability", *columns])
    for path, cells in matrix.items():
        pairs = [_to_cells(cells.get(name), explain=explain) for name in agents]
        rows.writerow([path, *(cell for pair in pairs for cell in pair)])
    return text.getvalue().encode()


def _to_cells(cell: Any, *, explain: bool) -> tuple[str, ...]:
    if not explain:
        return ("" if cell is None else to_json(cell).decode(),)
    if cell is None:
        return "", ""
    return to_json(cell["value"]).decode(), f"{cell['layer']} ({cell['source']})"


def _answer(request: Request, body: bytes, media_type: str) -> Response:
    return answer(request, RenderedSnapshot(body, etag(body).strip('"')), media_type)
