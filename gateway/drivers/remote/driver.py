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
import httpx
from anyio import CancelScope

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.address_policy import PinnedTransport
from gateway.drivers.base import Opening
from gateway.drivers.probe import Availability
from gateway.drivers.remote.controls import RemoteControls
from gateway.drivers.remote.decoder import ACCEPT
from gateway.drivers.remote.http import Answer, ask, read
from gateway.drivers.remote.requests import escape_segment, far_availability, headers, of_the_agent, run_input
from gateway.drivers.remote.turn import RemoteTurn
from gateway.errors import AgentFault, GatewayError
from gateway.events import Layer
from gateway.jsonio import dumps
from gateway.turn import HOPS, Turn

log = logging.getLogger(__name__)

PAUSE = 0.2
"""Before the second try; twice as long before each further one."""
AGAIN = frozenset((502, 503, 504))
"""Answers of whoever stands before the agent: it has not begun."""
CAPABILITIES_LIMIT = 10.0


class RemoteDriver:
    question_window = 0.0
    local = False

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.remote is not None  # the definition was checked
        self._definition, self._remote, self._tasks = definition, definition.remote, tasks
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(self._remote.connect_timeout, read=None, pool=None),
            headers=headers(self._remote, definition, os.environ),
            transport=PinnedTransport(private=definition.private),
            trust_env=False,
            follow_redirects=False,  # a redirect would take the token along to whoever it names
        )
        self._announced: Mapping[str, Any] = {}
        self._far: Availability | None = None
        """What a mounted gateway says of its agent."""
        self._etag: str | None = None
        self._asked = 0.0
        self._asking = False
        self._refreshing: CancelScope | None = None
        self._failures = 0
        self._circuit_open_until = 0.0
        self._why = ""
        self.probed = False

    # -- what it says of itself

    async def handshake_layer(self) -> Mapping[str, Any]:
        """What is known; asked for again in the background when that is old."""
        if time.monotonic() - self._asked > self._remote.refresh and not self._asking:
            self._asking = True
            self._tasks.start_soon(self._refresh)
        return self._announced

    async def _refresh(self) -> None:
        try:
            with CancelScope() as self._refreshing:
                await self.probe()
        except AgentFault as exc:
            log.info("agent %s: its capabilities cannot be had: %s", self._definition.id, exc.detail)

    async def probe(self) -> None:
        url = self._capabilities_url()
        self._asking = True
        try:
            if url:
                await self._ask(url)
            if self._definition.via:
                self._far = far_availability(await self._json(self._remote.url))
            self.probed = True
        finally:
            self._asking, self._asked = False, time.monotonic()

    def _capabilities_url(self) -> str:
        told = self._remote.capabilities
        return f"{self._remote.url.rstrip('/')}/capabilities" if told is None else told

    async def _ask(self, url: str) -> None:
        answer = await self._get(url, {"if-none-match": self._etag} if self._etag else {})
        if answer.status == 404 and self._remote.capabilities is None:
            return  # an endpoint that is no gateway tells none
        if answer.status == 304:
            return
        if answer.status != 200:
            raise answer.refusal()
        told = answer.json()
        if isinstance(told, dict):
            self._announced, self._etag = of_the_agent(told), answer.headers.get("etag")

    async def _get(
        self, url: str, more: Mapping[str, str] | None = None, *, method: str = "GET", body: Any = None
    ) -> Answer:
        headers = {"accept": "application/json", **(more or {})}
        try:
            answer = await ask(self._open, url, CAPABILITIES_LIMIT, headers, method=method, body=body)
        except (httpx.HTTPError, TimeoutError) as exc:
            raise self._failed(exc) from exc
        self._worked()
        return answer

    @property
    def remote_proxy(self) -> RemoteDriver | None:
        return self if self._definition.via else None

    async def asked(self, path: Sequence[str], query: str, method: str) -> tuple[int, str, bytes]:
        below = "".join(f"/{escape_segment(name)}" for name in path)
        answer = await self.below(f"{below}?{query}" if query else below, method=method)
        return answer.status, answer.headers.get("content-type", "application/json"), answer.content

    async def below(self, path: str, *, method: str = "GET", body: Any = None) -> Answer:
        """Of another gateway's agent: its threads, and what they have."""
        return await self._get(self._remote.url + path, method=method, body=body)

    async def _json(self, url: str) -> Any:
        answer = await self._get(url)
        if answer.status != 200:
            raise answer.refusal()
        return answer.json()

    async def availability(self) -> Availability:
        if time.monotonic() < self._circuit_open_until:
            why = f"it failed {self._failures} times in a row: {self._why}"
            return Availability("broken", why, "it is tried again soon")
        return Availability("broken", self._why) if self._failures else self._far or Availability()

    async def models(self) -> list[Mapping[str, Any]] | None:
        """Another gateway's are asked for there (`remote_proxy`); what any other endpoint has, nobody can ask."""
        return None

    # -- runs

    async def open(self, opening: Opening) -> RemoteSession:
        thread_id = opening.session_id or opening.thread_id
        controls = RemoteControls(thread_id, self.below, lambda: self._announced) if self._definition.via else None
        return RemoteSession(self, thread_id, controls)

    def run(self, turn: Turn, controls: RemoteControls | None) -> RemoteTurn:
        live = RemoteTurn(partial(self.respond, dumps(run_input(turn)), turn.hops))
        self._tasks.start_soon(self._play, live, controls)
        return live

    async def _play(self, live: RemoteTurn, controls: RemoteControls | None) -> None:
        await live.play()
        if controls is not None and not self._client.is_closed:
            try:
                await controls.look()  # a turn may have changed what its session has
            except GatewayError as exc:
                log.info("agent %s: what the thread has cannot be had: %s", self._definition.id, exc.detail)

    async def respond(self, body: bytes, hops: Sequence[str] = ()) -> httpx.Response:
        """Tried again only as long as nothing has come: then the agent has not begun, or nobody will ever know."""
        left = self._circuit_open_until - time.monotonic()
        if left > 0:
            times = f"the remote agent failed {self._failures} times in a row ({self._why})"
            raise AgentFault(
                f"{times}: it is left alone for {left:.0f} s", code="AGENT_CIRCUIT_OPEN", retryAfter=round(left)
            )
        for attempt in range(self._remote.retries + 1):
            last = attempt == self._remote.retries
            try:
                response = await self._post(body, hops)
            except httpx.HTTPError as exc:
                fault = self._failed(exc)
                if last or not isinstance(exc, httpx.ConnectError | httpx.ConnectTimeout):
                    raise fault from exc
            else:
                if response.status_code < 300:
                    self._worked()
                    return response
                try:
                    if response.status_code not in AGAIN or last:
                        raise (await read(response)).refusal()
                finally:
                    await response.aclose()
            await anyio.sleep(PAUSE * 2**attempt)
        raise AssertionError("the last try returns or raises")

    async def _post(self, body: bytes, hops: Sequence[str]) -> httpx.Response:
        accept = {"accept": ACCEPT[self._remote.format], "content-type": "application/json"}
        told = {HOPS: ", ".join(hops)} if hops else {}
        request = self._open.build_request("POST", self._remote.url, content=body, headers=accept | told)
        return await self._open.send(request, stream=True)

    @property
    def _open(self) -> httpx.AsyncClient:
        """The client, while there is one: whoever found the agent a moment ago may come when it has been replaced."""
        if self._client.is_closed:
            raise AgentFault("the agent was replaced or removed meanwhile; ask again", code="AGENT_REMOVED")
        return self._client

    def _failed(self, exc: BaseException) -> AgentFault:
        self._failures += 1
        self._why = f"{type(exc).__name__}: {exc}".rstrip(": ")
        breaker = self._remote.circuit_breaker
        if self._failures >= breaker.failures:
            self._circuit_open_until = time.monotonic() + breaker.cooldown
        return AgentFault(f"the remote agent cannot be reached: {self._why}", code="AGENT_UNREACHABLE")

    def _worked(self) -> None:
        self._failures, self._circuit_open_until = 0, 0.0

    async def aclose(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        await self._client.aclose()


class RemoteSession:
    """The remote keeps its own threads: a run names its thread. At another gateway that is a place to come back to, and
    to look at and set."""

    alive = True

    def __init__(self, driver: RemoteDriver, thread_id: str, controls: RemoteControls | None) -> None:
        self._driver, self._thread_id, self.controls = driver, thread_id, controls

    @property
    def id(self) -> str | None:
        return None if self.controls is None else self._thread_id

    @property
    def kept(self) -> bool:
        return self.controls is not None

    @property
    def session_layer(self) -> Layer:
        return {} if self.controls is None else self.controls.session_layer

    async def start(self, turn: Turn) -> RemoteTurn:
        return self._driver.run(replace(turn, thread_id=self._thread_id), self.controls)

    async def aclose(self) -> None:
        return None
