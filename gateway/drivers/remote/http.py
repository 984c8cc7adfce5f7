"""One request to a remote, whose response is one body: read whole, in bounded time and up to a bounded size.

In: a request, or a response whose body is still to come. Out: a `RemoteResponse`. A remote that the operator does not
control must be able to fill neither the memory nor a task's time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2

from gateway.errors import AgentFault, NotJson
from gateway.jsonio import loads

MAX_BODY_BYTES = 8 * 1024 * 1024
"""A gateway lists a thousand agents in less."""
MAX_ERROR_TEXT_BYTES = 2000
"""Of an error response that is no problem document."""
STATUS_CODES = {401: "AUTH_REQUIRED", 403: "AUTH_REQUIRED", 404: "AGENT_NOT_FOUND"}
"""HTTP status → error code, where the remote sends no code of its own."""


@dataclass(frozen=True, slots=True)
class RemoteResponse:
    status: int
    headers: httpx2.Headers
    content: bytes
    url: str

    def json(self) -> Any:
        try:
            return loads(self.content)
        except NotJson as exc:
            raise AgentFault(f"what is at {self.url} is not JSON: {exc.detail}", code="AGENT_PROTOCOL_ERROR") from exc

    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457) of an error; empty where there is none."""
        try:
            problem = loads(self.content)
        except NotJson:
            return {}
        return problem if isinstance(problem, dict) else {}

    def to_fault(self) -> AgentFault:
        """The error, with the remote's own text where it has one."""
        problem = self.problem()
        text = self.content[:MAX_ERROR_TEXT_BYTES].decode("utf-8", "replace").strip()
        reason = problem.get("detail") or problem.get("title") or text
        code = problem.get("code") if isinstance(problem.get("code"), str) else None
        detail = f"the remote agent refused ({self.status}): {reason}"
        return AgentFault(detail, code=code or STATUS_CODES.get(self.status, "AGENT_ERROR"))


async def send_request(
    client: httpx2.AsyncClient,
    url: str,
    limit: float,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: Any = None,
) -> RemoteResponse:
    """`limit`: seconds. Raises `httpx2.HTTPError` or `TimeoutError` where no response comes, `AgentFault` where it is
    too large."""
    with anyio.fail_after(limit):
        async with client.stream(method, url, headers=headers, json=body) as response:
            return await read_body(response)


async def read_body(response: httpx2.Response) -> RemoteResponse:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise AgentFault(
                f"what is at {response.url} is larger than {MAX_BODY_BYTES} bytes", code="AGENT_PROTOCOL_ERROR"
            )
    return RemoteResponse(response.status_code, response.headers, bytes(content), str(response.url))
