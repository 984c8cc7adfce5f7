"""The controls of a thread at another gateway.

In: a mounted agent and the id of its thread there. Out: `drivers.base.Controls`, each by the other gateway's own route,
and the session layer: the capabilities of the thread's snapshot that differ from its agent's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from gateway.capability_paths import flatten
from gateway.drivers.remote.http import RemoteResponse
from gateway.drivers.remote.requests import agent_capabilities, escape_segment
from gateway.errors import AgentFault, Conflict, GatewayError, NotCapable
from gateway.events import Layer


class SendRequest(Protocol):
    def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> Awaitable[RemoteResponse]: ...


class RemoteControls:
    def __init__(self, thread_id: str, send_request: SendRequest, agent_layer: Callable[[], Mapping[str, Any]]) -> None:
        """`send_request`: below the agent's URL. `agent_layer`: the capabilities of the agent itself."""
        self._thread_id = thread_id
        self._path = f"/threads/{escape_segment(thread_id)}"
        self._send_request = send_request
        self._agent_layer = agent_layer
        self._session_layer: Layer = {}

    @property
    def session_id(self) -> str:
        return self._thread_id

    @property
    def session_layer(self) -> Layer:
        return self._session_layer

    async def refresh(self) -> None:
        """Fetch the session layer."""
        response = await self._send_request(f"/capabilities?thread={quote(self._thread_id, safe='', errors='replace')}")
        snapshot = _read_body(response)
        agent = flatten(self._agent_layer())
        thread = flatten(agent_capabilities(snapshot)) if isinstance(snapshot, dict) else {}
        self._session_layer = {path: value for path, value in thread.items() if agent.get(path) != value}

    async def set_mode(self, mode: str) -> None:
        await self._set("mode", {"mode": mode})

    async def set_model(self, model: str) -> None:
        await self._set("model", {"model": model})

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._set("config", {"id": option, "value": value})

    async def _set(self, route: str, body: Mapping[str, Any]) -> None:
        _read_body(await self._send_request(f"{self._path}/{route}", method="POST", body=body))
        await self.refresh()

    async def fork(self) -> str:
        match _read_body(await self._send_request(f"{self._path}/fork", method="POST", body={})):
            case {"threadId": str(copy_id)}:
                return copy_id
        raise AgentFault("the other gateway forked the thread without an id", code="AGENT_PROTOCOL_ERROR")

    async def delete(self) -> None:
        response = await self._send_request(self._path, method="DELETE")
        if response.status != 404:  # 404: it was deleted there before
            _read_body(response)

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        body = {"method": method, "params": params}
        match _read_body(await self._send_request(f"{self._path}/acp", method="POST", body=body)):
            case {"result": result}:
                return result
        return None


def _read_body(response: RemoteResponse) -> Any:
    if response.status >= 300:
        raise _to_error(response)
    return response.json() if response.content else None


def _to_error(response: RemoteResponse) -> GatewayError:
    """An error that the other gateway blames on its client goes to this gateway's client with the same text."""
    problem = response.problem()
    detail = problem.get("detail")
    if not isinstance(detail, str) or response.status not in (409, 422):
        return response.to_fault()
    code = problem["code"] if isinstance(problem.get("code"), str) else None
    if response.status == 409:
        return Conflict(detail, code=code)
    return NotCapable(detail, code=code, capability=problem.get("capability"), source=problem.get("source"))
