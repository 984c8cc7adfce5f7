"""Requests and sockets that are being answered, so that they end when the credential of their caller ends.

In: a caller, and its request. Out: the request's end, as soon as its token is revoked, changed or expired: a response
that has not begun becomes 401, a stream is finished, a WebSocket is closed. Callers whose credential cannot end (the
gateway's own user) are not kept track of, and cost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import Unauthorized
from gateway.identity import Caller
from gateway.web.problems import problem_response

CLOSE_POLICY_VIOLATION = 1008
"""https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number"""
REASON = "the token was revoked, changed or has expired"


@dataclass(slots=True, eq=False)
class LiveRequest:
    caller: Caller
    scope: anyio.CancelScope
    is_begun: bool = False
    is_ended: bool = False

    def watch(self, send: Send) -> Send:
        async def watched(message: Message) -> None:
            match message["type"]:
                case "http.response.start" | "websocket.accept" | "websocket.http.response.start":
                    self.is_begun = True
                case "http.response.body" | "websocket.http.response.body":
                    self.is_ended = not message.get("more_body", False)
                case "websocket.close":
                    self.is_ended = True
            await send(message)

        return watched


class LiveRequests:
    def __init__(self) -> None:
        self._live: set[LiveRequest] = set()

    def __len__(self) -> int:
        return len(self._live)

    def end_all(self, is_over: Callable[[Caller], bool]) -> None:
        """Ends the requests of all callers for which it is over."""
        for request in [each for each in self._live if is_over(each.caller)]:
            request.scope.cancel()

    async def serve(self, app: ASGIApp, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        deadline = float("inf")
        if caller.expires is not None:
            deadline = anyio.current_time() + caller.expires - time.time()
        request = LiveRequest(caller, anyio.CancelScope(deadline=deadline))
        self._live.add(request)
        try:
            with request.scope:
                await app(scope, receive, request.watch(send))
        finally:
            self._live.discard(request)
        if request.scope.cancelled_caught and not request.is_ended:
            await _finish(request, scope, receive, send)


async def _finish(request: LiveRequest, scope: Scope, receive: Receive, send: Send) -> None:
    """The response's end. A client that is gone already does not matter."""
    try:
        if not request.is_begun:
            await problem_response(Unauthorized(f"{REASON}: ask for a new one"))(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": CLOSE_POLICY_VIOLATION, "reason": REASON})
        else:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    except (OSError, RuntimeError):
        return
