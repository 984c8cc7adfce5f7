"""One run at a remote agent, from the request to the end of its events."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx
from anyio import CancelScope

from gateway.drivers.event_queue import EventQueue
from gateway.drivers.remote.decoder import reader_for
from gateway.errors import AgentFault
from gateway.events import AguiEvent, Event, TurnEnded
from gateway.turn import Answer

log = logging.getLogger(__name__)

LINGER = 1.0
"""Seconds for the end of a body whose last event has come: a connection that is read to its end serves the next run."""
FULL = 1024 * 1024
"""Bytes whose events may wait for a run that reads; past this the remote waits."""
ENDS = ("RUN_FINISHED", "RUN_ERROR")


Respond = Callable[[], Awaitable[httpx.Response]]
"""Sends the run; the answer's head, its body still to come. Raises `AgentFault`."""


class _Answer:
    """The remote's, while its body comes."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.content_type: str = response.headers.get("content-type", "")
        self.body = response.aiter_raw()

    async def close_driver_sessions(self, *, read: bool) -> None:
        """`read`: to its end, if that comes soon."""
        with CancelScope(shield=True):
            try:
                with anyio.move_on_after(LINGER):
                    while read and await anext(self.body, None) is not None:
                        pass
                with anyio.move_on_after(LINGER):
                    await self._response.aclose()
            except httpx.HTTPError:
                pass  # the run is over: how its connection ends is nobody's concern
            except Exception:  # likewise; but nothing else should come, and it must not take the whole gateway along
                log.exception("the connection of a remote turn could not be closed")


class RemoteTurn:
    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._queue = EventQueue()
        self._scope = CancelScope()
        self._done = anyio.Event()
        self._ended = False
        self._cancelled = False

    async def next(self) -> list[Any]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        return None  # a remote run that asks has ended: the answers go with the next one's input

    async def steer(self, message_id: str, text: str) -> bool:
        return False

    async def cancel(self) -> None:
        """Closing the connection is AG-UI's way to stop a run."""
        self._cancelled = True
        self._scope.cancel()

    async def aclose(self) -> None:
        self._scope.cancel()
        self._queue.close()
        await self._done.wait()

    async def play(self) -> None:
        """The turn's task."""
        error: AgentFault | None = None
        answer: _Answer | None = None
        try:
            with self._scope:
                answer = _Answer(await self._respond())
                await self._follow(answer)
        except AgentFault as exc:
            error = exc
        except httpx.HTTPError as exc:
            error = AgentFault(f"the agent's connection broke: {type(exc).__name__}: {exc}", code="AGENT_DIED")
        except Exception:  # a defect here must not take the whole gateway along
            log.exception("a remote turn failed inside the gateway")
            error = AgentFault("the gateway itself failed; its log says how", code="INTERNAL_ERROR")
        finally:
            if self._cancelled and not self._ended:
                self._queue.extend([TurnEnded("cancelled")])
                error = None
            self._queue.close(error)
            self._done.set()
            if answer is not None:
                await answer.close_driver_sessions(read=self._ended)

    async def _follow(self, answer: _Answer) -> None:
        """To the event that ends the run: what may come after it, no client would take."""
        reader = reader_for(answer.content_type)
        waiting = 0
        async for data in answer.body:
            events = reader.feed(data)
            waiting = len(data) + (waiting if len(self._queue) else 0)
            self._queue.extend(events)
            self._ended = any(map(_ends, events))
            if self._ended:
                return
            if reader.fault is not None:
                raise reader.fault
            if waiting >= FULL:
                await self._queue.room()
        reader.eof()
        raise AgentFault("the agent's stream ended without RUN_FINISHED or RUN_ERROR", code="AGENT_DIED")


def _ends(event: Event) -> bool:
    return type(event) is AguiEvent and event.event.get("type") in ENDS
