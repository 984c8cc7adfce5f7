"""Claude Code: `claude -p … --output-format stream-json`, in both directions or for one prompt.

In both directions one process is one session: prompts and answers to its questions go in as lines, and it is asked
things by `control_request`, as it asks us. For one prompt the text stands on stdin and nobody can be asked; the lines
that come out are the same.

A prompt carries a uuid, and the result that answers it names it. Claude leaves out a message whose uuid it has seen, so
it is made of the turn's key and the words: the same in every test, and never twice in a session.

Words for a turn under way are a line like the prompt. Claude folds them in after the tools that run, or begins another
turn of its own with them right after the result, which is then no end of ours. It tells where a line stands in its
queue (`command_lifecycle`); versions that do not are not steered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID, uuid5

from gateway.capability_paths import MODEL
from gateway.errors import AgentFault
from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Custom,
    Event,
    Interrupt,
    InterruptRequested,
    UserMessageAccepted,
)
from gateway.turn import Answer
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, Prompt, SessionStart
from gateway.wire.dialects.claude.client_tools import PREFIX, SERVER, Served, called_id, result
from gateway.wire.dialects.claude.content import to_content
from gateway.wire.dialects.claude.permissions import Pending, answered, by_policy, question, withdrawn
from gateway.wire.dialects.claude.reader import Line, Reader
from gateway.wire.dialects.claude.session_state import mode, models, of_handshake, of_session
from gateway.wire.fields import non_empty, obj, text

__all__ = ["ClaudeDialect", "ClaudePrint"]

PROMPTS = UUID("3f0c7c0e-5d0b-5a55-9a7e-6d1f6c2d9b11")
UNSUPPORTED = "This host does not offer that."
NOT_SERVED = "Claude Code did not take the application's own tools"
FOR_HOSTS = ("hook_callback", "mcp_message", "request_user_dialog")
"""Requests to a host that said it takes them, which we did not."""
SET = {"set_model": ("set_model", "model"), "set_mode": ("set_permission_mode", "mode")}
"""Action → Claude's request, its field, and where the fact stands."""


