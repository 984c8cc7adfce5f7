"""Copilot's SDK server (`copilot --headless --stdio`): JSON-RPC both ways, many sessions in one process.

In: messages of the server. Out: events; requests in `outbox`, whose ids begin with the session's tag. The server works
on requests side by side, so what must come one after the other waits for the answer: the model before the prompt, an
abort until the prompt was taken (one that comes before is lost).

A turn ends with `session.idle`, which waits for what runs in the background; an idle from before the turn, which such
work leaves behind, is known by coming before our message did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from gateway.capability_paths import EFFORT, MODE, MODEL
from gateway.errors import AgentFault
from gateway.events import ClientToolCall, ClientToolsCalled, Event, InterruptRequested, TurnFailed
from gateway.turn import Answer
from gateway.wire.activities import Plans
from gateway.wire.client_tools import by_safe_name, result_text
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart, parse_message
from gateway.wire.dialects.copilot.errors import answer_fault
from gateway.wire.dialects.copilot.ignored_events import NOISY_METHODS
from gateway.wire.dialects.copilot.model_list import models
from gateway.wire.dialects.copilot.permissions import KINDS, UNASKED
from gateway.wire.dialects.copilot.session_events import Story
from gateway.wire.dialects.copilot.session_params import attachments, overlooked, session_params
from gateway.wire.dialects.copilot.session_state import model_state, opened
from gateway.wire.dialects.copilot.steering import Data, Steering, Then
from gateway.wire.fields import items, non_empty, obj, present, text

METHOD_NOT_FOUND = -32601
CALL = "external_tool.requested"
DONE = {"done": "completed"}
"""Copilot's word for the state of a todo → ACP's, where it differs."""
UNSEEN = "Copilot shows its model images, PDF documents and text; another kind of file it leaves out"
BEGINNINGS = frozenset(("user.message", "session.error", "session.warning"))
"""What comes of a prompt first: the message itself, or why it was not taken."""


class CopilotDialect(Steering):
    name = "copilot"
    can_call_client_tools: ClassVar[bool] = True
    actions: ClassVar[frozenset[str]] = frozenset(("models", "fork", "set_model", "set_mode", "delete"))

    def __init__(self) -> None:
        super().__init__()
        self._story = Story(self.qualify_id, self.session_layer, self.handshake_layer)
        self._count = 0
        self._waiting: dict[str, tuple[str, Then]] = {}
        self._next: deque[tuple[str, Data, Then]] = deque()
        """Requests of this turn that wait for the one before."""
        self._questions: dict[str, tuple[str, Data]] = {}
        """Ours → the event that asked, and its data."""
        self._called: dict[str, Any] = {}
        """Calls of the client's tools that wait, by AG-UI's ids → Copilot's requests."""
        self._taken = self._abort_due = self._quiet = False
        self._plans = Plans("", None)
        self._first: list[Event] = []
        """To be told with what is heard next."""

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self._waiting.clear()
        self._next.clear()
        self._questions.clear()
        self._called.clear()
        self._story.calls.names = {name: tool["name"] for name, tool in by_safe_name(begin.tools).items()}
        if begin.params.get("connected") is not True:
            self._ask("connect", {}, self._connected)
        if begin.session_id is None:
            self._ask("session.create", session_params(begin), self._opened)
        elif begin.fork:
            self._ask("sessions.fork", {"sessionId": begin.session_id}, self._forked)
        else:
            self._resume(begin.session_id)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._story.begin()
        self._plans = Plans(prompt.id_prefix, None)
        self._taken = self._abort_due = self._quiet = False
        self._forget_words()
        self._next.extend(self._wishes(prompt))
        attached = attachments(prompt)
        self._first = [
            self.make_warning("CONTENT_DROPPED", UNSEEN, mimeType=one["mimeType"])
            for one in attached
            if overlooked(one)
        ]
        told = present({"prompt": prompt.text, "attachments": attached})
        self._next.append(("session.send", {"prompt": "", **told}, self._sent))
        self._go_on()

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found, self._first = self._first, []
        for message in messages:
            told = parse_message(message)
            if type(told) is not dict:
                found.append(self.to_raw(message.decode("utf-8", "replace")))
                continue
            params = told.get("params")
            if told.get("method") == "session.event" and type(params) is dict:
                event = params.get("event")
                if params.get("sessionId") != self.session_id:
                    continue  # of a session that was here before
                if type(event) is dict and type(kind := event.get("type")) is str:
                    found += self._event(kind, event, told)
                    continue
            found += self._other(told)
        return found

    def answer(self, question_id: str, answer: Answer) -> None:
        asked = self._questions.pop(question_id, None)
        if asked is not None:
            kind, data = asked
            self._reply(kind, data, KINDS[kind].answered(data, answer))
        elif question_id in self._called:
            given, failed = result_text(answer)
            self._give(self._called.pop(question_id), {"error": given} if failed else {"result": given})

    def cancel(self) -> bool:
        self.is_cancelled = True
        if self._taken:
            self._stop()
        else:
            self._abort_due = True
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = f"{self.session_start.tag}:{self._count}:{action}"
        method, told, value = self._action(action, params)
        self._ask(method, told, self._done(ticket, value))
        return ticket

    def release_session(self) -> None:
        if self.session_id is not None:  # what it wrote to its disk stays: it can be resumed
            self._ask_session("session.destroy", {}, lambda result, fault: [])

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self._waiting.clear()
        return super().on_process_exit(exit_code, stderr)

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        told = obj(parse_message(message))
        if "method" not in told:
            return (non_empty(told.get("id")) or "").partition(".")[0] or None
        params = obj(told.get("params"))
        return non_empty(params.get("sessionId")) or non_empty(obj(params.get("scope")).get("sessionId"))

    # -- requests

    def _ask(self, method: str, params: Data, then: Then) -> None:
        self._count += 1
        request_id = f"{self.session_start.tag}.{self._count}"
        self._waiting[request_id] = (method, then)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def _ask_session(self, method: str, params: Data, then: Then) -> None:
        self._ask(method, {"sessionId": self.session_id, **params}, then)

    def _go_on(self) -> None:
        if self._next:
            self._ask_session(*self._next.popleft())

    def _answered(self, told: Data) -> list[Event]:
        method, then = self._waiting.pop(non_empty(told.get("id")) or "", ("", None))
        if then is None:
            return []  # to a process that was here before
        if "error" in told:
            return then({}, answer_fault(told["error"], method))
        return then(obj(told.get("result")), None)

    def _other(self, told: Data) -> list[Event]:
        """Whatever is no session event."""
        method = told.get("method")
        if method is None and "id" in told:
            return self._answered(told)
        if isinstance(method, str) and method in NOISY_METHODS:
            return []
        if "id" in told:
            error = {"code": METHOD_NOT_FOUND, "message": "this client serves no such method"}
            self.send({"jsonrpc": "2.0", "id": told["id"], "error": error})
        return [self.to_raw(told)]

    # -- opening

    def _connected(self, result: Data, fault: AgentFault | None) -> list[Event]:
        self.handshake_layer |= present({"identity.version": non_empty(result.get("version"))})
        return []

    def _forked(self, result: Data, fault: AgentFault | None) -> list[Event]:
        copy = non_empty(result.get("sessionId"))
        if copy is None:
            self.failure = fault or AgentFault(
                "the agent forked the session without an id", code="AGENT_PROTOCOL_ERROR"
            )
        else:
            self._resume(copy)
        return []

    def _resume(self, session_id: str) -> None:
        self.session_id = session_id
        self._ask("session.resume", {**session_params(self.session_start), "sessionId": session_id}, self._opened)

    def _opened(self, result: Data, fault: AgentFault | None) -> list[Event]:
        session_id = non_empty(result.get("sessionId"))
        if session_id is None:
            self.failure = fault or AgentFault("the agent opened a session without an id", code="AGENT_PROTOCOL_ERROR")
            return []
        self.session_id = session_id
        opened(self.session_layer, result)
        self.is_ready = True
        return []

    # -- a turn

    def _wishes(self, prompt: Prompt) -> list[tuple[str, Data, Then]]:
        """What the prompt wants otherwise than the session is set."""
        found: list[tuple[str, Data, Then]] = []
        model, effort = prompt.model, non_empty(prompt.thinking.get("reasoningEffort"))
        if model is not None and model != self.session_layer.get(MODEL):
            told = present({"modelId": model, "reasoningEffort": effort})
            found.append(("session.model.switchTo", told, self._wished))
        elif effort is not None and effort != self.session_layer.get(EFFORT):
            found.append(("session.model.setReasoningEffort", {"reasoningEffort": effort}, self._wished))
        if prompt.mode is not None and prompt.mode != self.session_layer.get(MODE):
            found.append(("session.mode.set", {"mode": prompt.mode}, self._wished))
        return found

    def _wished(self, result: Data, fault: AgentFault | None) -> list[Event]:
        if fault is not None:
            return self._fails(fault)
        model_state(self.session_layer, result.get("modelState"))
        if self._abort_due:
            self._next.clear()
            return self.end_turn()
        self._go_on()
        return []

    def _sent(self, result: Data, fault: AgentFault | None) -> list[Event]:
        if fault is not None:
            return self._fails(fault)
        self._taken = True
        if self._abort_due:
            self._abort()
        return []

    def _fails(self, fault: AgentFault) -> list[Event]:
        self._next.clear()
        if self.is_cancelled:
            return self.end_turn()
        self.is_busy = False
        return [TurnFailed(fault.detail, fault.code)]

    def _abort(self) -> None:
        self._abort_due = False
        self._ask_session("session.abort", {}, self._aborted)

    def _aborted(self, result: Data, fault: AgentFault | None) -> list[Event]:
        """What runs in the background is not stopped by it, and would keep `session.idle` back."""
        return self.end_turn() if self.is_busy and self._quiet else []

    def _event(self, kind: str, event: Data, told: Data) -> list[Event]:
        if kind in KINDS:
            return self._asked(kind, event)
        if kind == CALL and self.is_busy and not self.is_cancelled and self._offered(obj(event.get("data"))):
            return self._client_call(event)
        if kind in UNASKED:
            return self._declined(kind, obj(event.get("data")))
        found = self._story.read(kind, event)
        if found is None:
            return [self.to_raw(told)]
        if kind in TURNING and "agentId" not in event:
            found = found + self._turned(kind)
        if kind == "user.message" and "agentId" not in event:
            found = found + self._message_came(event)
        return found

    def _turned(self, kind: str) -> list[Event]:
        """An event that says where in its turn the agent is."""
        if kind == "session.todos_changed":
            self._ask_session("session.plan.readSqlTodos", {}, self._todos)
            return []
        self._begun = self._begun or kind in BEGINNINGS
        self._quiet = kind == "assistant.idle" and self._begun
        over = kind == "session.idle" or (self._quiet and self.is_cancelled)
        if not over or not self.is_busy or not self._begun or not self._taken:
            return []
        self._rested = True
        return [] if self._waits else self._conclude()

    def _conclude(self) -> list[Event]:
        error, self._story.error = self._story.error, None
        if error is None or self.is_cancelled:
            return self.end_turn()
        self.is_busy = False
        return [error]

    def _todos(self, result: Data, fault: AgentFault | None) -> list[Event]:
        entries = []
        for row in items(result.get("rows")):
            status = text(row.get("status")) or "pending"
            entries.append({"content": text(row.get("title")) or "", "status": DONE.get(status, status)})
        return [] if fault is not None else self._plans.show_entries(entries)

    # -- questions

    def _asked(self, kind: str, event: Data) -> list[Event]:
        data = obj(event.get("data"))
        request_id = non_empty(data.get("requestId"))
        if request_id is None:
            return [self.to_raw(event)]
        if data.get("resolvedByHook") is True:
            return []
        if (policy := self.turn.approvals) != "prompt":
            self._reply(kind, data, KINDS[kind].by_policy(data, policy))
            return []
        call = self._story.calls.known(_call_of(data))
        lane, found = self._story.lanes.find(event.get("agentId"))
        self._story.lanes.broken_off()
        question_id = self.qualify_id(request_id)
        self._questions[question_id] = (kind, data)
        question = KINDS[kind].question(question_id, data, call.id if call else None, lane.subagent)
        return [*found, InterruptRequested((question,))]

    def _offered(self, data: Data) -> bool:
        return data.get("toolName") in self._story.calls.names and non_empty(data.get("toolCallId")) is not None

    def _client_call(self, event: Data) -> list[Event]:
        """Of a tool of the client's own."""
        data = obj(event.get("data"))
        lane, found = self._story.lanes.find(event.get("agentId"))
        self._story.lanes.broken_off()
        found += self._story.calls.settled(data, lane.subagent) or []
        call = self._story.calls.known(data.get("toolCallId"))
        assert call is not None
        self._called[call.id] = data.get("requestId")
        return [*found, ClientToolsCalled((ClientToolCall(call.id, call.name, call.subagent),))]

    def _give(self, request_id: Any, told: Data) -> None:
        self._ask_session(UNASKED[CALL][0], {"requestId": request_id, **told}, _nothing)

    def _declined(self, kind: str, data: Data) -> list[Event]:
        method, told = UNASKED[kind]
        self._ask_session(method, {"requestId": data.get("requestId"), **told}, _nothing)
        return [self.make_warning("QUESTION_DECLINED", f"Copilot's {kind} was declined: nobody can be asked that here")]

    def _reply(self, kind: str, data: Data, value: Any) -> None:
        asked = KINDS[kind]
        self._ask_session(asked.method, {"requestId": data.get("requestId"), asked.field: value}, _nothing)

    # -- actions

    def _action(self, action: str, params: Mapping[str, Any]) -> tuple[str, Data, Callable[[Data], Any]]:
        session = {"sessionId": self.session_id}
        match action:
            case "models":
                return "models.list", {}, models
            case "fork":
                return "sessions.fork", session, lambda result: non_empty(result.get("sessionId"))
            case "delete":
                return "sessions.delete", session, lambda result: None
            case "set_model":
                return "session.model.switchTo", session | {"modelId": params.get("model")}, self._set_model
            case "set_mode":
                mode = params.get("mode")
                return (
                    "session.mode.set",
                    session | {"mode": mode},
                    lambda result: self.session_layer.update({MODE: mode}),
                )
            case _:
                raise NotImplementedError(action)

    def _set_model(self, result: Data) -> None:
        model_state(self.session_layer, result.get("modelState"))

    def _done(self, ticket: str, value: Callable[[Data], Any]) -> Then:
        def then(result: Data, fault: AgentFault | None) -> list[Event]:
            self.action_results[ticket] = (
                ActionResult(error=fault) if fault is not None else ActionResult(value(result))
            )
            return []

        return then


TURNING = BEGINNINGS | {"assistant.turn_start", "assistant.idle", "session.idle", "session.todos_changed"}


def _call_of(data: Data) -> Any:
    return data.get("toolCallId") or obj(data.get("permissionRequest")).get("toolCallId")


def _nothing(result: Data, fault: AgentFault | None) -> list[Event]:
    return []
