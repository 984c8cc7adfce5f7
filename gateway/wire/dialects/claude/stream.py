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

from gateway.capability_paths import MODEL
from gateway.errors import AgentFault
from gateway.events import Event, UserMessageAccepted
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart
from gateway.wire.dialects.claude.client_tools import ClientTools
from gateway.wire.dialects.claude.content import to_content
from gateway.wire.dialects.claude.host_requests import HostRequests
from gateway.wire.dialects.claude.reader import ClaudeReader, Events, Line
from gateway.wire.dialects.claude.session_state import (
    SETTABLE_MODES,
    handshake_layer,
    mode_layer,
    read_models,
    session_layer,
)
from gateway.wire.fields import non_empty, obj, text, unique_strings
from gateway.wire.requests import RequestTable

UUID_NAMESPACE = UUID("3f0c7c0e-5d0b-5a55-9a7e-6d1f6c2d9b11")
TOOLS_REJECTED = "Claude Code did not take the application's own tools"
SETTERS = {"set_model": ("set_model", "model"), "set_mode": ("set_permission_mode", "mode")}
"""Action → Claude's request, and its field."""


class ClaudeDialect(ClaudeReader):
    """One process for a session, in both directions."""

    name: ClassVar[str] = "claude"
    actions: ClassVar[frozenset[str]] = frozenset(("models", "set_model", "set_mode"))
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True
    can_ask: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = True

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"id": mode} for mode in SETTABLE_MODES]

    def __init__(self) -> None:
        super().__init__()
        self._requests = RequestTable[tuple[str, Mapping[str, Any]]](separator="-")
        """Requests to Claude: purpose, and the parameters of an action."""
        self._client_tools = ClientTools()
        self._host_requests = HostRequests(self, self._calls, self._main, self._subagents, self._client_tools)
        self._prompt_uuid = ""
        """uuid of the line whose result is awaited: the prompt, or a steering message."""
        self._reports_queue = False
        self._models: list[dict[str, Any]] | None = None

    # -- driven by the gateway

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.is_ready = False
        self._requests.begin(start.tag)
        self._client_tools.start_process()
        self._reports_queue = False
        self._host_requests.clear()
        self._request("initialize", {"subtype": "initialize"})

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        content, dropped = to_content(prompt.blocks)
        for kind in dropped:
            message = f"Claude Code takes no {kind}: it was left out of the prompt"
            self._queued.append(self.make_warning("CONTENT_DROPPED", message))
        if (request := self._client_tools.offer(prompt.tools)) is not None:
            self._request("offer", request)
        self._calls.offer(self._client_tools.names)
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

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        self._host_requests.answer(interrupt_id, answer)

    def cancel(self) -> bool:
        super().cancel()
        self._host_requests.cancel()
        if self.is_busy:
            self._request("interrupt", {"subtype": "interrupt", "cancel_queued": True})
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        if action in SETTERS:
            subtype, field = SETTERS[action]
            return self._request(action, {"subtype": subtype, field: params.get(field)}, params)
        if self._models is None:
            return self._request("models", {"subtype": "list_models"})
        action_id = self._requests.new_id()
        self.action_results[action_id] = ActionResult(self._models)
        return action_id

    # -- lines of this mode

    def _read_line(self, line: Line) -> Events:
        events: Events
        match line.get("type"):
            case "control_request":
                events = self._host_requests.read(line)
            case "control_response":
                events = self._read_response(obj(line.get("response")))
            case "control_cancel_request":
                events = self._host_requests.withdraw(non_empty(line.get("request_id")))
            case "command_lifecycle":
                events = self._read_queue_state(line)
            case _:
                events = super()._read_line(line)
        return events if events is None else [*events, *self._host_requests.report()]

    def _answers_prompt(self, line: Line) -> bool:
        """Decided by the uuid; older versions only report the origin of a turn."""
        uuids = unique_strings(line.get("user_message_uuids")) or unique_strings([line.get("user_message_uuid")])
        return self._prompt_uuid in uuids if uuids else super()._answers_prompt(line)

    def _finish_turn(self) -> list[Event]:
        self._host_requests.clear()
        return super()._finish_turn()

    # -- requests to Claude

    def _request(self, purpose: str, params: Mapping[str, Any], action_params: Mapping[str, Any] = NO_PARAMS) -> str:
        request_id = self._requests.add((purpose, action_params))
        self.send({"type": "control_request", "request_id": request_id, "request": params})
        return request_id

    def _read_response(self, line: dict[str, Any]) -> Events:
        request_id = non_empty(line.get("request_id")) or ""
        purpose, params = self._requests.pop(request_id) or (None, NO_PARAMS)
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
                self.action_results[request_id] = ActionResult(value, error)
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
