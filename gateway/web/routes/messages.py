"""Messages to a thread, without a run around them, and the thread's events, which report what became of each.

POST /agents/{agent}/threads/{thread}/messages   accepted, with a receipt; or refused before anything is stored
GET  /agents/{agent}/threads/{thread}/events     Agent Relay's session events, numbered, above the last one you have
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.agui.message_input import MessageInput, as_turn, read
from gateway.capabilities.check import DROPPED
from gateway.capabilities.merge import Snapshot
from gateway.capability_paths import STEERING
from gateway.encode.negotiate import ENCODERS
from gateway.encode.sse import CONTENT_TYPE
from gateway.errors import NotCapable
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.web.event_stream import EventStream
from gateway.web.request_body import read_json_body
from gateway.web.routes.runs import read_after
from gateway.web.routes.threads import read_target


async def post(request: Request) -> Response:
    """202: the message will be delivered, or the thread's events report why not."""
    gateway, agent, thread = read_target(request)
    posted = read(await read_json_body(request, gateway.settings))
    await _check_message(gateway, agent, thread, posted)
    record = await gateway.dispatcher.accept(thread, posted)
    body = {
        "deliveryId": record.delivery_id,
        "messageId": record.message_id,
        "status": record.status,
        "delivery": record.mode,
        "runId": record.run_id,
        "reason": record.reason,
    }
    return JSONResponse({key: value for key, value in body.items() if value is not None}, 202)


async def _check_message(gateway: Gateway, agent: Agent, thread: ThreadKey, posted: MessageInput) -> None:
    """Against the snapshot, as a run is; but a message is taken whole or not at all. Raises `NotCapable`."""
    _ = agent.usable_driver
    turn = as_turn(posted.message, posted.forwarded_props, thread.thread_id, "posted")
    checked = await gateway.checked_runs.check(agent, turn, thread.principal)
    for notice in checked.turn.warnings:
        if notice.code == DROPPED:
            pointer = notice.pointer.replace("/messages/0", "/message", 1)
            raise NotCapable(notice.message.replace(notice.pointer, pointer, 1), **notice.detail, pointer=pointer)
    if posted.delivery == "next-tool-call":
        _check_steering(checked.current.snapshot, thread, posted)


def _check_steering(snapshot: Snapshot, thread: ThreadKey, posted: MessageInput) -> None:
    advice = "Post it with the delivery on-idle or immediate."
    if snapshot.get(STEERING) is not True:
        value = f"{STEERING} is {'false' if snapshot.get(STEERING) is False else 'not known'}"
        raise NotCapable(
            f"{thread.agent!r} takes no message while its turn is under way: {value}, "
            f"said by {snapshot.who(STEERING)}. {advice}",
            capability=STEERING,
            source=snapshot.who(STEERING),
            pointer="/delivery",
        )
    if not posted.plain:
        raise NotCapable(
            f"a turn under way takes text only, and this message has other parts. {advice}",
            capability=STEERING,
            source="gateway",
            pointer="/message/content",
        )


async def events(request: Request) -> ASGIApp:
    """What is stored above `Last-Event-ID` or `?after=`, then what happens, as long as the client stays."""
    gateway, _, thread = read_target(request)
    after = read_after(request)
    if request.method == "HEAD":
        return Response(headers={"cache-control": "no-store"}, media_type=CONTENT_TYPE)
    return ThreadEventStream(gateway, thread, after)


class ThreadEventStream:
    """An ASGI response that lasts as long as its client stays."""

    def __init__(self, gateway: Gateway, thread: ThreadKey, after: int) -> None:
        self._gateway = gateway
        self._thread = thread
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._gateway.thread_events.read(self._thread, self._after) as reader:
            await EventStream(reader, ENCODERS["sse"], self._gateway.settings)(scope, receive, send)
