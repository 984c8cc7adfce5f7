"""`GET /capabilities/matrix`: every agent by every leaf, as JSON or, by `Accept: text/csv`, as a table.

A cell that is missing, or empty, is one that nobody knows: that is not `false`.
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
from gateway.web.routes.capabilities import answer, is_true

CSV = "text/csv"

Leaves = dict[str, dict[str, Any]]
"""Path → agent → value, or what explains it."""


async def show(request: Request) -> Response:
    gateway: Gateway = request.app.state.gateway
    explain = is_true(request.query_params.get("explain"))
    snapshots = await _snapshots(gateway)
    leaves = _leaves(snapshots, explain=explain)
    if accepts(request.headers.get("accept"), CSV):
        return _answer(request, _table(list(snapshots), leaves, explain=explain), f"{CSV}; charset=utf-8")
    return _answer(request, to_json({"agents": list(snapshots), "leaves": leaves}), "application/json")


async def _snapshots(gateway: Gateway) -> Mapping[str, Snapshot]:
    found: dict[str, Snapshot | None] = {agent.definition.id: None for agent in gateway.agents}

    async def fill(agent: Agent) -> None:
        found[agent.definition.id] = (await gateway.snapshots.current(agent)).snapshot

    async with anyio.create_task_group() as tasks:  # each may have to ask its agent, and none waits for another
        for agent in gateway.agents:
            tasks.start_soon(fill, agent)
    return {name: snapshot for name, snapshot in sorted(found.items()) if snapshot is not None}


def _leaves(snapshots: Mapping[str, Snapshot], *, explain: bool) -> Leaves:
    leaves: Leaves = {}
    for name, snapshot in snapshots.items():
        for path, value in (snapshot.explain() if explain else snapshot.values).items():
            leaves.setdefault(path, {})[name] = value
    return dict(sorted(leaves.items()))


def _table(agents: Sequence[str], leaves: Leaves, *, explain: bool) -> bytes:
    """A row for each leaf. Values are JSON: so `"1"` is not `1`, and no cell begins as a formula does."""
    text = StringIO()
    rows = csv.writer(text)
    columns = [column for name in agents for column in ((name, f"{name}: said by") if explain else (name,))]
    rows.writerow(["capability", *columns])
    for path, cells in leaves.items():
        told = [_cells(cells.get(name), explain=explain) for name in agents]
        rows.writerow([path, *(cell for both in told for cell in both)])
    return text.getvalue().encode()


def _cells(cell: Any, *, explain: bool) -> tuple[str, ...]:
    if not explain:
        return ("" if cell is None else to_json(cell).decode(),)
    if cell is None:
        return "", ""
    return to_json(cell["value"]).decode(), f"{cell['layer']} ({cell['source']})"


def _answer(request: Request, body: bytes, media_type: str) -> Response:
    return answer(request, RenderedSnapshot(body, etag(body).strip('"')), media_type)
