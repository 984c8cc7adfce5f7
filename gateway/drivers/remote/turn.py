"""One run at a remote agent, from the request to the end of its events."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx2
from anyio import CancelScope

from gateway.drivers.event_queue import EventQueue
from gateway.drivers.remote.decoder import decoder_for
from gateway.errors import AgentFault
from gateway.events import AguiEvent, Event, TurnEnded
from gateway.turn import Answer

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 1.0
"""For the end of a body whose last event has come: a connection that is read to its end serves the next run."""
MAX_UNREAD_BYTES = 1024 * 1024
"""Bytes whose events may wait for the run that reads; with more the remote waits."""
END_EVENTS = ("RUN_FINISHED", "RUN_ERROR")


PostRun = Callable[[], Awaitable[httpx2.Response]]
"""Sends the run; the response, its body still to come. Raises `AgentFault`."""


class _Body:
    """The body of the response, while it comes."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.content_type: str = response.headers.get("content-type", "")
        self.chunks = response.aiter_raw()

    async def close(self, *, drain: bool) -> None:
        """`drain`: read it to its end first, if the end comes soon."""
        with CancelScope(shield=True):
            try:
                with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS):
                    while drain and await anext(self.chunks, None) is not None:
                        pass
                with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS):
                    await self._response.aclose()
            except httpx2.HTTPError:
                pass  # the run is over: how its connection ends does not matter
            except Exception:  # nothing else should come, and a defect here must not end the gateway
                log.exception("the connection of a remote turn could not be closed")


class RemoteTurn:
    def __init__(self, post_run: PostRun) -> None:
        self._post_run = post_run
        self._queue = EventQueue()
        self._scope = CancelScope()
        self._done = anyio.Event()
        self._has_ended = False
        self._is_cancelled = False

    async def next(self) -> list[Any]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        return None  # a remote run ends with its interrupts: the answers go into the input of the next run

    async def steer(self, message_id: str, text: str) -> bool:
        return False

    async def cancel(self) -> None:
        """An AG-UI client stops a run by closing the connection."""
        self._is_cancelled = True
        self._scope.cancel()

    async def aclose(self) -> None:
        self._scope.cancel()
        self._queue.close()
        await self._done.wait()

    async def play(self) -> None:
        """The turn's task."""
        error: AgentFault | None = None
        body: _Body | None = None
        try:
            with self._scope:
                body = _Body(await self._post_run())
                await self._read_events(body)
        except AgentFault as exc:
            error = exc
        except httpx2.HTTPError as exc:
            error = AgentFault(f"the agent's connection broke: {type(exc).__name__}: {exc}", code="AGENT_DIED")
        except Exception:  # a defect here must not end the gateway
            log.exception("a remote turn failed inside the gateway")
            error = AgentFault("the gateway itself failed; its log has the reason", code="INTERNAL_ERROR")
        finally:
            if self._is_cancelled and not self._has_ended:
                self._queue.extend([TurnEnded("cancelled")])
                error = None
            self._queue.close(error)
            self._done.set()
            if body is not None:
                await body.close(drain=self._has_ended)

    async def _read_events(self, body: _Body) -> None:
        """Up to the event that ends the run: clients accept none after it."""
        decoder = decoder_for(body.content_type)
        unread_bytes = 0
        async for data in body.chunks:
            events = decoder.feed(data)
            unread_bytes = len(data) + (unread_bytes if len(self._queue) else 0)
            self._queue.extend(events)
            self._has_ended = any(map(_is_end, events))
            if self._has_ended:
                return
            if decoder.fault is not None:
                raise decoder.fault
            if unread_bytes >= MAX_UNREAD_BYTES:
                await self._queue.wait_until_empty()
        decoder.eof()
        raise AgentFault("the agent's stream ended without RUN_FINISHED or RUN_ERROR", code="AGENT_DIED")


def _is_end(event: Event) -> bool:
    return type(event) is AguiEvent and event.event.get("type") in END_EVENTS