class ClaudeDialect(Reader):
    """One process for a session, in both directions."""

    name: ClassVar[str] = "claude"
    actions: ClassVar[frozenset[str]] = frozenset(("models", "set_model", "set_mode"))
    can_call_client_tools: ClassVar[bool] = True
    can_steer: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._requests: dict[str, tuple[str, Mapping[str, Any]]] = {}
        """Ours that wait for their response: what for."""
        self._pending: dict[str, Pending] = {}
        """Claude's that wait for ours, by the question's id."""
        self._asking: list[Interrupt] = []
        """To be asked when the message that streams is complete: no run may end in the midst of it."""
        self._served = Served()
        self._called: dict[str, tuple[str, dict[str, Any]]] = {}
        """Calls of the client's tools that wait, by AG-UI's ids: Claude's request, and the message in it."""
        self._calling: list[ClientToolCall] = []
        """…to be told likewise."""
        self._uuid = ""
        """Of the line whose result is awaited: the prompt, or words that came after it."""
        self._tells_queue = False
        self._models: list[dict[str, Any]] | None = None

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self._requests.clear()
        self._served.forget()
        self._tells_queue = False
        self._forget()
        self._request("initialize", {"subtype": "initialize"})

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        content, dropped = to_content(prompt.blocks)
        for kind in dropped:
            words = f"Claude Code takes no {kind}: it was left out of the prompt"
            self._news.append(self.make_warning("CONTENT_DROPPED", words))
        if (news := self._served.offer(prompt.tools)) is not None:
            self._request("offer", news)
        self._calls.names = self._served.names
        self._uuid = self._say(f"{prompt.id_prefix} {prompt.text}", content)

    def _say(self, name: str, content: list[dict[str, Any]]) -> str:
        uuid = str(uuid5(PROMPTS, name))
        about = {"parent_tool_use_id": None, "session_id": self.session_id or "", "uuid": uuid}
        self.send({"type": "user", "message": {"role": "user", "content": content}, **about})
        return uuid

    def steer(self, message_id: str, text: str) -> bool:
        if not self._tells_queue:
            return False
        uuid = self._say(f"{self.turn.id_prefix} {message_id} {text}", [{"type": "text", "text": text}])
        self._words[uuid] = UserMessageAccepted(message_id, text)
        return True

    def answer(self, question_id: str, answer: Answer) -> None:
        pending = self._pending.pop(question_id, None)
        if pending is not None:
            self._respond(pending.request_id, answered(pending, answer))
        if (called := self._called.pop(question_id, None)) is not None:
            self._respond(called[0], {"mcp_response": result(called[1], answer)})
        self._park()

    def cancel(self) -> bool:
        super().cancel()
        for pending in self._pending.values():
            self._respond(pending.request_id, withdrawn(pending))
        for call_id, (request_id, message) in self._called.items():
            self._respond(request_id, {"mcp_response": result(message, Answer(call_id, "cancelled"))})
        self._forget()
        if self.is_busy:
            self._request("interrupt", {"subtype": "interrupt", "cancel_queued": True})
        return True

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        if action in SET:
            subtype, field = SET[action]
            return self._request(action, {"subtype": subtype, field: params.get(field)}, params)
        if self._models is None:
            return self._request("models", {"subtype": "list_models"})
        ticket = self._ticket()
        self.action_results[ticket] = ActionResult(self._models)
        return ticket

    # -- lines of this mode

    def _line(self, line: Line) -> list[Event] | None:
        found: list[Event] | None
        match line.get("type"):
            case "control_request":
                found = self._asked(line)
            case "control_response":
                found = self._answered(obj(line.get("response")))
            case "control_cancel_request":
                found = self._withdraw(non_empty(line.get("request_id")))
            case "command_lifecycle":
                found = self._moved(line)
            case _:
                found = super()._line(line)
        return found if found is None else [*found, *self._ask()]

    def _answers(self, line: Line) -> bool:
        """By the uuid; older versions know only where a turn is from."""
        told = line.get("user_message_uuids")
        named = told if isinstance(told, list) and told else [line.get("user_message_uuid")]
        return self._uuid in named if named != [None] else super()._answers(line)

    def _finish(self) -> list[Event]:
        self._forget()
        return super()._finish()

    def _forget(self) -> None:
        """Nobody waits for an answer any more."""
        for waiting in (self._pending, self._called, self._asking, self._calling):
            waiting.clear()
        self._park()

    # -- what Claude asks

    def _asked(self, line: Line) -> list[Event] | None:
        request_id, request = non_empty(line.get("request_id")), obj(line.get("request"))
        if request_id is None:
            return None
        if request.get("subtype") == "mcp_message" and request.get("server_name") == SERVER and self._served.registered:
            return self._mcp(request_id, obj(request.get("message")))
        pending = Pending(request_id, request)
        if pending.tool in self._calls.names:  # whether it may run is for the client to say, whose it is
            self._respond(request_id, {"behavior": "allow", "updatedInput": pending.input})
            return []
        if pending.tool is None and (subtype := request.get("subtype")) != "elicitation":
            # An error approves of nothing.
            response = {"subtype": "error", "request_id": request_id, "error": UNSUPPORTED}
            self.send({"type": "control_response", "response": response})
            known = subtype in FOR_HOSTS
            return [Custom("claude.unsupported_request", {"subtype": subtype})] if known else None
        if self.turn.approvals != "prompt":
            self._respond(request_id, by_policy(pending, self.turn.approvals))
            return []
        question_id = self.qualify_id(f"ask:{request_id}")
        return [] if question_id in self._pending else self._hold(question_id, pending)

    def _mcp(self, request_id: str, message: dict[str, Any]) -> list[Event]:
        """From Claude's end of the server that is ours."""
        if message.get("method") == "notifications/cancelled":
            self._called_off(obj(message.get("params")).get("requestId"))
        if not self._served.holds(message) or not self.is_busy:
            self._respond(request_id, {"mcp_response": self._served.reply(message)})
            return []
        params, claudes = obj(message.get("params")), called_id(message) or request_id
        found = self._calls.whole(claudes, f"{PREFIX}{params['name']}", params.get("arguments") or {}, None)
        call = self._calls.find(claudes)
        assert call is not None
        self._called[call.id] = (request_id, message)
        self._calling.append(ClientToolCall(call.id, call.name, call.subagent))
        return found

    def _called_off(self, number: Any) -> None:
        """Claude no longer waits for the call; if the client was told of it, its result comes to nothing."""
        for call_id in [call_id for call_id, (_, message) in self._called.items() if message.get("id") == number]:
            del self._called[call_id]
            self._calling = [call for call in self._calling if call.id != call_id]

    def _hold(self, question_id: str, pending: Pending) -> list[Event]:
        request = pending.request
        lane, found = (self._main, []) if non_empty(request.get("agent_id")) is None else self._tasks.lane(request)
        claudes = non_empty(request.get("tool_use_id"))
        if pending.tool is not None and claudes is not None:
            found = [*found, *self._calls.whole(claudes, pending.tool, pending.input, lane.subagent)]
        call = self._calls.find(claudes)
        self._pending[question_id] = pending
        self._asking.append(question(pending, question_id, call.id if call else None, lane.subagent))
        return found

    def _ask(self) -> list[Event]:
        if not (self._asking or self._calling) or self._main.streaming:
            return []
        found: list[Event] = [InterruptRequested(tuple(self._asking))] if self._asking else []
        found += [ClientToolsCalled(tuple(self._calling))] if self._calling else []
        self._asking.clear()
        self._calling.clear()
        self._park()
        return found

    def _withdraw(self, request_id: str | None) -> list[Event] | None:
        for question_id, pending in self._pending.items():
            if pending.request_id == request_id:
                del self._pending[question_id]
                asked = [one for one in self._asking if one.id != question_id]
                unheard, self._asking = len(asked) < len(self._asking), asked
                self._park()
                return [] if unheard else [Custom("claude.question_withdrawn", {"id": question_id})]
        return []

    def _respond(self, request_id: str, response: dict[str, Any]) -> None:
        told = {"subtype": "success", "request_id": request_id, "response": response}
        self.send({"type": "control_response", "response": told})

    def _park(self) -> None:
        """While a question or a call is open, the run that tells it may end, and another go on."""
        asked = len(self._pending) > len(self._asking) or len(self._called) > len(self._calling)
        self._main.whole_calls = asked
        self._tasks.park(asked)

    # -- what we ask

    def _ticket(self) -> str:
        self._count += 1
        return f"{self.session_start.tag}-{self._count}"

    def _request(self, purpose: str, request: dict[str, Any], params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = self._ticket()
        self._requests[ticket] = (purpose, params)
        self.send({"type": "control_request", "request_id": ticket, "request": request})
        return ticket

    def _answered(self, response: dict[str, Any]) -> list[Event] | None:
        ticket = non_empty(response.get("request_id")) or ""
        purpose, params = self._requests.pop(ticket, (None, NO_PARAMS))
        told, error = obj(response.get("response")), None
        if response.get("subtype") != "success":
            words = text(response.get("error")) or "Claude Code refused, and gave no reason"
            error = AgentFault(words, agentCode=non_empty(response.get("error_code")))
        match purpose:
            case None:
                return None
            case "initialize":
                self._initialized(told, error)
            case "interrupt":
                return self._interrupted(told)
            case "offer":
                return [] if error is None else [self.make_warning("TOOLS_DROPPED", f"{NOT_SERVED}: {error.detail}")]
            case _:
                self.action_results[ticket] = ActionResult(
                    self._done(purpose, params, told) if error is None else None, error
                )
        return []

    def _initialized(self, told: dict[str, Any], error: AgentFault | None) -> None:
        self.is_ready, self.failure = error is None, error
        self.handshake_layer |= of_handshake(told)
        self.session_layer |= of_session(told)
        self._models = models(told.get("models")) or None

    def _done(self, purpose: str, params: Mapping[str, Any], told: dict[str, Any]) -> Any:
        if purpose == "models":
            self._models = models(told.get("models"))
            return self._models
        _, field = SET[purpose]
        chosen = non_empty(told.get(field)) or params.get(field)
        self.session_layer |= {MODEL: chosen} if purpose == "set_model" else mode(chosen)
        return told

    # -- an end without a result

    def _interrupted(self, told: dict[str, Any]) -> list[Event]:
        """A prompt that was still in the queue is gone; a turn that only waited for subagents has no further result."""
        gone = told.get("cancelled")
        queued = self._awaited and isinstance(gone, list) and self._uuid in gone
        return self._give_up() if queued or (not self._awaited and not self._working) else []

    def _moved(self, line: Line) -> list[Event]:
        """Where a line of ours stands in Claude's queue."""
        self._tells_queue = True
        uuid, state = line.get("command_uuid"), line.get("state")
        if not isinstance(uuid, str) or state not in ("started", "cancelled", "discarded"):
            return []
        words = self._words.pop(uuid, None)
        if state == "started":
            if words is not None and not self._awaited:  # not folded in: a turn of their own
                self._uuid, self._awaited, self._last = uuid, True, None
            return [] if words is None else [words]
        if words is None:
            return self._give_up() if self._awaited and uuid == self._uuid else []
        over = self.is_busy and self._last is not None and not self._goes_on(self._last)
        return self._finish() if over else []

    def _give_up(self) -> list[Event]:
        if not self.is_busy:
            return []
        self.is_cancelled, self._awaited = True, False
        return self._finish()


class ClaudePrint(Reader):
    """One process for a turn. Several results may come, all at the end: the last is the turn's."""

    name: ClassVar[str] = "claude-print"

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        content, dropped = to_content(prompt.blocks)
        kinds = dropped + [str(block["type"]) for block in content if block["type"] != "text"]
        for kind in kinds:
            words = f"Claude Code takes no {kind} on its command line: it was left out of the prompt"
            self._news.append(self.make_warning("CONTENT_DROPPED", words))
        words = "\n\n".join(block["text"] for block in content if block["type"] == "text")
        self.outbox.append(words.encode("utf-8", "replace"))

    def _answers(self, line: Line) -> bool:
        return True

    def _goes_on(self, line: Line) -> bool:
        return True
