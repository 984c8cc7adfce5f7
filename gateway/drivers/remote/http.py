"""What a remote answers with one body, read whole: within a time, and up to a size.

In: a question, or an answer whose body is still to come. Out: the answer, read. What a stranger sends must fill neither
the memory nor the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from gateway.errors import AgentFault, NotJson
from gateway.jsonio import loads

LARGEST = 8 * 1024 * 1024
"""Bytes of an answer: a gateway lists a thousand agents in less."""
SHOWN = 2000
"""Of a refusal that is no problem document."""
CODES = {401: "AUTH_REQUIRED", 403: "AUTH_REQUIRED", 404: "AGENT_NOT_FOUND"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    content: bytes
    url: str

    def json(self) -> Any:
        try:
            return loads(self.content)
        except NotJson as exc:
            raise AgentFault(f"what is at {self.url} is not JSON: {exc.detail}", code="AGENT_PROTOCOL_ERROR") from exc

    def problem(self) -> dict[str, Any]:
        """A problem document, empty where it is none."""
        try:
            told = loads(self.content)
        except NotJson:
            return {}
        return told if isinstance(told, dict) else {}

    def refusal(self) -> AgentFault:
        """The remote's own words, where it has some."""
        problem, text = self.problem(), self.content[:SHOWN].decode("utf-8", "replace").strip()
        words = problem.get("detail") or problem.get("title") or text
        code = problem.get("code") if isinstance(problem.get("code"), str) else None
        detail = f"the remote agent refused ({self.status}): {words}"
        return AgentFault(detail, code=code or CODES.get(self.status, "AGENT_ERROR"))


async def ask(
    client: httpx.AsyncClient,
    url: str,
    within: float,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: Any = None,
) -> Answer:
    """Raises `httpx.HTTPError` or `TimeoutError` where no answer comes, `AgentFault` where it is too large."""
    with anyio.fail_after(within):
        async with client.stream(method, url, headers=headers, json=body) as response:
            return await read(response)


async def read(response: httpx.Response) -> Answer:
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > LARGEST:
            raise AgentFault(f"what is at {response.url} is larger than {LARGEST} bytes", code="AGENT_PROTOCOL_ERROR")
    return Answer(response.status_code, response.headers, bytes(content), str(response.url))
