"""A conversation with a gateway, over HTTP: runs, event by event; what a thread holds; cancelling.

In: an `httpx.Client`. Out: AG-UI events as JSON objects, in their order. A refusal, or a gateway that cannot be
reached, is a `GatewayError` with its sentence.
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

CONNECT_LIMIT = 10.0
ANSWER_LIMIT = 30.0
ENDS = ("RUN_FINISHED", "RUN_ERROR")


@dataclass(frozen=True, slots=True)
class Thread:
    messages: list[dict[str, Any]]
    interrupts: list[dict[str, Any]]
    """Questions that wait for an answer."""


class GatewayClient:
    def __init__(self, client: httpx.Client, agent: str) -> None:
        self._client, self._agent = client, agent
        self._client.timeout = httpx.Timeout(ANSWER_LIMIT, connect=CONNECT_LIMIT)

    def thread(self, thread_id: str) -> Thread:
        """Empty for one that is new."""
        with telling():
            answer = self._client.get(f"{self._path}/threads/{quote(thread_id, safe='')}")
        if answer.status_code == NotFound.status and answer.json().get("code") == "UNKNOWN_THREAD":
            return Thread([], [])
        check_answer(answer)
        known = answer.json()
        return Thread(known["messages"], known["interrupts"])

    def run(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """One run, event by event."""
        # Silence is no fault: an agent may think for long, and the gateway has a bound of its own.
        limit = httpx.Timeout(ANSWER_LIMIT, connect=CONNECT_LIMIT, read=None)
        ended = False
        with telling(), self._client.stream("POST", self._path, json=body, timeout=limit) as answer:
            if answer.status_code != 200:
                answer.read()
                check_answer(answer)
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    event = orjson.loads(line[5:])
                    ended = event["type"] in ENDS
                    yield event
        if not ended:
            raise AgentFault("the stream ended before the run did", code="STREAM_INTERRUPTED")

    def cancel(self, run_id: str) -> None:
        with suppress(httpx.HTTPError):  # it may be over by now; whoever reads the stream learns how it ended
            self._client.post(f"/runs/{quote(run_id, safe='')}/cancel")

    @property
    def _path(self) -> str:
        return f"/agents/{quote(self._agent, safe='')}"


@contextmanager
def telling() -> Iterator[None]:
    try:
        yield
    except httpx.ConnectError as exc:
        raise GatewayError(f"{exc.request.url} cannot be reached: {exc}", code="UNREACHABLE") from exc
    except httpx.HTTPError as exc:
        raise GatewayError(f"the connection to the gateway broke: {exc or type(exc).__name__}") from exc


def check_answer(answer: httpx.Response) -> None:
    """A refusal: `application/problem+json`, from a gateway; something else, from something else."""
    if answer.is_success:
        return
    try:
        problem = answer.json()
        raise GatewayError(problem["detail"], code=problem["code"])
    except (ValueError, KeyError, TypeError):
        what = f"{answer.status_code} {answer.reason_phrase}".strip()
        raise GatewayError(f"{answer.request.url} answers {what}: is that an agui-gateway?") from None
