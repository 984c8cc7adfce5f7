"""A complete small dialect, for an imaginary agent: `otter --jsonl`, one JSON object a line, in both directions.

In: lines of stdout. Out: gateway events, and lines for stdin. The protocol:

| to the agent | from the agent |
|---|---|
| `{"id", "method": "open", "cwd", "session"}` | `{"id", "result": {"session", "model"}}` or `{"id", "error"}` |
| `{"id", "method": "models"}` | `{"id", "result": [{"id", "name"}]}` or `{"id", "error"}` |
| `{"method": "prompt", "text"}` | `{"type": "text" \\| "thinking", "delta"}` |
| | `{"type": "tool", "call", "name", "args"}`, `{"type": "tool_result", "call", "output", "failed"}` |
| `{"method": "permit", "request", "choice"}` | `{"type": "permission", "request", "call", "title", "choices"}` |
| `{"method": "stop"}` | `{"type": "end", "reason"}` or `{"type": "end", "error"}` |

Copy this file to `gateway/wire/dialects/`, and replace it line by line with your agent's format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gateway.capability_paths import MODEL
from gateway.errors import AgentFault
from gateway.events import Event, Interrupt, InterruptRequested, TurnFailed
from gateway.turn import Answer
from gateway.wire.approvals import ALLOW_ALWAYS, ALLOW_ONCE, REJECT_ONCE, Approval, Decision, Option
from gateway.wire.dialects.base import NO_PARAMS, Dialect, Prompt, SessionStart, parse_message
from gateway.wire.fields import flag, items, json_text, non_empty, obj, present, text, unique_strings
from gateway.wire.requests import RequestTable
from gateway.wire.text_parts import Part, TextParts
from gateway.wire.tool_calls import ToolCall, ToolCalls

Json = dict[str, Any]
ResponseReader = Callable[[Any, str | None], None]
"""Reads a response: (result, error message), one of them None."""

DENY = "no"
OPTIONS = {"yes": ("Allow", ALLOW_ONCE), "always": ("Always allow", ALLOW_ALWAYS), DENY: ("Deny", REJECT_ONCE)}
"""The agent's choices → the label for the user, and the kind that `wire/approvals` decides by."""
STOP_REASONS = {"done": "end_turn", "length": "max_tokens", "stopped": "cancelled"}


class Otter(Dialect):
    name = "otter"
    actions = frozenset(("models",))

    def __init__(self) -> None:
        super().__init__()
        self._requests: RequestTable[ResponseReader] = RequestTable()
        self._parts = TextParts(self._new_message_id)
        self._calls = ToolCalls(self.qualify_id, ToolCall)
        self._approvals: dict[str, tuple[str, Approval]] = {}
        """Interrupt id → the agent's id of the request, and its options."""

    def _new_message_id(self, part: Part) -> str:
        return self.qualify_id(f"m{part.number}")

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._requests.begin(start.tag)
        self.is_ready = False
        self._call("open", self._read_opened, cwd=start.cwd, session=start.session_id)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._parts.begin_turn()
        self._calls.begin_turn()
        self._approvals.clear()
        self.send({"method": "prompt", "text": prompt.text})

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            line = parse_message(message)
            found = self._read_line(line) if isinstance(line, dict) else None
            events += [self.to_raw(message.decode(errors="replace"))] if found is None else found
        return events

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        if interrupt_id in self._approvals:
            request_id, approval = self._approvals.pop(interrupt_id)
            self._permit(request_id, approval.decide(answer))

    def cancel(self) -> bool:
        self.is_cancelled = True
        self.send({"method": "stop"})
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        action_id = f"{action}-{self._requests.next_number()}"
        self._call("models", lambda result, error: self._read_models(action_id, result, error))
        return action_id

    # -- requests

    def _call(self, method: str, reader: ResponseReader, **params: Any) -> None:
        self.send({"id": self._requests.add(reader), "method": method, **params})

    def _read_opened(self, result: Any, error: str | None) -> None:
        self.session_id = non_empty(obj(result).get("session"))
        if self.session_id is None:
            self.failure = AgentFault(f"the agent cannot open a session: {error or 'no reason given'}")
            return
        wanted = self.session_start.session_id
        self.has_lost_history = wanted is not None and self.session_id != wanted
        self.session_layer |= present({MODEL: non_empty(obj(result).get("model"))})
        self.is_ready = True

    def _read_models(self, action_id: str, result: Any, error: str | None) -> None:
        models = [present({"id": text(model.get("id")), "name": text(model.get("name"))}) for model in items(result)]
        self.finish_action(action_id, models, AgentFault(error) if error is not None else None)

    # -- lines; None: not understood

    def _read_line(self, line: Json) -> list[Event] | None:
        if (reader := self._requests.pop(line.get("id"))) is not None:
            reader(line.get("result"), text(line.get("error")))
            return []
        match line.get("type"):
            case "text":
                return self._parts.add_text(text(line.get("delta")) or "")
            case "thinking":
                return self._parts.add_reasoning(text(line.get("delta")) or "")
            case "tool" | "tool_result" as kind if (call_id := non_empty(line.get("call"))) is not None:
                call = self._calls.add(call_id, non_empty(line.get("name")))
                return self._read_tool(call, line) if kind == "tool" else self._read_result(call, line)
            case "permission" if (request_id := non_empty(line.get("request"))) is not None:
                return self._read_permission(request_id, line)
            case "end" if self.is_busy:
                return self._read_end(line)
            case _:
                return None

    def _read_tool(self, call: ToolCall, line: Json) -> list[Event]:
        return [*self._parts.close(), *call.end(obj(line.get("args")))]

    def _read_result(self, call: ToolCall, line: Json) -> list[Event]:
        output = line.get("output")
        content = output if isinstance(output, str) else json_text(output)
        return [*self._parts.close(), *call.answer(content, is_error=flag(line.get("failed")))]

    def _read_permission(self, request_id: str, line: Json) -> list[Event]:
        choices = unique_strings(line.get("choices")) or ["yes", DENY]
        approval = Approval([Option(choice, *OPTIONS.get(choice, (choice, None))) for choice in choices])
        decision = approval.decide_by_policy("deny" if self.is_cancelled else self.turn.approvals)
        if decision is not None:
            self._permit(request_id, decision)
            return []
        interrupt_id = self.qualify_id(f"permission:{request_id}")
        self._approvals[interrupt_id] = (request_id, approval)
        call = self._calls.get(line.get("call"))
        interrupt = Interrupt(
            interrupt_id,
            reason="confirmation" if call is None else "tool_call",
            message=non_empty(line.get("title")) or "The agent asks for permission.",
            tool_call_id=None if call is None else call.id,
            response_schema=approval.response_schema(),
        )
        return [*self._parts.close(), InterruptRequested((interrupt,))]

    def _permit(self, request_id: str, decision: Decision) -> None:
        """Only a clear yes allows: `decision.option` is None for everything that no option expresses."""
        choice = DENY if decision.option is None else decision.option.id
        self.send({"method": "permit", "request": request_id, "choice": choice})

    def _read_end(self, line: Json) -> list[Event]:
        closed = [*self._parts.close(), *self._calls.close(cancelled=self.is_cancelled)]
        self._approvals.clear()
        error = non_empty(line.get("error"))
        if error is not None and not self.is_cancelled:
            return [*closed, *self.fail_turn(TurnFailed(error, "MODEL_ERROR"))]
        return [*closed, *self.end_turn(STOP_REASONS.get(text(line.get("reason")) or "", "end_turn"))]
