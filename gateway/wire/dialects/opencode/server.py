"""`opencode serve`: one server process, one session per thread, HTTP calls and one stream of events.

In: the server's events and the answers to HTTP calls. Out: events, and HTTP calls in `outbox`. `[cli.params]` may set
`permission`, rules for the sessions (`{permission, pattern, action}`), and `system`, a system prompt sent with every
prompt. MCP servers belong to a directory: threads that work in the same directory share them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from gateway.capability_paths import MODEL
from gateway.errors import AgentFault
from gateway.events import Custom, Event, TurnFailed
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.opencode.errors import OUTPUT_LIMIT, STOP_REASONS, to_agent_fault, to_turn_failed
from gateway.wire.dialects.opencode.modes import SessionModes
from gateway.wire.dialects.opencode.permissions import PendingPermissions
from gateway.wire.dialects.opencode.requests import (
    HttpCalls,
    mark_default,
    mcp_body,
    mcp_failure,
    prompt_body,
    read_models,
    read_owner,
    session_path,
)
from gateway.wire.dialects.opencode.server_events import ServerEvents
from gateway.wire.dialects.opencode.steering import SteeringQueue
from gateway.wire.dialects.opencode.subagents import TurnSessions
from gateway.wire.fields import non_empty, obj, present

SESSION_PREFIX = "ses"


class OpenCode(Dialect):
    name = "opencode"
    actions = frozenset(("models", "fork", "delete", "set_model", "set_mode"))
    can_steer: ClassVar[bool] = True
    can_ask: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = True
    has_unlisted_sessions = True

    def __init__(self) -> None:
        super().__init__()
        self._calls = HttpCalls(self)
        self._sessions = TurnSessions(self.qualify_id)
        self._permissions = PendingPermissions(self, self._calls, self._sessions)
        self._steering = SteeringQueue(self, self._calls, abort=self._abort, finish=self._finish)
        self._modes = SessionModes(self, self._calls)
        self._events = ServerEvents(
            self,
            self._sessions,
            self._permissions,
            self._steering,
            abort=self._abort,
            finish=self._finish,
            set_mode=self._modes.set,
        )
        self._mcp_servers: list[Mapping[str, Any]] = []
        self._is_abort_sent = False

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        return read_owner(obj(parse_message(message)))

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            value = parse_message(message)
            fields = obj(value)
            if isinstance(kind := fields.get("type"), str):
                read = self._events.read(kind, fields)
                events += [self.to_raw(value)] if read is None else read
            elif isinstance(fields.get("id"), str) and "status" in fields:
                events += self._calls.read_answer(fields)
            else:
                events.append(self.to_raw(message.decode("utf-8", "replace") if value is None else value))
        return [*events, *self._permissions.take_interrupts()]

    # -- the session

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.is_ready = False
        self._calls.start_session()
        self._clear_turn()
        self._mcp_servers = list(start.mcp_servers)
        self._calls.send("GET", "/agent", None, self._read_agents)

    def _read_agents(self, answer: dict[str, Any]) -> list[Event]:
        self._modes.read_agents(answer)
        self._add_mcp_server()
        return []

    def _add_mcp_server(self) -> None:
        """Add the MCP servers one after the other, then open the session."""
        if self._mcp_servers:
            body = mcp_body(self._mcp_servers.pop(0))
            self._calls.send("POST", "/mcp", body, partial(self._read_mcp_server, body["name"]))
        else:
            self._open_session()

    def _read_mcp_server(self, name: Any, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") == 200:
            failure = mcp_failure(answer.get("body"), name)
        else:
            failure = to_agent_fault(answer, "POST /mcp").detail
        self._add_mcp_server()
        if failure is None:
            return []
        return [self.make_warning("MCP_SERVER_FAILED", f"the MCP server {name!r} cannot be used: {failure}")]

    def _open_session(self) -> None:
        session_id = self.session_start.session_id
        if session_id is None:
            self._create_session()
        elif not session_id.startswith(SESSION_PREFIX):  # the server would answer with an internal error
            self._read_resumed({"status": 404, "body": {"message": f"{session_id} is no session of opencode's"}})
        elif self.session_start.fork:
            self._calls.send("POST", session_path(session_id, "/fork"), {}, self._read_opened)
        else:
            self._calls.send("GET", session_path(session_id), None, self._read_resumed)

    def _create_session(self) -> None:
        rules = self._modes.list_rules()
        self._calls.send("POST", "/session", {"permission": rules} if rules else {}, self._read_opened)

    def _read_resumed(self, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") != 404 or self.session_start.fork:
            return self._read_opened(answer)
        self.has_lost_history = True
        self._create_session()
        return []

    def _read_opened(self, answer: dict[str, Any]) -> list[Event]:
        info = obj(answer.get("body"))
        session_id = non_empty(info.get("id"))
        if answer.get("status") != 200 or session_id is None:
            self.failure = to_agent_fault(answer, "opencode has no session to work in")
            return []
        self.session_id = session_id
        self._events.read_session_info(info)
        self._modes.open_session(info)
        self._modes.send_rules(self._read_rules)
        return []

    def _read_rules(self, fault: AgentFault | None) -> list[Event]:
        """Without its rules the session would not ask for permission, so it must not work."""
        self.is_ready = fault is None
        self.failure = fault
        return []

    # -- the turn

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._clear_turn()
        self._is_abort_sent = False
        self._events.start_turn()
        self._sessions.start_turn(self.session_id or "")
        if prompt.mode is not None:
            self._modes.set(prompt.mode)
        self._modes.send_rules(partial(self._send_prompt, prompt))

    def _send_prompt(self, prompt: Prompt, fault: AgentFault | None) -> list[Event]:
        if not self.is_busy or prompt is not self.turn:
            return []
        if fault is not None:
            return self._end_turn(TurnFailed(fault.detail, fault.code))
        if self.is_cancelled:
            return self._end_turn(stop_reason="cancelled")
        path = session_path(self.session_id or "", "/prompt_async")
        body = prompt_body(prompt, self._modes.current, self.session_start.params.get("system"))
        self._calls.send("POST", path, body, partial(self._read_prompt, prompt.id_prefix))
        return []

    def _read_prompt(self, turn_key: str, answer: dict[str, Any]) -> list[Event]:
        if answer.get("status") in (200, 204) or not self.is_busy or turn_key != self.turn.id_prefix:
            return []
        fault = to_agent_fault(answer, "opencode did not take the prompt")
        return self._end_turn(TurnFailed(fault.detail, fault.code))

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        self._permissions.answer(interrupt_id, answer)

    def steer(self, message_id: str, text: str) -> bool:
        return self._events.has_started and self._steering.send(message_id, text)

    def cancel(self) -> bool:
        self.is_cancelled = True
        if not self._steering.has_unconfirmed:  # else once they are messages: the agent would answer them afterwards
            self._abort()
        return True

    def _abort(self, *, again: bool = False) -> None:
        """Only once the agent works: the server confirms an earlier abort at once, and carries out the prompt."""
        if self._events.has_started and (again or not self._is_abort_sent):
            self._is_abort_sent = True
            self._calls.send("POST", session_path(self.session_id or "", "/abort"), None, lambda answer: [])

    def _finish(self) -> list[Event]:
        """The end of the turn, unless steering messages keep it open."""
        session = self._sessions.main
        if session is None:
            return []
        session.is_idle = False
        error = session.error
        is_cancelled = self.is_cancelled or session.is_aborted
        if self._steering.blocks_end(is_stopped=is_cancelled or error is not None):
            return []
        cost = sum(each.parts.cost for each in self._sessions.all())
        events: list[Event] = [Custom("cost", {"usd": cost})] if cost else []
        if is_cancelled:
            return [*events, *self._end_turn(stop_reason="cancelled")]
        if error is None:
            reason = STOP_REASONS.get(session.parts.finish_reason or "", "end_turn")
            return [*events, *self._end_turn(stop_reason=reason)]
        if error.get("name") == OUTPUT_LIMIT:
            return [*events, *self._end_turn(stop_reason="max_tokens")]
        return [*events, *self._end_turn(to_turn_failed(error))]

    def _end_turn(self, failure: TurnFailed | None = None, stop_reason: str = "end_turn") -> list[Event]:
        """A turn that the client cancelled ends as cancelled, whatever the failure."""
        self._clear_turn()
        if failure is None or self.is_cancelled:
            return self.end_turn(stop_reason, self._events.structured_output if stop_reason != "cancelled" else None)
        return self.fail_turn(failure)

    def _clear_turn(self) -> None:
        self._permissions.clear()
        self._sessions.end_turn()
        self._steering.clear()

    # -- between turns

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        session_id = non_empty(params.get("sessionId")) or self.session_id or ""
        match action:
            case "models":
                return self._list_models()
            case "fork":
                return self._request("POST", session_path(session_id, "/fork"), {}, lambda body: obj(body).get("id"))
            case "delete":
                return self._request("DELETE", session_path(session_id), None, lambda body: None)
            case "set_mode":  # it goes with every prompt, and so does the model
                self._modes.set(non_empty(params.get("mode")))
            case _:
                self.session_layer |= present({MODEL: non_empty(params.get("model"))})
        self.action_results[action] = ActionResult()
        return action

    def _list_models(self) -> str:
        """The models of all providers, then which of them the configuration makes the default."""

        def read_providers(answer: dict[str, Any]) -> list[Event]:
            if answer.get("status") != 200:
                fault = to_agent_fault(answer, "GET /config/providers")
                self.action_results[action_id] = ActionResult(error=fault)
            else:
                self._calls.send("GET", "/config", None, partial(read_config, read_models(answer.get("body"))))
            return []

        def read_config(models: list[dict[str, Any]], answer: dict[str, Any]) -> list[Event]:
            self.action_results[action_id] = ActionResult(mark_default(models, answer.get("body")))
            return []

        action_id = self._calls.send("GET", "/config/providers", None, read_providers)
        return action_id

    def _request(self, method: str, path: str, body: Any, read_body: Callable[[Any], Any]) -> str:
        def read_answer(answer: dict[str, Any]) -> list[Event]:
            if answer.get("status") == 200:
                self.action_results[action_id] = ActionResult(read_body(answer.get("body")))
            else:
                self.action_results[action_id] = ActionResult(error=to_agent_fault(answer, f"{method} {path}"))
            return []

        action_id = self._calls.send(method, path, body, read_answer)
        return action_id
