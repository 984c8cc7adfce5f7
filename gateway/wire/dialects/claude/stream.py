"""Claude Code with `--input-format stream-json`: one process per session, lines in both directions.

In: lines, among them `control_request` and `control_response`, by which each side asks the other. Out: events, and
lines for Claude's stdin.

A prompt carries a uuid, and the result that answers it names the uuid. Claude ignores a message whose uuid it has seen,
so the uuid is derived from the turn's key and the text: the same in every test, and never twice in a session.

A message for the turn under way is a line like the prompt. Claude adds it after the tool calls that run, or starts
another turn with it right after the result, which then does not end the gateway's turn. Claude reports the position of
a line in its queue (`command_lifecycle`); versions that do not cannot be steered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID, uuid5

from gateway.errors import AgentFault
from gateway.events import ClientToolCall, Custom, Event, UserMessageAccepted
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart
from gateway.wire.dialects.claude.client_tools import PREFIX, SERVER, ClientTools, read_call_id
from gateway.wire.dialects.claude.content import to_content
from gateway.wire.dialects.claude.permissions import (
    PermissionRequest,
    PermissionRequests,
    policy_response,
    to_interrupt,
    to_response,
    withdrawn_response,
)
from gateway.wire.dialects.claude.reader import ClaudeReader, Events, Line
from gateway.wire.dialects.claude.session_state import handshake_layer, mode_layer, read_models, session_layer
from gateway.wire.fields import non_empty, obj, text, unique_strings
from gateway.wire.session_paths import MODEL

UUID_NAMESPACE = UUID("3f0c7c0e-5d0b-5a55-9a7e-6d1f6c2d9b11")
UNSUPPORTED = "This host does not offer that."
TOOLS_REJECTED = "Claude Code did not take the application's own tools"
UNSUPPORTED_REQUESTS = ("hook_callback", "mcp_message", "request_user_dialog")
"""Requests that Claude sends only to a host that declared them, which the gateway does not."""
SETTERS = {"set_model": ("set_model", "model"), "set_mode": ("set_permission_mode", "mode")}
"""Action → Claude's request, and its field."""


