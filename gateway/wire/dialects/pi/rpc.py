"""pi's `--mode rpc`: one process for a thread, commands and events as lines.

In: events, responses, dialogs of extensions. Out: events, and commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from gateway.capability_paths import PERMISSION_MODE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, InterruptRequested
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, Dialect, Prompt, SessionStart
from gateway.wire.dialects.pi.errors import clean_message
from gateway.wire.dialects.pi.models import read_models
from gateway.wire.dialects.pi.permissions import DIALOG_METHODS, Dialog, PermissionRequests
from gateway.wire.dialects.pi.reader import EventReader
from gateway.wire.dialects.pi.steering import ResponseReader
from gateway.wire.dialects.pi.tool_calls import PiCall
from gateway.wire.dialects.pi.turn_lifecycle import TurnLifecycle
from gateway.wire.dialects.pi.turn_setup import SessionSettings, TurnSetup, command_fault
from gateway.wire.fields import non_empty, obj, present, text
from gateway.wire.requests import RequestTable

Json = dict[str, Any]

SCREEN_METHODS = frozenset(("setStatus", "setWidget", "setTitle", "set_editor_text", "open_url"))
"""What extensions do to a screen. There is none."""
GATE_STATUS_KEY = "agui-gateway"
"""The status that the gateway's gate sets when it is loaded."""


