"""`codex app-server`: one process for all threads, JSON-RPC without the `jsonrpc` field, one object a line.

In: answers to our requests, the server's own requests, notifications; each of them for a thread. Out: events, and our
requests. Ids of the two directions overlap, so each has a table of its own. Our ids begin with the session's tag, by
which `owner` finds whom an answer is for. A message for somebody else's thread is left alone.

Cancelling waits for `turn/started`: before it the server knows no turn to interrupt, and would run it to its end. Words
for the turn under way name it, so they never reach another; that they were taken up shows by their coming back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import orjson

from gateway.capability_paths import MODE, MODEL, MODELS, MODES
from gateway.errors import AgentFault
from gateway.events import ClientToolCall, ClientToolsCalled, Event, InterruptRequested, UserMessageAccepted
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart, parse_message
from gateway.wire.dialects.codex import session_state
from gateway.wire.dialects.codex.client_tools import Served, refused, result
from gateway.wire.dialects.codex.errors import is_lost, rpc_fault
from gateway.wire.dialects.codex.notifications import Hearing
from gateway.wire.dialects.codex.permission_answers import answered, by_policy
from gateway.wire.dialects.codex.permission_options import ASKED, ELICITATION, Pending
from gateway.wire.dialects.codex.permissions import question
from gateway.wire.dialects.codex.requests import INITIALIZE, mode_params, modes, text_input, thread_params, turn_params
from gateway.wire.fields import non_empty, obj, text
from gateway.wire.jsonrpc import METHOD_NOT_FOUND

DELTA = "item/agentMessage/delta"
OPENING = ("thread/start", "thread/resume", "thread/fork")
INITIALIZED_BEFORE = "Already initialized"
"""The one error that is none: another session of the process, begun at the same time, was faster."""
NOTIFIED = b'{"method":"'
THREAD_KEY = b'"threadId":"'
FEW = 3
"""So few messages are parsed one by one."""


class Codex(Hearing):
    name: ClassVar[str] = "codex"
    actions: ClassVar[frozenset[str]] = frozenset({"models", "fork", "set_model", "set_mode", "delete"})
    has_unlisted_sessions: ClassVar[bool] = True
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._asked: dict[str, tuple[str, Any, str | None]] = {}
        """Our requests that have no answer yet: id → method, parameters, and the action that it was for."""
        self._pending: dict[str, Pending] = {}
        """The server's requests, by the ids of their questions."""
        self._served = Served()

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self._asked, self._pending = {}, {}
        self._offer(begin.tools)
        if begin.params.get("connected") is True:  # another session of the process has done it
            self._open()
        else:
            self._ask("initialize", INITIALIZE)

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.hear_turn(prompt)
        self._offer(prompt.tools)
        params = turn_params(prompt)
        if prompt.mode is not None:
            params |= self._mode_params(prompt.mode, prompt.model, params.get("effort"))
        self._ask("turn/start", {"threadId": self.session_id, **params})

    def answer(self, question_id: str, answer: Answer) -> None:
        if (pending := self._pending.pop(question_id, None)) is not None:
            self.send({"id": pending.request_id, "result": answered(pending, answer)})
        if (number := self._served.calls.pop(question_id, None)) is not None:
            self.send({"id": number, "result": result(answer)})

    def steer(self, message_id: str, text: str) -> bool:
        if not self.running:
            return False
        name = f"{self.turn.id_prefix}:{message_id}"
        self.words[name] = UserMessageAccepted(message_id, text)
        told = {"expectedTurnId": self.turn_id, "clientUserMessageId": name, "input": [text_input(text)]}
        self._ask("turn/steer", {"threadId": self.session_id, **told})
        return True

    def cancel(self) -> bool:
        self.is_cancelled = True
        if self.running:
            self.interrupt()
        return True

    def interrupt(self) -> None:
        self._ask("turn/interrupt", {"threadId": self.session_id, "turnId": self.turn_id})

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        thread = {"threadId": self.session_id}
        match action:
            case "models":
                return self._ask("model/list", {}, action)
            case "fork":
                return self._ask(
                    "thread/fork", {**thread, "excludeTurns": True, **thread_params(self.session_start)}, action
                )
            case "delete":
                return self._ask("thread/delete", thread, action)
            case "set_model":
                return self._ask("thread/settings/update", {**thread, "model": params.get("model")}, action)
            case "set_mode":
                return self._set_mode(text(params.get("mode")) or "")
            case _:
                raise NotImplementedError(action)

    def release_session(self) -> None:
        if self.session_id is not None:
            self._ask("thread/unsubscribe", {"threadId": self.session_id})

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        gone = AgentFault("the agent's process has ended", code="AGENT_DIED")
        for ticket, (_, _, action) in self._asked.items():
            if action is not None:
                self.action_results[ticket] = ActionResult(error=gone)
        self._asked, self._pending = {}, {}
        found = self.family.rest(cancelled=self.is_cancelled) if self.is_busy else []
        return [*found, *super().on_process_exit(exit_code, stderr)]

    @classmethod
    def read_owner(cls, message: bytes) -> str | None:
        """A notification has one thread id, in a way that no text can imitate: quotes in texts are escaped. Where that
        is not so, it is parsed, at the cost of doing so twice."""
        at = message.find(THREAD_KEY) if message.startswith(NOTIFIED) else -1
        if at >= 0 and message.find(THREAD_KEY, at + 1) < 0:
            start = at + len(THREAD_KEY)
            return message[start : message.find(b'"', start)].decode("utf-8", "replace")
        told = obj(parse_message(message))
        if "method" not in told:
            return (text(told.get("id")) or "").rpartition(":")[0] or None
        params = obj(told.get("params"))
        return non_empty(params.get("threadId")) or non_empty(obj(params.get("thread")).get("id"))

    # -- what we ask

    def _ask(self, method: str, params: Any, action: str | None = None) -> str:
        self._count += 1
        number = f"{self.session_start.tag}:{self._count}"
        self._asked[number] = (method, params, action)
        self.send({"id": number, "method": method, "params": params})
        return number

    def _open(self) -> None:
        wanted, fork = self.session_start.session_id, self.session_start.fork
        if wanted is None or (self._served.lacks(wanted) and not fork):
            self._start(anew=wanted is not None)
        else:
            told = {"threadId": wanted, "excludeTurns": True, **thread_params(self.session_start)}
            self._ask("thread/fork" if fork else "thread/resume", told)

    def _start(self, *, anew: bool) -> None:
        self.has_lost_history = anew
        self._ask("thread/start", {**thread_params(self.session_start), **self._served.params})

    def _offer(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._served.offer(tools)
        self._served.calls.clear()
        self.tool_names = self._served.names

    def _mode_params(self, name: str, model: str | None, effort: str | None) -> dict[str, Any]:
        offered = modes(self.session_start)
        if name not in offered:
            self.told.append(self.make_warning("UNKNOWN_MODE", f"the agent has no mode {name!r}", modes=list(offered)))
            return {}
        self.learn({MODE: name})
        return mode_params(offered[name], self.session_start, model or self.model, effort or self.effort)

    def _set_mode(self, name: str) -> str:
        if name in modes(self.session_start):
            params = {"threadId": self.session_id, **self._mode_params(name, None, None)}
            return self._ask("thread/settings/update", params, "set_mode")
        self._count += 1
        ticket = f"{self.session_start.tag}:{self._count}"
        self.action_results[ticket] = ActionResult(
            error=AgentFault(f"the agent has no mode {name!r}", code="INVALID_PARAMS")
        )
        return ticket

    # -- what comes

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found, self.told = self.told, []
        main, thread = self.family.main, self.session_id
        for line, message in zip(messages, _values(messages), strict=True):
            # The one that comes for every token is recognised without further ado.
            if type(message) is dict and message.get("method") == DELTA and type(message.get("params")) is dict:
                params = message["params"]
                item, delta = params.get("itemId"), params.get("delta")
                if params.get("threadId") == thread and type(item) is str and type(delta) is str and delta:
                    found.append(main.text(item, delta))
                    continue
            found += self._message(message, line)
            thread = self.session_id
        return found

    def _message(self, message: Any, line: bytes) -> list[Event]:
        match message:
            case {"method": str(method), "id": int() | str() as number}:
                return self._requested(number, method, message)
            case {"method": str(method)} if "id" not in message:
                heard = self.hear(method, obj(message.get("params")))
                return [self.to_raw(message)] if heard is None else heard
            case {"id": str(number)} if "result" in message or "error" in message:
                return self._answered(number, message)
            case _:
                return [self.to_raw(line.decode("utf-8", "replace") if message is None else message)]

    def _answered(self, number: str, message: dict[str, Any]) -> list[Event]:
        if number not in self._asked:
            # Another session's, of the same process; or one that is answered already.
            return [self.to_raw(message)] if number.rpartition(":")[0] == self.session_start.tag else []
        method, params, action = self._asked.pop(number)
        error = message.get("error")
        if action is not None:
            done = message.get("result")
            fault = None if error is None else rpc_fault(error, method)
            self.action_results[number] = (
                ActionResult(error=fault) if fault else ActionResult(self._done(action, params, done))
            )
            return []
        match method:
            case "initialize":
                self._initialized(obj(message.get("result")), error)
            case "turn/start" if error is not None:
                return self.refused(rpc_fault(error, method))
            case "turn/start":
                self.turn_known(obj(obj(message.get("result")).get("turn")))
            case "turn/steer" if error is not None:
                self.words.pop(params["clientUserMessageId"], None)
            case method if method in OPENING:
                self._opened(method, obj(message.get("result")), error)
        return []

    def _initialized(self, result: dict[str, Any], error: Any) -> None:
        if error is not None and obj(error).get("message") != INITIALIZED_BEFORE:
            self.failure = rpc_fault(error, "initialize")
            return
        if error is None:
            # `agui_gateway/0.166.0 (Debian …)`
            version = (non_empty(result.get("userAgent")) or "").partition("/")[2].partition(" ")[0]
            if version:
                self.handshake_layer["identity.version"] = version
            self.send({"method": "initialized"})
        self._open()

    def _opened(self, method: str, result: dict[str, Any], error: Any) -> None:
        if error is not None and method == "thread/resume" and is_lost(error):
            self._start(anew=True)
            return
        thread_id = non_empty(obj(result.get("thread")).get("id"))
        if error is not None or thread_id is None:
            told = error if error is not None else {"message": "no thread in the answer"}
            self.failure = rpc_fault(told, method)
            return
        self.opened(thread_id, result, new=method == "thread/start")
        if method == "thread/start":
            self._served.begun(thread_id)
        if version := non_empty(obj(result.get("thread")).get("cliVersion")) if method == "thread/start" else None:
            self.handshake_layer.setdefault("identity.version", version)
        if offered := [{"id": name} for name in modes(self.session_start)]:
            mode = self.session_layer.get(MODE) or non_empty(self.session_start.params.get("mode"))
            self.learn({MODES: offered, MODE: mode})
        self.is_ready = True

    def _done(self, action: str, params: dict[str, Any], result: Any) -> Any:
        match action:
            case "models":
                found = session_state.models(result)
                brief = [{key: one[key] for key in ("id", "name", "description") if key in one} for one in found]
                self.learn({MODELS: brief})
                return found
            case "fork":
                return non_empty(obj(obj(result).get("thread")).get("id"))
            case "set_model":
                self.learn({MODEL: params["model"]})
        return None

    # -- what is asked of us

    def _requested(self, number: int | str, method: str, message: dict[str, Any]) -> list[Event]:
        params = obj(message.get("params"))
        if "threadId" in params and not self.concerns(params["threadId"]):
            return []
        if method == "item/tool/call":
            return self._call(number, params)
        if method not in ASKED:
            self.send({"id": number, "error": {"code": METHOD_NOT_FOUND, "message": f"{method} is not served here"}})
            return [self.to_raw(message)]
        return self._question(Pending(number, method, params))

    def _call(self, number: int | str, params: dict[str, Any]) -> list[Event]:
        """Of a tool of the client's own."""
        tool, item_id = self._served.find(params.get("tool")), non_empty(params.get("callId"))
        if tool is None or item_id is None or self.is_cancelled or not self.is_busy:
            self.send({"id": number, "result": refused(offered=tool is not None)})
            return []
        lane, found = self.lane_of(params.get("threadId"))
        about = {"tool": tool["name"], "arguments": params.get("arguments"), "status": "inProgress"}
        found += lane.started({"type": "dynamicToolCall", "id": item_id, **about}) or []
        call_id = lane.call_id(item_id) or item_id
        self._served.calls[call_id] = number
        found += [event for lane in self.family.lanes() for event in lane.park()]
        return [*found, ClientToolsCalled((ClientToolCall(call_id, tool["name"], lane.subagent),))]

    def _question(self, pending: Pending) -> list[Event]:
        if self.is_cancelled and self.is_busy:
            result = answered(pending, Answer("", "cancelled"))
        elif self.turn.approvals != "prompt":
            result = by_policy(pending, allow=self.turn.approvals == "auto")
        else:
            return self._to_human(pending)
        self.send({"id": pending.request_id, "result": result})
        return []

    def _to_human(self, pending: Pending) -> list[Event]:
        lane, found = self.lane_of(pending.params.get("threadId"))
        item_id = pending.params.get("itemId")
        call = lane.call_id(item_id)
        if pending.method == ELICITATION:
            call = _called(lane.waiting("mcpToolCall"), pending)
        name = self.qualify_id(f"ask:{pending.request_id}")
        self._pending[name] = pending
        found += [event for lane in self.family.lanes() for event in lane.park()]
        return [*found, InterruptRequested((question(pending, name, call, lane.subagent, lane.files(item_id)),))]

    def resolved(self, request_id: Any) -> None:
        """A request is no longer open, whoever answered it."""
        self._served.resolved(request_id)
        for name, pending in list(self._pending.items()):
            if pending.request_id == request_id and type(pending.request_id) is type(request_id):
                del self._pending[name]


def _called(waiting: list[tuple[str, dict[str, Any]]], pending: Pending) -> str | None:
    """The call that an MCP server's question is about: of that server, with those arguments if any are told."""
    server = pending.params.get("serverName")
    of_server = [(name, item) for name, item in waiting if item.get("server") == server]
    told = obj(pending.params.get("_meta")).get("tool_params")
    exact = [name for name, item in of_server if item.get("arguments") == told]
    return next(iter([*exact, *(name for name, _ in of_server)]), None)


def _values(messages: Sequence[bytes]) -> list[Any]:
    """Many are parsed as one list, at half the cost; if that gives another number of values, some line was no JSON."""
    if len(messages) > FEW:
        try:
            values: list[Any] = orjson.loads(b"[%b]" % b",".join(messages))
        except orjson.JSONDecodeError:
            values = []
        if len(values) == len(messages):
            return values
    return [parse_message(message) for message in messages]
