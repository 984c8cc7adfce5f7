"""HTTP client of a gateway: runs, threads, cancelling.

In: an `httpx.Client`. Out: AG-UI events as JSON objects, in their order. A refused request, or an unreachable gateway,
raises `GatewayError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from gateway.errors import AgentFault, GatewayError, NotFound

CONNECT_TIMEOUT_SECONDS = 10.0
RESPONSE_TIMEOUT_SECONDS = 30.0
END_EVENTS = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class Thread:
    """The stored state of a conversation."""

    messages: list[dict[str, Any]]
    interrupts: list[dict[str, Any]]
    """Interrupts that wait for an answer."""


class GatewayClient:
    """Calls the routes of one agent."""

    def __init__(self, client: httpx.Client, agent: str) -> None:
        self._client = client
        self._agent = agent
        self._client.timeout = httpx.Timeout(RESPONSE_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)

    def thread(self, thread_id: str) -> Thread:
        """Empty if the gateway does not know it."""
        with translate_errors():
            response = self._client.get(f"{self._path}/threads/{quote(thread_id, safe='')}")
        if response.status_code == NotFound.status and response.json().get("code") == "UNKNOWN_THREAD":
            return Thread([], [])
        check_response(response)
        body = response.json()
        return Thread(body["messages"], body["interrupts"])

    def run(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """One run, event by event."""
        # No read timeout: an agent may think for long, and the gateway has its own `stall_timeout`.
        timeout = httpx.Timeout(RESPONSE_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS, read=None)
        has_ended = False
        with translate_errors(), self._client.stream("POST", self._path, json=body, timeout=timeout) as response:
            if response.status_code != 200:
                response.read()
                check_response(response)
            for line in response.iter_lines():
                if line.startswith("data:"):
                    event = orjson.loads(line[5:])
                    has_ended = event["type"] in END_EVENTS
                    yield event
        if not has_ended:
            raise AgentFault("the stream ended before the run did", code="STREAM_INTERRUPTED")

    def cancel(self, run_id: str) -> None:
        """Asks the gateway to cancel the run; its stream then ends."""
        with suppress(httpx.HTTPError):  # the run may be over by now; its stream has the outcome
            self._client.post(f"/runs/{quote(run_id, safe='')}/cancel")

    @property
    def _path(self) -> str:
        return f"/agents/{quote(self._agent, safe='')}"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raises `GatewayError` for errors of httpx."""
    try:
        yield
    except httpx.ConnectError as exc:
        raise GatewayError(f"{exc.request.url} cannot be reached: {exc}", code="UNREACHABLE") from exc
    except httpx.HTTPError as exc:
        raise GatewayError(f"the connection to the gateway broke: {exc or type(exc).__name__}") from exc


def check_response(response: httpx.Response) -> None:
    """Raises `GatewayError` for a response that is not successful, with the detail of its problem+json."""
    if response.is_success:
        return
    try:
        problem = response.json()
        raise GatewayError(problem["detail"], code=problem["code"])
    except (ValueError, KeyError, TypeError):
        status = f"{response.status_code} {response.reason_phrase}".strip()
        raise GatewayError(f"{response.request.url} answers {status}. Is it an agui-gateway?") from None
