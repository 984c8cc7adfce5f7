"""Commands to pi over rpc and their answers; what a session is opened with, and what can be set on it between turns.

In: `response` lines, each to the command whose id it has. Out: what the command was for. Of a session's state only its
id and what it is set to are kept: the rest (paths, whole instructions) is nobody's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gateway.capability_paths import EFFORT, MODEL
from gateway.errors import AgentFault
from gateway.events import Custom, Event
from gateway.wire.dialects.base import NO_PARAMS, ActionResult, SessionStart
from gateway.wire.dialects.pi.errors import cleaned
from gateway.wire.dialects.pi.models import listed, named, reference
from gateway.wire.dialects.pi.reader import PiReader
from gateway.wire.fields import non_empty, obj, present, text

Then = Callable[[dict[str, Any]], list[Event]]


class PiCommands(PiReader):
    actions: ClassVar[frozenset[str]] = frozenset(("models", "set_model"))

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._waiting: dict[str, Then] = {}
        self._model: str | None = None
        """`provider/id`, as it is set now."""

    def ask(self, command: dict[str, Any], then: Then) -> None:
        self._count += 1
        number = f"{self.session_start.tag}-{self._count}"
        self._waiting[number] = then
        self.send({"id": number, **command})

    def _answered(self, told: dict[str, Any]) -> list[Event]:
        number = told.get("id")
        then = self._waiting.pop(number, None) if isinstance(number, str) else None
        if then is not None:
            return then(told)
        words = cleaned(text(told.get("error")) or "")
        value = present({"level": "error", "message": words, "source": text(told.get("command"))})
        return [] if told.get("success") is True or not words else [Custom(f"{self.agent}.notice", value)]

    # -- the process

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.is_ready = False
        self._waiting.clear()
        self._open()

    def _open(self) -> None:
        self.ask({"type": "get_state"}, self._opened)

    def _opened(self, told: dict[str, Any]) -> list[Event]:
        if told.get("success") is not True:
            self.failure = AgentFault(f"the agent does not tell its state: {text(told.get('error'))}")
            return []
        self._know(obj(told.get("data")))
        self.is_ready = self.failure is None
        return []

    def _know(self, state: dict[str, Any]) -> None:
        wanted = None if self.session_start.fork else self.session_start.session_id
        self.session_id = non_empty(state.get("sessionId")) or self.session_id
        self.has_lost_history = wanted is not None and self.session_id != wanted
        self._set_to(state.get("model"), state.get("thinkingLevel"))

    def _set_to(self, model: Any, level: Any = None) -> None:
        self._model = reference(model) or self._model
        self.session_layer |= present({MODEL: self._model, EFFORT: non_empty(level)})

    # -- between turns

    def start_action(self, action: str, params: Mapping[str, Any] = NO_PARAMS) -> str:
        ticket = f"do-{self._count + 1}"
        if action == "models":
            self.ask({"type": "get_available_models"}, lambda told: self._reply(ticket, told, listed(told)))
        else:
            wished = text(params.get("model")) or ""
            self.ask({"type": "get_available_models"}, lambda told: self._switch(ticket, told, wished))
        return ticket

    def _switch(self, ticket: str, told: dict[str, Any], wished: str) -> list[Event]:
        chosen = named(told, wished)
        if chosen is not None:
            self.ask({"type": "set_model", **chosen}, lambda answer: self._switched(ticket, answer))
        elif told.get("success") is True:
            self.action_results[ticket] = ActionResult(error=self._no_such(wished, told))
        else:
            self._reply(ticket, told, None)
        return []

    def _switched(self, ticket: str, told: dict[str, Any]) -> list[Event]:
        if told.get("success") is True:
            self._set_to(told.get("data"))
        return self._reply(ticket, told, self._model)

    def _reply(self, ticket: str, told: dict[str, Any], value: Any) -> list[Event]:
        if told.get("success") is True:
            self.action_results[ticket] = ActionResult(value)
        else:
            words = cleaned(text(told.get("error")) or "") or "the agent refused, and does not say why"
            self.action_results[ticket] = ActionResult(error=AgentFault(words))
        return []

    def _no_such(self, wished: str, told: dict[str, Any]) -> AgentFault:
        if not listed(told):
            return AgentFault(f"{self.agent} offers no model at all: nobody is signed in", code="AUTH_REQUIRED")
        words = f"{self.agent} offers no model {wished!r}, or nobody is signed in for it"
        return AgentFault(words, code="MODEL_NOT_FOUND")
