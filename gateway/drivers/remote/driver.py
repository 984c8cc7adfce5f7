"""An AG-UI endpoint elsewhere: its runs, its capabilities, and whether it can be reached."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import httpx2
from anyio import CancelScope

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.address_policy import pinned_client
from gateway.drivers.base import Opening
from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability
from gateway.drivers.remote.circuit_breaker import CircuitBreaker
from gateway.drivers.remote.controls import RemoteControls
from gateway.drivers.remote.decoder import ACCEPT
from gateway.drivers.remote.http import RemoteResponse, read_body, send_request
from gateway.drivers.remote.requests import (
    agent_capabilities,
    describe_error,
    escape_segment,
    read_availability,
    request_headers,
    run_input,
)
from gateway.drivers.remote.turn import RemoteTurn
from gateway.drivers.session_base import ControlledSession
from gateway.errors import AgentFault, GatewayError
from gateway.jsonio import dumps
from gateway.turn import HOPS, Turn

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS = 0.2
"""Before the second attempt; twice as long before each further one."""
RETRY_STATUSES = frozenset((502, 503, 504))
"""Responses of a proxy in front of the agent: the agent has not begun."""
REQUEST_TIMEOUT_SECONDS = 10.0
"""Of every request that is not a run."""


class RemoteDriver:
    question_window = 0.0
    is_local = False
    transport_index = 0

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.remote is not None  # the definition was checked
        self._definition = definition
        self._remote = definition.remote
        self._tasks = tasks
        self._http = pinned_client(
            private=definition.private,
            timeout=httpx2.Timeout(self._remote.connect_timeout, read=None, pool=None),
            headers=request_headers(self._remote, definition, os.environ),
        )
        self._breaker = CircuitBreaker(self._remote.circuit_breaker)
        self._layer: Mapping[str, Any] = {}
        self._etag: str | None = None
        self._remote_availability: Availability | None = None
        """Of a mounted agent, as its own gateway states it."""
        self._probed_at = 0.0
        self._is_probing = False
        self._refresh_scope: CancelScope | None = None
        self.is_probed = False

    # -- capabilities

    async def handshake_layer(self) -> Mapping[str, Any]:
        """What is known now. When that is old it is fetched again in the background."""
        if time.monotonic() - self._probed_at > self._remote.refresh and not self._is_probing:
            self._is_probing = True
            self._tasks.start_soon(self._refresh)
        return self._layer

    async def _refresh(self) -> None:
        try:
            with CancelScope() as self._refresh_scope:
                await self.probe()
        except AgentFault as exc:
            log.info("agent %s: its capabilities cannot be fetched: %s", self._definition.id, exc.detail)

    async def probe(self) -> None:
        url = self._capabilities_url()
        self._is_probing = True
        try:
            if url:
                await self._fetch_capabilities(url)
            if self._definition.via:
                self._remote_availability = read_availability(await self._fetch_json(self._remote.url))
            self.is_probed = True
        finally:
            self._is_probing = False
            self._probed_at = time.monotonic()

    def _capabilities_url(self) -> str:
        configured = self._remote.capabilities
        return f"{self._remote.url.rstrip('/')}/capabilities" if configured is None else configured

    async def _fetch_capabilities(self, url: str) -> None:
        response = await self._request(url, {"if-none-match": self._etag} if self._etag else {})
        if response.status == 404 and self._remote.capabilities is None:
            return  # an AG-UI endpoint that is no gateway has no such resource
        if response.status == 304:
            return
        if response.status != 200:
            raise response.to_fault()
        snapshot = response.json()
        if isinstance(snapshot, dict):
            self._layer = agent_capabilities(snapshot)
            self._etag = response.headers.get("etag")

    async def availability(self, home: Home | None = None) -> Availability:
        breaker = self._breaker
        if breaker.open_seconds > 0:
            reason = f"it failed {breaker.failures} times in a row: {breaker.reason}"
            return Availability("broken", reason, "it is tried again soon")
        if breaker.failures:
            return Availability("broken", breaker.reason)
        return self._remote_availability or Availability()

    async def models(self) -> list[Mapping[str, Any]] | None:
        """Those of a mounted agent are fetched from its gateway (`remote_proxy`). Other endpoints cannot list any."""
        return None

    # -- requests

    @property
    def remote_proxy(self) -> RemoteDriver | None:
        return self if self._definition.via else None

    async def fetch(self, path: Sequence[str], query: str, method: str) -> tuple[int, str, bytes]:
        below = "".join(f"/{escape_segment(segment)}" for segment in path)
        response = await self._request_below(f"{below}?{query}" if query else below, method=method)
        return response.status, response.headers.get("content-type", "application/json"), response.content

    async def _request_below(self, path: str, *, method: str = "GET", body: Any = None) -> RemoteResponse:
        """Below the agent's URL at its gateway: its threads and their resources."""
        return await self._request(self._remote.url + path, method=method, body=body)

    async def _fetch_json(self, url: str) -> Any:
        response = await self._request(url)
        if response.status != 200:
            raise response.to_fault()
        return response.json()

    async def _request(
        self, url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", body: Any = None
    ) -> RemoteResponse:
        all_headers = {"accept": "application/json", **(headers or {})}
        try:
            response = await send_request(
                self._client, url, REQUEST_TIMEOUT_SECONDS, all_headers, method=method, body=body
            )
        except (httpx2.HTTPError, TimeoutError) as exc:
            raise self._add_failure(exc) from exc
        self._breaker.add_success()
        return response

    @property
    def _client(self) -> httpx2.AsyncClient:
        """A caller may have found the agent just before it was replaced: then the client is closed."""
        if self._http.is_closed:
            raise AgentFault("the agent was replaced or removed meanwhile; try again", code="AGENT_REMOVED")
        return self._http

    def _add_failure(self, exc: BaseException) -> AgentFault:
        self._breaker.add_failure(describe_error(exc))
        return AgentFault(f"the remote agent cannot be reached: {self._breaker.reason}", code="AGENT_UNREACHABLE")

    # -- runs

    async def open(self, opening: Opening) -> RemoteSession:
        thread_id = opening.session_id or opening.thread_id
        if not self._definition.via:
            return RemoteSession(self, thread_id, None)
        return RemoteSession(self, thread_id, RemoteControls(thread_id, self._request_below, lambda: self._layer))

    def start_turn(self, turn: Turn, controls: RemoteControls | None) -> RemoteTurn:
        live = RemoteTurn(partial(self._post_run, dumps(run_input(turn)), turn.hops))
        self._tasks.start_soon(self._play, live, controls)
        return live

    async def _play(self, live: RemoteTurn, controls: RemoteControls | None) -> None:
        await live.play()
        if controls is not None and not self._http.is_closed:
            try:
                await controls.refresh()  # a turn may change the settings of its session
            except GatewayError as exc:
                log.info("agent %s: the thread's settings cannot be fetched: %s", self._definition.id, exc.detail)

    async def _post_run(self, body: bytes, hops: Sequence[str] = ()) -> httpx2.Response:
        """The response, its body still to come. Retried only while the agent cannot have begun: the connection failed,
        or a proxy in front of the agent answered."""
        if (seconds := self._breaker.open_seconds) > 0:
            failures = f"the remote agent failed {self._breaker.failures} times in a row ({self._breaker.reason})"
            raise AgentFault(
                f"{failures}: no request is sent for {seconds:.0f} s",
                code="AGENT_CIRCUIT_OPEN",
                retryAfter=round(seconds),
            )
        for attempt in range(self._remote.retries + 1):
            is_last = attempt == self._remote.retries
            try:
                response = await self._post(body, hops)
            except httpx2.HTTPError as exc:
                fault = self._add_failure(exc)
                if is_last or not isinstance(exc, httpx2.ConnectError | httpx2.ConnectTimeout):
                    raise fault from exc
            else:
                if response.status_code < 300:
                    self._breaker.add_success()
                    return response
                try:
                    if response.status_code not in RETRY_STATUSES or is_last:
                        raise (await read_body(response)).to_fault()
                finally:
                    await response.aclose()
            await anyio.sleep(FIRST_RETRY_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _post(self, body: bytes, hops: Sequence[str]) -> httpx2.Response:
        headers = {"accept": ACCEPT[self._remote.format], "content-type": "application/json"}
        if hops:
            headers[HOPS] = ", ".join(hops)
        request = self._client.build_request("POST", self._remote.url, content=body, headers=headers)
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        if self._refresh_scope is not None:
            self._refresh_scope.cancel()
        await self._http.aclose()


class RemoteSession(ControlledSession[RemoteControls]):
    """The remote keeps its own threads: a run names its thread. A thread of a mounted agent can be resumed, and has
    controls."""

    def __init__(self, driver: RemoteDriver, thread_id: str, controls: RemoteControls | None) -> None:
        super().__init__(controls)
        self._driver = driver
        self._thread_id = thread_id

    async def start(self, turn: Turn) -> RemoteTurn:
        return self._driver.start_turn(replace(turn, thread_id=self._thread_id), self.controls)
