"""`codex app-server`: one process for all threads, JSON-RPC without the `jsonrpc` field, one object per line.

In: responses to the gateway's requests, requests of the server, notifications. Out: events, and requests. The ids of
the two directions overlap, so each has its own table. The gateway's ids begin with the session's tag, by which
`read_owner` finds the session of a response. A message for a thread of another session is ignored.

Cancelling waits for `turn/started`: before it the server knows no turn to interrupt, and would run it to its end. A
message for the turn under way names the turn, so it never reaches another. Codex has accepted it when it comes back as
an item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from gateway.capability_paths import EFFORT, MODE, MODEL, MODES
from gateway.errors import AgentFault, NotJson
from gateway.events import Event, TurnFailed, UserMessageAccepted
from gateway.jsonio import loads
from gateway.turn import FEEDBACK_DROPPED, Answer
from gateway.wire.dialects.base import (
    NO_PARAMS,
    ActionResult,
    Dialect,
    Prompt,
    SessionStart,
    parse_message,
)
from gateway.wire.dialects.codex.client_tools import ClientTools
from gateway.wire.dialects.codex.errors import is_session_not_found, read_rpc_error
from gateway.wire.dialects.codex.notifications import Notifications
from gateway.wire.dialects.codex.requests import (
    INITIALIZE,
    mode_params,
    read_modes,
    read_owner,
    text_input,
    thread_params,
    turn_params,
)
from gateway.wire.dialects.codex.server_requests import FEEDBACK_SUFFIX, ServerRequests
from gateway.wire.dialects.codex.session_state import (
    TurnState,
    models_layer,
    permission_layer,
    read_models,
    thread_layer,
    update_layer,
)
from gateway.wire.dialects.codex.subagents import Threads
from gateway.wire.fields import MESSAGE_MAX_DEPTH, non_empty, obj, present, text
from gateway.wire.requests import RequestTable, tag_of

TEXT_DELTA = "item/agentMessage/delta"
OPEN_METHODS = ("thread/start", "thread/resume", "thread/fork")
ALREADY_INITIALIZED = "Already initialized"
"""An error that is none: another session of the process, started at the same time, was faster."""
MIN_BATCH = 4
"""Fewer messages are parsed one by one."""


class SentRequest(NamedTuple):
    method: str
    params: Mapping[str, Any]
    action: str | None = None
    """The action that it was sent for."""


class Codex(Dialect):
    name: ClassVar[str] = "codex"
    actions: ClassVar[frozenset[str]] = frozenset({"models", "fork", "set_model", "set_mode", "delete"})
    has_unlisted_sessions: ClassVar[bool] = True
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True
    skill_scope: ClassVar[Literal["session", "process"] | None] = "process"
    can_ask: ClassVar[bool] = True
    takes_feedback: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._requests = RequestTable[SentRequest]()
        self._client_tools = ClientTools()
        self._threads = Threads(self)
        self._codex_turn = TurnState()
        self._server_requests = ServerRequests(self, self._threads, self._client_tools)
        self._notifications = Notifications(
            self, self._threads, self._codex_turn, self._server_requests, self._client_tools, self._interrupt
        )
        self._queued: list[Event] = []
        """Events for the next `read`."""

    # -- driven by the gateway

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.is_ready = False
        self._requests.begin(start.tag)
        self._server_requests.clear()
        self._client_tools.offer(start.tools)
        if start.params.get("connected") is True:  # another session of the process has initialized it
            self._open_thread()
        else:
            self._request("initialize", INITIALIZE)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._threads.start_turn(prompt.id_prefix)
        self._codex_turn.reset()
        self._client_tools.offer(prompt.tools)
        params = turn_params(prompt)
        if prompt.mode is not None:
            params |= self._mode_params(prompt.mode, prompt.model, params.get("effort"))
        self._request("turn/start", {"threadId": self.session_id, **params})

    def answer(self, interrupt_id: str, answer: Answer) -> None:
        self._queued += self._server_requests.answer(interrupt_id, answer)

    def steer(self, message_id: str, text: str) -> bool:
        if not self._codex_turn.is_running:
            return False
        native_id = self.qualify_id(message_id)
        self._codex_turn.steering[native_id] = UserMessageAccepted(message_id, text)
        message = {"clientUserMessageId": native_id, "input": [text_input(text)]}
        self._request("turn/steer", {"threadId": self.session_id, "expectedTurnId": self._codex_turn.id, **message})
        return True

    def cancel(self) -> bool:
        self.is_cancelled = True
        if self._codex_turn.is_running:
            self._interrupt()
        return True

    def _interrupt(self) -> None:
        self._request("turn/interrupt", {"threadId": self.session_id, "turnId": self._codex_turn.id})

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        thread = {"threadId": self.session_id}
        match action:
            case "models":
                return self._request("model/list", {}, action)
            case "fork":
                fork = {**thread, "excludeTurns": True, **thread_params(self.session_start)}
                return self._request("thread/fork", fork, action)
            case "delete":
                return self._request("thread/delete", thread, action)
            case "set_model":
                return self._request("thread/settings/update", {**thread, "model": params.get("model")}, action)
            case "set_mode":
                return self._set_mode(text(params.get("mode")) or "")
            case _:
                return super().start_action(action, params)

    def release_session(self) -> None:
        if self.session_id is not None:
            self._request("thread/unsubscribe", {"threadId": self.session_id})

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        died = ActionResult(error=AgentFault("the agent's process has ended", code="AGENT_DIED"))
        self.action_results |= {request_id: died for request_id, sent in self._requests.drain() if sent.action}
        self._server_requests.clear()
        events = self._threads.end_turn(is_cancelled=self.is_cancelled) if self.is_busy else []
        return [*events, *super().on_process_exit(exit_code, stderr)]

    @classmethod
    def list_modes(cls, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [{"id": name} for name in read_modes(params)]

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        return read_owner(message)

    # -- requests to Codex

    def _request(self, method: str, params: Mapping[str, Any], action: str | None = None) -> str:
        request_id = self._requests.add(SentRequest(method, params, action))
        self.send({"id": request_id, "method": method, "params": params})
        return request_id

    def _open_thread(self) -> None:
        if self.session_start.skills:
            self._request("skills/extraRoots/set", {"extraRoots": list(self.session_start.skills)})
        thread_id, is_fork = self.session_start.session_id, self.session_start.fork
        if thread_id is None or (self._client_tools.is_missing_tools(thread_id) and not is_fork):
            self._start_thread(has_lost_history=thread_id is not None)
        else:
            params = {"threadId": thread_id, "excludeTurns": True, **thread_params(self.session_start)}
            self._request("thread/fork" if is_fork else "thread/resume", params)

    def _start_thread(self, *, has_lost_history: bool) -> None:
        self.has_lost_history = has_lost_history
        self._request("thread/start", {**thread_params(self.session_start), **self._client_tools.params})

    def _mode_params(self, name: str, model: str | None, effort: str | None) -> dict[str, Any]:
        modes = read_modes(self.session_start.params)
        if name not in modes:
            self._queued.append(self.make_warning("UNKNOWN_MODE", f"the agent has no mode {name!r}", modes=list(modes)))
            return {}
        layer = self.session_layer
        params = mode_params(modes[name], self.session_start, model or layer.get(MODEL), effort or layer.get(EFFORT))
        # Codex confirms it later, by `thread/settings/updated`; until then a client would read the old permissions.
        layer |= {MODE: name, **present(permission_layer(params.get("approvalPolicy"), params.get("sandboxPolicy")))}
        return params

    def _set_mode(self, name: str) -> str:
        if name in read_modes(self.session_start.params):
            params = {"threadId": self.session_id, **self._mode_params(name, None, None)}
            return self._request("thread/settings/update", params, "set_mode")
        self.finish_action(action_id := self._requests.new_id(), error=_unknown_mode(name))
        return action_id

    # -- messages of Codex

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events, self._queued = self._queued, []
        main, thread_id = self._threads.main, self.session_id
        for line, message in zip(messages, _parse_all(messages), strict=True):
            # A text delta comes for every token, so it has a short path.
            if type(message) is dict and message.get("method") == TEXT_DELTA and type(message.get("params")) is dict:
                params = message["params"]
                item_id, delta = params.get("itemId"), params.get("delta")
                if params.get("threadId") == thread_id and type(item_id) is str and type(delta) is str and delta:
                    events.append(main.add_text(item_id, delta))
                    continue
            events += self._read_message(message, line)
            thread_id = self.session_id
        return events

    def _read_message(self, message: Any, line: bytes) -> list[Event]:
        match message:
            case {"method": str(method), "id": int() | str() as request_id}:
                return self._server_requests.read(request_id, method, message)
            case {"method": str(method)} if "id" not in message:
                events = self._notifications.read(method, obj(message.get("params")))
                return [self.to_raw(message)] if events is None else events
            case {"id": str(request_id)} if "result" in message or "error" in message:
                return self._read_response(request_id, message)
            case _:
                return [self.to_raw(line.decode("utf-8", "replace") if message is None else message)]

    def _read_response(self, request_id: str, message: dict[str, Any]) -> list[Event]:
        sent = self._requests.pop(request_id)
        if sent is None:
            # A response to another session of the process, or a second one.
            return [self.to_raw(message)] if tag_of(request_id) == self.session_start.tag else []
        result, error = message.get("result"), message.get("error")
        if sent.action is not None:
            fault = None if error is None else read_rpc_error(error, sent.method)
            value = self._read_action(sent.action, sent.params, result) if fault is None else None
            self.action_results[request_id] = ActionResult(value, fault)
            return []
        match sent.method:
            case "initialize":
                self._read_initialized(obj(result), error)
            case "turn/start" if error is not None:
                return self._reject_turn(read_rpc_error(error, sent.method))
            case "turn/start":
                self._codex_turn.set_id(obj(obj(result).get("turn")))
            case "turn/steer" if error is not None:
                message_id = sent.params["clientUserMessageId"]
                self._codex_turn.steering.pop(message_id, None)
                if message_id.endswith(FEEDBACK_SUFFIX):
                    detail = read_rpc_error(error, sent.method).detail
                    return [self.make_warning(FEEDBACK_DROPPED, f"the agent did not take the feedback: {detail}")]
            case method if method in OPEN_METHODS:
                self._read_opened(method, obj(result), error)
        return []

    def _reject_turn(self, fault: AgentFault) -> list[Event]:
        """Codex did not start the turn."""
        if not self.is_busy:
            return []
        return self.end_turn() if self.is_cancelled else self.fail_turn(TurnFailed(fault.detail, fault.code))

    def _read_initialized(self, result: dict[str, Any], error: Any) -> None:
        if error is not None and obj(error).get("message") != ALREADY_INITIALIZED:
            self.failure = read_rpc_error(error, "initialize")
            return
        if error is None:
            self.handshake_layer |= present({"identity.version": _read_version(result)})
            self.send({"method": "initialized"})
        self._open_thread()

    def _read_opened(self, method: str, result: dict[str, Any], error: Any) -> None:
        if error is not None and method == "thread/resume" and is_session_not_found(error):
            self._start_thread(has_lost_history=True)
            return
        thread = obj(result.get("thread"))
        thread_id, is_new = non_empty(thread.get("id")), method == "thread/start"
        if error is not None or thread_id is None:
            self.failure = read_rpc_error(error or {"message": "no thread in the answer"}, method)
            return
        if thread_id != self.session_id:
            self._notifications.open_thread(is_new=is_new)
        self.session_id = thread_id
        self._codex_turn.reset()
        update_layer(self.session_layer, thread_layer(result))
        if is_new:
            self._client_tools.set_started(thread_id)
            if version := non_empty(thread.get("cliVersion")):
                self.handshake_layer.setdefault("identity.version", version)
        if modes := self.list_modes(self.session_start.params):
            mode = self.session_layer.get(MODE) or non_empty(self.session_start.params.get("mode"))
            update_layer(self.session_layer, {MODES: modes, MODE: mode})
        self.is_ready = True

    def _read_action(self, action: str, params: Mapping[str, Any], result: Any) -> Any:
        match action:
            case "models":
                models = read_models(result)
                self.session_layer |= models_layer(models)
                return models
            case "fork":
                return non_empty(obj(obj(result).get("thread")).get("id"))
            case "set_model":
                update_layer(self.session_layer, {MODEL: params["model"]})
        return None


def _unknown_mode(name: str) -> AgentFault:
    return AgentFault(f"the agent has no mode {name!r}", code="INVALID_PARAMS")


def _read_version(result: dict[str, Any]) -> str | None:
    """`agui_gateway/0.166.0 (Debian …)`."""
    return (non_empty(result.get("userAgent")) or "").partition("/")[2].partition(" ")[0] or None


def _parse_all(messages: Sequence[bytes]) -> list[Any]:
    """Many messages are parsed as one list, at half the cost. If the count differs, some line was no JSON."""
    if len(messages) >= MIN_BATCH:
        try:
            values: list[Any] = loads(b"[%b]" % b",".join(messages), MESSAGE_MAX_DEPTH)
        except NotJson:
            values = []
        if len(values) == len(messages):
            return values
    return [parse_message(message) for message in messages]
