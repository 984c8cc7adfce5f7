"""Requests of `codex app-server`: approvals, input from the user, calls of client tools.

In: a request, and the client's answer to it. Out: `InterruptRequested` and `ClientToolsCalled`, and the responses to
Codex. A request that the run's policy decides, or that no turn waits for, is answered at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.events import ClientToolCall, ClientToolsCalled, Event, InterruptRequested
from gateway.turn import FEEDBACK_DROPPED, Answer
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.codex import permissions
from gateway.wire.dialects.codex.client_tools import ClientTools, call_result, refused_call_result
from gateway.wire.dialects.codex.permissions import PermissionRequest
from gateway.wire.dialects.codex.subagents import Threads
from gateway.wire.fields import non_empty, obj
from gateway.wire.jsonrpc import METHOD_NOT_FOUND

FEEDBACK_SUFFIX = ":feedback"
"""The end of the id of a message with the text that came with a denial."""


class ServerRequests:
    """The requests that wait for the client."""

    def __init__(self, dialect: Dialect, threads: Threads, client_tools: ClientTools) -> None:
        self._dialect = dialect
        self._threads = threads
        self._client_tools = client_tools
        self._permissions: dict[str, PermissionRequest] = {}
        """By the ids of their interrupts."""

    def clear(self) -> None:
        """The process has ended."""
        self._permissions.clear()

    def answer(self, interrupt_id: str, answer: Answer) -> list[Event]:
        """Returns warnings about what did not reach the agent."""
        if (request_id := self._client_tools.pop_call(interrupt_id)) is not None:
            self._respond(request_id, call_result(answer))
        if (request := self._permissions.pop(interrupt_id, None)) is None:
            return []
        self._respond(request.request_id, permissions.to_result(request, answer))
        return self._send_feedback(interrupt_id, request, answer)

    def _send_feedback(self, interrupt_id: str, request: PermissionRequest, answer: Answer) -> list[Event]:
        """A decision has no place for the user's text. It follows as a message, and the model, which waits for the
        result of the call, reads both at once."""
        if (feedback := permissions.read_feedback(request, answer)) is None:
            return []
        message, turn_goes_on = feedback
        if turn_goes_on and self._dialect.steer(f"{interrupt_id}{FEEDBACK_SUFFIX}", message):
            return []
        return [self._dialect.make_warning(FEEDBACK_DROPPED, "the denial stopped the turn: the feedback was not sent")]

    def drop(self, request_id: Any) -> None:
        """Codex no longer waits for a response to this request."""
        self._client_tools.drop_request(request_id)
        for interrupt_id, request in list(self._permissions.items()):
            if request.request_id == request_id and type(request.request_id) is type(request_id):
                del self._permissions[interrupt_id]

    def read(self, request_id: int | str, method: str, message: dict[str, Any]) -> list[Event]:
        params = obj(message.get("params"))
        if "threadId" in params and not self._threads.owns(params["threadId"]):
            return []
        if method == "item/tool/call":
            return self._call_client_tool(request_id, params)
        if method not in permissions.METHODS:
            error = {"code": METHOD_NOT_FOUND, "message": f"{method} is not served here"}
            self._dialect.send({"id": request_id, "error": error})
            return [self._dialect.to_raw(message)]
        request = PermissionRequest(request_id, method, params)
        if self._dialect.is_cancelled and self._dialect.is_busy:
            result: dict[str, Any] | None = permissions.to_result(request, Answer("", "cancelled"))
        else:
            result = permissions.policy_result(request, self._dialect.turn.approvals)
        if result is None:
            return self._ask_user(request)
        self._respond(request_id, result)
        return []

    def _respond(self, request_id: int | str, result: dict[str, Any]) -> None:
        self._dialect.send({"id": request_id, "result": result})

    def _ask_user(self, request: PermissionRequest) -> list[Event]:
        params = request.params
        thread_items, events = self._threads.find_items(params.get("threadId"))
        item_id = params.get("itemId")
        if request.method == permissions.ELICITATION:
            call_id = thread_items.find_mcp_call(params.get("serverName"), request.meta.get("tool_params"))
        else:
            call_id = thread_items.find_call_id(item_id)
        interrupt_id = self._dialect.qualify_id(f"ask:{request.request_id}")
        request = replace(request, takes_feedback=thread_items.subagent is None)  # messages go to the main thread
        self._permissions[interrupt_id] = request
        changed_files = thread_items.describe_changes(item_id)
        interrupt = permissions.to_interrupt(request, interrupt_id, call_id, thread_items.subagent, changed_files)
        return [*events, *self._threads.end_arguments(), InterruptRequested((interrupt,))]

    def _call_client_tool(self, request_id: int | str, params: dict[str, Any]) -> list[Event]:
        tool, item_id = self._client_tools.find(params.get("tool")), non_empty(params.get("callId"))
        if tool is None or item_id is None or self._dialect.is_cancelled or not self._dialect.is_busy:
            self._respond(request_id, refused_call_result(is_offered=tool is not None))
            return []
        thread_items, events = self._threads.find_items(params.get("threadId"))
        call = {"tool": tool["name"], "arguments": params.get("arguments"), "status": "inProgress"}
        events += thread_items.start_item({"type": "dynamicToolCall", "id": item_id, **call}) or []
        call_id = thread_items.find_call_id(item_id) or item_id
        self._client_tools.add_call(call_id, request_id)
        client_call = ClientToolCall(call_id, tool["name"], thread_items.subagent)
        return [*events, *self._threads.end_arguments(), ClientToolsCalled((client_call,))]
