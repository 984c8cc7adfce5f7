"""A thread at another gateway, between its runs: what it is set to there, and how to set, copy and delete it from here.

In: a mounted agent and the far thread's id. Out: `drivers.base.Controls`, each by the far gateway's own route, and the
session layer: those leaves of the far thread's snapshot that are others than its agent's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from gateway.capability_paths import flatten
from gateway.drivers.remote.http import Answer
from gateway.drivers.remote.requests import escape_segment, of_the_agent
from gateway.errors import AgentFault, Conflict, GatewayError, NotCapable
from gateway.events import Layer


class Ask(Protocol):
    def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> Awaitable[Answer]: ...


class RemoteControls:
    def __init__(self, thread_id: str, ask: Ask, agent: Callable[[], Mapping[str, Any]]) -> None:
        """`ask`: below the agent's address. `agent`: what it says of itself, whatever the thread."""
        self.thread_id = thread_id
        self._here = f"/threads/{escape_segment(thread_id)}"
        self._ask, self._agent = ask, agent
        self.session_layer: Layer = {}

    async def look(self) -> None:
        told = _told(await self._ask(f"/capabilities?thread={quote(self.thread_id, safe='')}"))
        agent, thread = flatten(self._agent()), flatten(of_the_agent(told)) if isinstance(told, dict) else {}
        self.session_layer = {path: value for path, value in thread.items() if agent.get(path) != value}

    async def set_mode(self, mode: str) -> None:
        await self._set("mode", {"mode": mode})

    async def set_model(self, model: str) -> None:
        await self._set("model", {"model": model})

    async def set_config(self, option: str, value: str | bool) -> None:
        await self._set("config", {"id": option, "value": value})

    async def _set(self, what: str, wish: Mapping[str, Any]) -> None:
        _told(await self._ask(f"{self._here}/{what}", method="POST", body=wish))
        await self.look()

    async def fork(self) -> str:
        match _told(await self._ask(f"{self._here}/fork", method="POST", body={})):
            case {"threadId": str(copy)}:
                return copy
        raise AgentFault("the other gateway forked the thread without an id", code="AGENT_PROTOCOL_ERROR")

    async def delete(self) -> None:
        answer = await self._ask(self._here, method="DELETE")
        if answer.status != 404:  # it has forgotten it already
            _told(answer)

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        match _told(await self._ask(f"{self._here}/acp", method="POST", body={"method": method, "params": params})):
            case {"result": result}:
                return result
        return None


def _told(answer: Answer) -> Any:
    if answer.status >= 300:
        raise _refusal(answer)
    return answer.json() if answer.content else None


def _refusal(answer: Answer) -> GatewayError:
    """What the far gateway refuses because of the client is the client's to mend, in the same words."""
    problem = answer.problem()
    detail = problem.get("detail")
    if not isinstance(detail, str) or answer.status not in (409, 422):
        return answer.refusal()
    code = problem["code"] if isinstance(problem.get("code"), str) else None
    if answer.status == 409:
        return Conflict(detail, code=code)
    return NotCapable(detail, code=code, capability=problem.get("capability"), source=problem.get("source"))