class PiRpc(Dialect):
    name: ClassVar[str] = "pi"
    agent: ClassVar[str] = "pi"
    """The key of metadata, and the prefix of CUSTOM events."""
    has_intent: ClassVar[bool] = False
    """Tool arguments carry omp's `i`."""
    actions: ClassVar[frozenset[str]] = frozenset(("models", "set_model"))
    can_steer: ClassVar[bool] = True
    can_ask: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._requests: RequestTable[ResponseReader] = RequestTable(separator="-")
        self._events = EventReader(self, self.agent, self.session_layer, has_intent=self.has_intent)
        self._settings = SessionSettings(self.agent, self._call, self.session_layer)
        self._permissions = PermissionRequests()
        self._turns = self._new_turns()
        self._setup = TurnSetup(
            self, self.agent, self._call, self._settings, self._turns.read_prompted, self._turns.finish_turn
        )
        self._is_gated = False
        """The gateway's gate is loaded."""

    def _new_turns(self) -> TurnLifecycle:
        return TurnLifecycle(self, self._call, self._events, self._permissions, self._on_stuck)

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._requests.begin(start.tag)
        self._events.begin_process()
        self._turns.begin_process()
        self._permissions.clear()
        self._is_gated = False
        self.is_ready = False
        self._open_session()

    def prompt(self, prompt: Prompt) -> None:
        self._begin_turn(prompt)
        if self.session_start.params.get("gate") is True:
            self.session_layer[PERMISSION_MODE] = "gate" if self._is_gated else "none"
        if self._needs_gate(prompt):
            self._setup.refuse()
        else:
            self._setup.start()

    def _begin_turn(self, prompt: Prompt, client_tools: Mapping[str, str] | None = None) -> None:
        self.start_turn(prompt)
        self._events.begin_turn(client_tools)
        self._turns.begin_turn()

    def _needs_gate(self, prompt: Prompt) -> bool:
        """The gate must be loaded, and is not."""
        return self.session_start.params.get("gate") is True and prompt.approvals != "auto" and not self._is_gated

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return self._events.read_messages(messages, self._read_line)

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        if (response := self._permissions.answer(interrupt_id, answer)) is not None:
            self.send(response)

    def steer(self, message_id: str, text: str) -> bool:
        return self._turns.is_accepted and self._turns.steering.steer(message_id, text)

    def cancel(self) -> bool:
        self.is_cancelled = True
        for response in self._permissions.cancel_all():
            self.send(response)
        if self._turns.is_accepted:
            self._turns.abort()
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        action_id = f"{action}-{self._requests.next_number()}"
        if action == "models":
            self._call({"type": "get_available_models"}, lambda line: self._read_model_list(action_id, line))
        else:
            wanted = text(params.get("model")) or ""
            self._settings.set_model(wanted, lambda model, fault: self.finish_action(action_id, model, fault))
        return action_id

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        was_ready = self.is_ready
        self.is_ready = False
        self._turns.steering.clear()
        fault = self._events.read_exit_fault(exit_code, stderr)
        if not was_ready and self.failure is None:
            self.failure = fault
        return self._events.end_at_exit(exit_code, fault, self._turns.finish_turn)

    # -- commands

    def _call(self, command: Json, reader: ResponseReader) -> None:
        self.send({"id": self._requests.add(reader), **command})

    def _read_response(self, line: Json) -> list[Event]:
        reader = self._requests.pop(line.get("id"))
        if reader is not None:
            return reader(line)
        message = clean_message(line.get("error"))
        value = present({"level": "error", "message": message, "source": text(line.get("command"))})
        return [] if line.get("success") is True or not message else [Custom(f"{self.agent}.notice", value)]

    def _read_model_list(self, action_id: str, line: Json) -> list[Event]:
        fault = None if line.get("success") is True else command_fault(line)
        self.finish_action(action_id, read_models(line), fault)
        return []

    def _open_session(self) -> None:
        self._call({"type": "get_state"}, self._read_opened)

    def _read_opened(self, line: Json) -> list[Event]:
        if line.get("success") is not True:
            self.failure = AgentFault(f"the agent does not report its state: {text(line.get('error'))}")
            return []
        self._read_state(obj(line.get("data")))
        self.is_ready = self.failure is None
        return []

    def _read_state(self, state: Json) -> None:
        """The session's id and settings. The rest (paths, whole instructions) stays inside."""
        wanted = None if self.session_start.fork else self.session_start.session_id
        self.session_id = non_empty(state.get("sessionId")) or self.session_id
        self.has_lost_history = wanted is not None and self.session_id != wanted
        self._settings.note(state.get("model"), state.get("thinkingLevel"))

    def _on_stuck(self) -> None:
        self.is_ready = False

    # -- lines

    def _read_line(self, line: Json) -> Iterable[Event] | None:
        kind = line.get("type")
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        return self._events.read(line) if reader is None else reader(self, line)

    @property
    def _readers(self) -> Mapping[str, Reader]:
        return RPC_READERS

    def _read_message_start(self, line: Json) -> Iterable[Event] | None:
        events = self._events.read(line)
        message = obj(line.get("message"))
        if events is None or message.get("role") != "user":
            return events
        return [*events, *self._turns.steering.read_user_message(message.get("content"))]

    # -- permissions

    def _read_dialog(self, line: Json) -> list[Event] | None:
        method = text(line.get("method"))
        if method in DIALOG_METHODS and non_empty(line.get("id")):
            return self._request_permission(Dialog(line))
        if method == "notify":
            value = present({"level": text(line.get("notifyType")) or "info", "message": text(line.get("message"))})
            return [Custom(f"{self.agent}.notice", value)]
        if method == "cancel":
            self._permissions.withdraw(self._interrupt_id(line.get("targetId")))
            return []
        self._is_gated = self._is_gated or (method == "setStatus" and line.get("statusKey") == GATE_STATUS_KEY)
        return [] if method in SCREEN_METHODS else None

    def _request_permission(self, dialog: Dialog) -> list[Event]:
        if self.is_cancelled:
            self.send(dialog.to_response(Answer("", "cancelled")))
            return []
        if self.turn.approvals != "prompt":
            self.send(dialog.to_policy_response(self.turn.approvals))
            return []
        call, subagent = self._find_call(dialog)
        self._events.messages.break_off()
        interrupt_id = self._interrupt_id(dialog.request.get("id"))
        self._permissions.add(interrupt_id, dialog, call)
        return [InterruptRequested((dialog.to_interrupt(self.agent, interrupt_id, call, subagent),))]

    def _interrupt_id(self, native_id: Any) -> str:
        return self.qualify_id(f"q:{native_id}")

    def _find_call(self, dialog: Dialog) -> tuple[PiCall | None, str | None]:
        """The tool call that a dialog is about, and the subagent that made it."""
        native_id = dialog.gated_call.get("toolCallId") if dialog.is_gate else None
        return self._events.messages.calls.get(native_id), None


Reader = Callable[[Any, Json], Iterable[Event] | None]

RPC_READERS: dict[str, Reader] = {
    "response": PiRpc._read_response,
    "message_start": PiRpc._read_message_start,
    "extension_ui_request": PiRpc._read_dialog,
    "agent_start": lambda dialect, line: dialect._turns.read_agent_start(line),
    "agent_end": lambda dialect, line: dialect._turns.read_agent_end(line),
    "agent_settled": lambda dialect, line: dialect._turns.read_conclusion(line),
    "auto_retry_end": lambda dialect, line: dialect._turns.read_retry_end(line),
    "compaction_end": lambda dialect, line: dialect._turns.read_compaction_end(line),
}
"""Line types that rpc mode reads itself; `EventReader` reads the others."""