class ClaudeDialect(ClaudeReader):
    """One process for a session, in both directions."""

    name: ClassVar[str] = "claude"
    actions: ClassVar[frozenset[str]] = frozenset(("models", "set_model", "set_mode"))
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._requests: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """Requests to Claude without a response: id → purpose and parameters."""
        self._permissions = PermissionRequests()
        self._client_tools = ClientTools()
        self._prompt_uuid = ""
        """uuid of the line whose result is awaited: the prompt, or a steering message."""
        self._reports_queue = False
        self._models: list[dict[str, Any]] | None = None

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self._requests.clear()
        self._client_tools.start_process()
        self._reports_queue = False
        self._forget_questions()
        self._request("initialize", {"subtype": "initialize"})

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        content, dropped = to_content(prompt.blocks)
        for kind in dropped:
            message = f"Claude Code takes no {kind}: it was left out of the prompt"
            self._queued.append(self.make_warning("CONTENT_DROPPED", message))
        if (request := self._client_tools.offer(prompt.tools)) is not None:
            self._request("offer", request)
        self._calls.client_names = self._client_tools.names
        self._prompt_uuid = self._send_user(f"{prompt.id_prefix} {prompt.text}", content)

    def _send_user(self, uuid_name: str, content: list[dict[str, Any]]) -> str:
        uuid = str(uuid5(UUID_NAMESPACE, uuid_name))
        message = {"role": "user", "content": content}
        session = {"parent_tool_use_id": None, "session_id": self.session_id or "", "uuid": uuid}
        self.send({"type": "user", "message": message, **session})
        return uuid

    def steer(self, message_id: str, text: str) -> bool:
        if not self._reports_queue:
            return False
        uuid = self._send_user(f"{self.turn.id_prefix} {message_id} {text}", [{"type": "text", "text": text}])
        self._steering[uuid] = UserMessageAccepted(message_id, text)
        return True

    def answer(self, question_id: str, answer: Answer) -> None:
        if (request := self._permissions.pop(question_id)) is not None:
            self._respond(request.request_id, to_response(request, answer))
        if (response := self._client_tools.answer(question_id, answer)) is not None:
            self._respond(*response)
        self._update_buffering()

    def cancel(self) -> bool:
        super().cancel()
        for request in self._permissions.clear():
            self._respond(request.request_id, withdrawn_response(request))
        for response in self._client_tools.cancel_calls():
            self._respond(*response)
        self._update_buffering()
        if self.is_busy:
            self._request("interrupt", {"subtype": "interrupt", "cancel_queued": True})
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        if action in SETTERS:
            subtype, field = SETTERS[action]
            return self._request(action, {"subtype": subtype, field: params.get(field)}, params)
        if self._models is None:
            return self._request("models", {"subtype": "list_models"})
        ticket = self._ticket()
        self.action_results[ticket] = ActionResult(self._models)
        return ticket

    # -- lines of this mode

    def _read_line(self, line: Line) -> Events:
        events: Events
        match line.get("type"):
            case "control_request":
                events = self._read_request(line)
            case "control_response":
                events = self._read_response(obj(line.get("response")))
            case "control_cancel_request":
                events = self._withdraw_request(non_empty(line.get("request_id")))
            case "command_lifecycle":
                events = self._read_queue_state(line)
            case _:
                events = super()._read_line(line)
        return events if events is None else [*events, *self._report_questions()]

    def _answers_prompt(self, line: Line) -> bool:
        """Decided by the uuid; older versions only report the origin of a turn."""
        uuids = unique_strings(line.get("user_message_uuids")) or unique_strings([line.get("user_message_uuid")])
        return self._prompt_uuid in uuids if uuids else super()._answers_prompt(line)

    def _finish_turn(self) -> list[Event]:
        self._forget_questions()
        return super()._finish_turn()

    # -- requests of Claude

    def _read_request(self, line: Line) -> Events:
        request_id, params = non_empty(line.get("request_id")), obj(line.get("request"))
        if request_id is None:
            return None
        subtype = params.get("subtype")
        if subtype == "mcp_message" and params.get("server_name") == SERVER and self._client_tools.is_registered:
            return self._read_mcp(request_id, obj(params.get("message")))
        request = PermissionRequest(request_id, params)
        if request.tool in self._calls.client_names:  # the client decides whether its tool may run
            self._respond(request_id, {"behavior": "allow", "updatedInput": request.input})
            return []
        if request.tool is None and not request.is_elicitation:
            # An error approves nothing.
            response = {"subtype": "error", "request_id": request_id, "error": UNSUPPORTED}
            self.send({"type": "control_response", "response": response})
            is_known = subtype in UNSUPPORTED_REQUESTS
            return [Custom("claude.unsupported_request", {"subtype": subtype})] if is_known else None
        if self.turn.approvals != "prompt":
            self._respond(request_id, policy_response(request, self.turn.approvals))
            return []
        interrupt_id = self.qualify_id(f"ask:{request_id}")
        return [] if interrupt_id in self._permissions else self._ask_user(interrupt_id, request)

    def _read_mcp(self, request_id: str, message: dict[str, Any]) -> list[Event]:
        params = obj(message.get("params"))
        if message.get("method") == "notifications/cancelled":
            self._client_tools.withdraw(params.get("requestId"))
        if not self._client_tools.is_call(message) or not self.is_busy:
            self._respond(request_id, {"mcp_response": self._client_tools.reply(message)})
            return []
        call_id = read_call_id(message) or request_id
        events = self._calls.add_whole(call_id, f"{PREFIX}{params['name']}", params.get("arguments") or {}, None)
        call = self._calls.find(call_id)
        assert call is not None
        self._client_tools.add_call(request_id, message, ClientToolCall(call.id, call.name, call.subagent))
        return events

    def _ask_user(self, interrupt_id: str, request: PermissionRequest) -> list[Event]:
        params, events = request.params, list[Event]()
        stream = self._main
        if non_empty(params.get("agent_id")) is not None:
            stream, events = self._subagents.find_stream(params)
        call_id = non_empty(params.get("tool_use_id"))
        if request.tool is not None and call_id is not None:
            events += self._calls.add_whole(call_id, request.tool, request.input, stream.subagent)
        interrupt = to_interrupt(request, interrupt_id, self._calls.find_id(call_id), stream.subagent)
        self._permissions.add(request, interrupt)
        return events

    def _report_questions(self) -> list[Event]:
        """Interrupts and client tool calls end the run, so they wait until the streaming message is complete."""
        if self._main.is_streaming:
            return []
        events = [*self._permissions.take_unreported(), *self._client_tools.take_unreported()]
        if events:
            self._update_buffering()
        return events

    def _withdraw_request(self, request_id: str | None) -> list[Event]:
        interrupt_id = self._permissions.withdraw(request_id)
        self._update_buffering()
        return [] if interrupt_id is None else [Custom("claude.question_withdrawn", {"id": interrupt_id})]

    def _forget_questions(self) -> None:
        """Claude no longer waits for an answer to anything."""
        self._permissions.clear()
        self._client_tools.cancel_calls()
        self._update_buffering()

    def _respond(self, request_id: str, response: dict[str, Any]) -> None:
        payload = {"subtype": "success", "request_id": request_id, "response": response}
        self.send({"type": "control_response", "response": payload})

    def _update_buffering(self) -> None:
        """While the client has an open question or call, the run may end and another begin at any moment."""
        is_buffering = self._permissions.has_reported or self._client_tools.has_reported
        self._main.buffers_calls = is_buffering
        self._subagents.buffer_calls(is_buffering)

    # -- requests to Claude

    def _ticket(self) -> str:
        self._count += 1
        return f"{self.session_start.tag}-{self._count}"

    def _request(self, purpose: str, request: dict[str, Any], params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = self._ticket()
        self._requests[ticket] = (purpose, params)
        self.send({"type": "control_request", "request_id": ticket, "request": request})
        return ticket

    def _read_response(self, line: dict[str, Any]) -> Events:
        ticket = non_empty(line.get("request_id")) or ""
        purpose, params = self._requests.pop(ticket, (None, NO_PARAMS))
        response, error = obj(line.get("response")), None
        if line.get("subtype") != "success":
            reason = text(line.get("error")) or "Claude Code refused, and gave no reason"
            error = AgentFault(reason, agentCode=non_empty(line.get("error_code")))
        match purpose:
            case None:
                return None
            case "initialize":
                self._read_handshake(response, error)
            case "interrupt":
                return self._read_interrupted(response)
            case "offer":
                return (
                    [] if error is None else [self.make_warning("TOOLS_DROPPED", f"{TOOLS_REJECTED}: {error.detail}")]
                )
            case _:
                value = self._read_action(purpose, params, response) if error is None else None
                self.action_results[ticket] = ActionResult(value, error)
        return []

    def _read_handshake(self, response: dict[str, Any], error: AgentFault | None) -> None:
        self.is_ready = error is None
        self.failure = error
        self.handshake_layer |= handshake_layer(response)
        self.session_layer |= session_layer(response)
        self._models = read_models(response.get("models")) or None

    def _read_action(self, action: str, params: Mapping[str, Any], response: dict[str, Any]) -> Any:
        if action == "models":
            self._models = read_models(response.get("models"))
            return self._models
        _, field = SETTERS[action]
        value = non_empty(response.get(field)) or params.get(field)
        self.session_layer |= {MODEL: value} if action == "set_model" else mode_layer(value)
        return response

    # -- an end without a result

    def _read_interrupted(self, response: dict[str, Any]) -> list[Event]:
        """A prompt still in the queue is dropped; a turn that only waited for subagents gets no further result."""
        is_dropped = self._awaits_result and self._prompt_uuid in unique_strings(response.get("cancelled"))
        is_over = not self._awaits_result and not self._is_claude_busy
        return self._abort_turn() if is_dropped or is_over else []

    def _read_queue_state(self, line: Line) -> list[Event]:
        """The position of one of the gateway's lines in Claude's queue."""
        self._reports_queue = True
        uuid, state = non_empty(line.get("command_uuid")), line.get("state")
        if uuid is None or state not in ("started", "cancelled", "discarded"):
            return []
        accepted = self._steering.pop(uuid, None)
        if state == "started":
            if accepted is not None and not self._awaits_result:  # a turn of its own
                self._prompt_uuid = uuid
                self._awaits_result = True
                self._last_result = None
            return [] if accepted is None else [accepted]
        if accepted is None:
            return self._abort_turn() if self._awaits_result and uuid == self._prompt_uuid else []
        is_over = self.is_busy and self._last_result is not None and not self._continues(self._last_result)
        return self._finish_turn() if is_over else []

    def _abort_turn(self) -> list[Event]:
        if not self.is_busy:
            return []
        self.is_cancelled = True
        self._awaits_result = False
        return self._finish_turn()
