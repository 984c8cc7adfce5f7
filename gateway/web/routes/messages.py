"""Messages to a thread, without a run around them, and the thread's feed, which tells what became of each.

POST /agents/{agent}/threads/{thread}/messages   accepted, with a receipt; or refused before anything is kept
GET  /agents/{agent}/threads/{thread}/events     Agent Relay's session events, numbered, from where you were
"""

from __future__ import annotations

import logging
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.agui.message_input import MessageInput, as_turn, read
from gateway.capabilities.check import DROPPED
from gateway.capabilities.versions import Key
from gateway.capability_paths import STEERING
from gateway.encode.negotiate import ENCODERS
from gateway.encode.sse import CONTENT_TYPE
from gateway.errors import NotCapable
from gateway.registry.agents import Agent
from gateway.runs.readiness import Precondition
from gateway.runs.run import Run
from gateway.runs.thread_state import ThreadKey
from gateway.service.gateway import Gateway
from gateway.turn import Turn
from gateway.web.event_stream import EventStream
from gateway.web.request_body import read_json_body
from gateway.web.routes.runs import after_number, checked

log = logging.getLogger(__name__)


async def take_up(gateway: Gateway) -> None:
    """From here on messages are delivered: first those that the last gateway left."""

    async def begin(agent: Agent, turn: Turn, principal: str, calm: Precondition) -> Run:
        turn = replace(turn, hops=(gateway.id,))
        with agent.held():  # it may be replaced meanwhile
            return await gateway.engine.start(agent, await checked(gateway, agent, turn, principal), principal, calm)

    if left := await gateway.dispatcher.start(begin):
        log.info("%d message(s) waited for their threads when the last gateway ended", left)


async def post(request: Request) -> Response:
    """202: it will be delivered, or the feed tells why not."""
    gateway, agent, thread = _places(request)
    posted = read(await read_json_body(request, gateway.settings))
    await _hold(gateway, agent, thread, posted)
    record = await gateway.dispatcher.accept(thread, posted)
    told = {
        "deliveryId": record.delivery_id,
        "messageId": record.message_id,
        "status": record.status,
        "delivery": record.mode,
        "runId": record.run_id,
        "reason": record.reason,
    }
    return JSONResponse({key: value for key, value in told.items() if value is not None}, 202)


def _places(request: Request) -> tuple[Gateway, Agent, ThreadKey]:
    gateway: Gateway = request.app.state.gateway
    agent = gateway.agents[request.path_params["agent"]]
    return gateway, agent, ThreadKey(agent.definition.id, request.path_params["thread"], request.state.principal)


async def _hold(gateway: Gateway, agent: Agent, thread: ThreadKey, posted: MessageInput) -> None:
    """Against the snapshot, as a run is; but a message is taken whole or not at all. Raises `NotCapable`."""
    _ = agent.ready
    turn = as_turn(posted.message, posted.forwarded_props, thread.thread_id, "posted")
    for notice in (await checked(gateway, agent, turn, thread.principal)).warnings:
        if notice.code == DROPPED:
            pointer = notice.pointer.replace("/messages/0", "/message", 1)
            raise NotCapable(notice.message.replace(notice.pointer, pointer, 1), **notice.detail, pointer=pointer)
    if posted.delivery == "next-tool-call":
        await _hold_steering(gateway, thread, posted)


async def _hold_steering(gateway: Gateway, thread: ThreadKey, posted: MessageInput) -> None:
    snapshot = (await gateway.capability_source.current(Key(*thread))).snapshot
    instead = "Post it with the delivery on-idle or immediate."
    if snapshot.get(STEERING) is not True:
        said = f"{STEERING} is {'false' if snapshot.get(STEERING) is False else 'not known'}"
        raise NotCapable(
            f"{thread.agent!r} takes no message while its turn is under way: {said}, said by {snapshot.who(STEERING)}. "
            + instead,
            capability=STEERING,
            source=snapshot.who(STEERING),
            pointer="/delivery",
        )
    if not posted.plain:
        raise NotCapable(
            f"a turn under way takes text only, and this message has other parts. {instead}",
            capability=STEERING,
            source="gateway",
            pointer="/message/content",
        )


async def events(request: Request) -> ASGIApp:
    """What is kept above `Last-Event-ID` or `?after=`, then what happens, as long as the client stays."""
    gateway, _, thread = _places(request)
    after = after_number(request)
    if request.method == "HEAD":
        return Response(headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE)
    return Reading(gateway, thread, after)


class Reading:
    """An ASGI response that lasts as long as its client stays."""

    def __init__(self, gateway: Gateway, thread: ThreadKey, after: int) -> None:
        self._gateway, self._thread, self._after = gateway, thread, after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._gateway.feeds.read(self._thread, self._after) as reader:
            await EventStream(reader, ENCODERS["sse"], self._gateway.settings)(scope, receive, send)
