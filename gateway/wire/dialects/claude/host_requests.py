"""Requests that Claude Code sends to its host: permissions, elicitations, calls of client tools.

In: `control_request` lines, and the client's answers. Out: `InterruptRequested` and `ClientToolsCalled`, and the
responses to Claude. A request that the run's policy decides is answered at once. Interrupts and client tool calls end
the run, so they are reported only when the streaming message is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from gateway.events import ClientToolCall, ClientToolsCalled, Custom, Event, Interrupt, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.claude.client_tools import ClientTools, call_response
from gateway.wire.dialects.claude.messages import MessageStream
from gateway.wire.dialects.claude.permissions import PermissionRequest, policy_response, to_interrupt, to_response
from gateway.wire.dialects.claude.subagents import Subagents
from gateway.wire.dialects.claude.tool_calls import ClaudeToolCalls
from gateway.wire.fields import non_empty, obj
from gateway.wire.mcp_server import SERVER, agent_call_id

UNSUPPORTED = "This host does not offer that."
UNSUPPORTED_REQUESTS = ("hook_callback", "mcp_message", "request_user_dialog")
"""Requests that Claude sends only to a host that declared them, which the gateway does not."""

Json = dict[str, Any]


@dataclass(slots=True)
class OpenRequest:
    """A request that waits for the client."""

    request_id: str
    question: Interrupt | ClientToolCall
    to_response: Callable[[Answer], Json]
    message_id: Any = None
    """The id of the MCP message in it."""
    is_reported: bool = False
    """The client has seen it."""


class HostRequests:
    def __init__(
        self,
        dialect: Dialect,
        calls: ClaudeToolCalls,
        main: MessageStream,
        subagents: Subagents,
        client_tools: ClientTools,
    ) -> None:
        self._dialect = dialect
        self._calls = calls
        self._main = main
        self._subagents = subagents
        self._client_tools = client_tools
        self._open: dict[str, OpenRequest] = {}
        """By the id of the interrupt or the tool call."""

    # -- the client's side

    def answer(self, question_id: str, answer: Answer) -> None:
        if (request := self._open.pop(question_id, None)) is not None:
            self._respond(request.request_id, request.to_response(answer))
        self._update_buffering()

    def cancel(self) -> None:
        for question_id in list(self._open):
            self.answer(question_id, Answer(question_id, "cancelled"))

    def clear(self) -> None:
        """Claude no longer waits for a response to anything."""
        self._open.clear()
        self._update_buffering()

    def report(self) -> list[Event]:
        """The events for requests that the client has not seen yet."""
        requests = [request for request in self._open.values() if not request.is_reported]
        if not requests or self._main.is_streaming:
            return []
        for request in requests:
            request.is_reported = True
        self._update_buffering()
        questions = [request.question for request in requests]
        interrupts = tuple(question for question in questions if isinstance(question, Interrupt))
        calls = tuple(question for question in questions if isinstance(question, ClientToolCall))
        events: list[Event] = [InterruptRequested(interrupts)] if interrupts else []
        return [*events, ClientToolsCalled(calls)] if calls else events

    def _update_buffering(self) -> None:
        """While the client has seen an open request, its run may end and another begin at any moment."""
        is_buffering = any(request.is_reported for request in self._open.values())
        self._main.buffer_calls(is_buffering)
        self._subagents.buffer_calls(is_buffering)

    # -- Claude's side

    def read(self, line: Json) -> list[Event] | None:
        """None: not understood."""
        request_id, params = non_empty(line.get("request_id")), obj(line.get("request"))
        if request_id is None:
            return None
        subtype = params.get("subtype")
        if subtype == "mcp_message" and params.get("server_name") == SERVER and self._client_tools.is_registered:
            return self._read_mcp(request_id, obj(params.get("message")))
        request = PermissionRequest(request_id, params)
        if request.tool in self._client_tools.names:  # the client decides whether its tool may run
            self._respond(request_id, {"behavior": "allow", "updatedInput": request.input})
            return []
        if request.tool is None and subtype != "elicitation":
            # An error approves nothing.
            response = {"subtype": "error", "request_id": request_id, "error": UNSUPPORTED}
            self._dialect.send({"type": "control_response", "response": response})
            is_known = subtype in UNSUPPORTED_REQUESTS
            return [Custom("claude.unsupported_request", {"subtype": subtype})] if is_known else None
        if (decided := policy_response(request, self._dialect.turn.approvals)) is not None:
            self._respond(request_id, decided)
            return []
        return self._ask_user(request)

    def withdraw(self, request_id: str | None) -> list[Event]:
        """Claude takes a request back."""
        return self._drop(lambda request: request.request_id == request_id)

    def _ask_user(self, request: PermissionRequest) -> list[Event]:
        interrupt_id = self._dialect.qualify_id(f"ask:{request.request_id}")
        if interrupt_id in self._open:
            return []
        params, stream, events = request.params, self._main, list[Event]()
        if non_empty(params.get("agent_id")) is not None:
            stream, events = self._subagents.find_stream(params)
        call_id = non_empty(params.get("tool_use_id"))
        if request.tool is not None and call_id is not None:
            events += self._calls.add_whole(call_id, request.tool, request.input, stream.subagent)
        interrupt = to_interrupt(request, interrupt_id, self._calls.find_id(call_id), stream.subagent)
        self._open[interrupt_id] = OpenRequest(request.request_id, interrupt, partial(to_response, request))
        return events

    def _read_mcp(self, request_id: str, message: Json) -> list[Event]:
        if message.get("method") == "notifications/cancelled":
            # If the client has seen the call, its result is dropped.
            message_id = obj(message.get("params")).get("requestId")
            self._drop(lambda request: request.message_id is not None and request.message_id == message_id)
        tool = self._client_tools.read_call(message)
        if tool is None or not self._dialect.is_busy:
            self._respond(request_id, self._client_tools.reply(message))
            return []
        params = obj(message.get("params"))
        native_id = agent_call_id(params) or request_id
        events = self._calls.add_whole(native_id, tool, obj(params.get("arguments")))
        call = self._calls.add(native_id)
        client_call = ClientToolCall(call.id, call.name, call.subagent)
        respond = partial(call_response, message)
        self._open[call.id] = OpenRequest(request_id, client_call, respond, message.get("id"))
        return events

    def _drop(self, is_dropped: Callable[[OpenRequest], bool]) -> list[Event]:
        """Forget requests; the client is informed about interrupts that it has seen."""
        events: list[Event] = []
        for question_id, request in list(self._open.items()):
            if is_dropped(request):
                del self._open[question_id]
                if request.is_reported and isinstance(request.question, Interrupt):
                    events.append(Custom("claude.question_withdrawn", {"id": question_id}))
        self._update_buffering()
        return events

    def _respond(self, request_id: str, response: Json) -> None:
        payload = {"subtype": "success", "request_id": request_id, "response": response}
        self._dialect.send({"type": "control_response", "response": payload})
