"""Messages to a thread outside of a run, and the thread's feed, which reports what became of each.

POST /agents/{agent}/threads/{thread}/messages   accepted, with a receipt; or refused before anything is stored
GET  /agents/{agent}/threads/{thread}/events     Agent Relay's session events, numbered, after the last one you have
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.agui.message_input import MessageInput, read_message_input, to_turn
from gateway.capabilities.check import CONTENT_DROPPED
from gateway.capabilities.merge import Snapshot
from gateway.capability_paths import STEERING
from gateway.encode import sse
from gateway.errors import NotCapable
from gateway.identity import Caller, ThreadKey
from gateway.registry.agents import Agent
from gateway.service.gateway import Gateway
from gateway.web.event_stream import EventStream
from gateway.web.request_body import read_json_body
from gateway.web.routes.runs import read_after
from gateway.web.routes.threads import read_target


async def post(request: Request) -> Response:
    """202: the message will be delivered, or the thread's feed reports why not."""
    gateway, agent, thread = read_target(request)
    message = await read_json_body(request, read_message_input)
    await _check_message(gateway, agent, thread, request.state.caller, message)
    record = await gateway.dispatcher.accept(thread, message)
    receipt = {
        "deliveryId": record.delivery_id,
        "messageId": record.message_id,
        "status": record.status,
        "delivery": record.mode,
        "runId": record.run_id,
        "reason": record.reason,
    }
    return JSONResponse({key: value for key, value in receipt.items() if value is not None}, 202)


async def _check_message(
    gateway: Gateway, agent: Agent, thread: ThreadKey, caller: Caller, message: MessageInput
) -> None:
    """Checks the message against the snapshot, as a run is checked. But where a run goes on without the content that
    the agent does not take, a message is refused as a whole. Raises `NotCapable`."""
    _ = agent.usable_driver
    turn = to_turn(message.message, message.forwarded_props, thread.thread_id, "posted")
    checked = await gateway.checked_runs.check(agent, turn, caller)
    for notice in checked.turn.warnings:
        if notice.code == CONTENT_DROPPED:
            pointer = notice.pointer.replace("/messages/0", "/message", 1)
            raise NotCapable(notice.message.replace(notice.pointer, pointer, 1), **notice.detail, pointer=pointer)
    if message.delivery == "next-tool-call":
        _check_steering(checked.current.snapshot, thread, message)


def _check_steering(snapshot: Snapshot, thread: ThreadKey, message: MessageInput) -> None:
    """Raises `NotCapable` if the agent cannot take this message while its turn is running."""
    hint = "Post it with the delivery on-idle or immediate."
    if snapshot.get(STEERING) is not True:
        source = snapshot.source_of(STEERING)
        state = f"false, stated by {source}" if snapshot.get(STEERING) is False else "not known"
        raise NotCapable(
            f"{thread.agent!r} takes no message while its turn is running: {STEERING} is {state}. {hint}",
            capability=STEERING,
            source=source,
            pointer="/delivery",
        )
    if not message.is_plain_text:
        raise NotCapable(
            f"a turn that is running takes text only, and this message has other parts. {hint}",
            capability=STEERING,
            source="gateway",
            pointer="/message/content",
        )


async def events(request: Request) -> ASGIApp:
    """The stored events above `Last-Event-ID` or `?after=`, then new ones until the client disconnects."""
    gateway, _, thread = read_target(request)
    after = read_after(request)
    if request.method == "HEAD":
        return Response(headers={"cache-control": "no-store"}, media_type=sse.CONTENT_TYPE)
    return ThreadFeedResponse(gateway, thread, after)


class ThreadFeedResponse:
    """An ASGI response that lasts until the client disconnects or the gateway stops."""

    def __init__(self, gateway: Gateway, thread: ThreadKey, after: int) -> None:
        self._gateway = gateway
        self._thread = thread
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._gateway.thread_events.read(self._thread, self._after) as reader:
            await EventStream(reader, sse.ENCODER, self._gateway.settings)(scope, receive, send)
