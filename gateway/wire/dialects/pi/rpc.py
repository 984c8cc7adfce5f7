"""pi's `--mode rpc`: one process for a thread, commands and events over its lines.

In: events, answers, and what extensions ask. Out: events, and commands. Commands are carried out side by side by pi, so
what must come first is waited for: the model and the level of thinking before the prompt.

Two generations are read by what they say. Since 0.80 `agent_settled` ends a turn. Before, `agent_end` does unless a
retry or a compaction follows, which is told right after it: so the agent is asked for its state then, and the turn is
over when the answer finds it idle. Likewise for a prompt that a command of an extension's has dealt with: newer
versions say so, older ones are found idle.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gateway.events import Custom, Event, InterruptRequested, TurnFailed
from gateway.turn import Answer
from gateway.wire.dialects.base import Prompt, SessionStart
from gateway.wire.dialects.pi import permissions
from gateway.wire.dialects.pi.errors import refusal
from gateway.wire.dialects.pi.models import named
from gateway.wire.dialects.pi.reader import SHARED, Handler, broken
from gateway.wire.dialects.pi.steering import PiSteering
from gateway.wire.dialects.pi.tool_calls import Call
from gateway.wire.fields import non_empty, obj, present, text

SCREEN = frozenset(("setStatus", "setWidget", "setTitle", "set_editor_text", "open_url"))
"""What extensions do to a screen that is not there."""
GATE_KEY = "agui-gateway"
UNGATED = "the gate that asks before tools run was not loaded: the agent would run them unasked"


class PiRpc(PiSteering):
    name: ClassVar[str] = "pi"

    def __init__(self) -> None:
        super().__init__()
        self._questions: dict[str, tuple[dict[str, Any], Call | None]] = {}
        """What was asked, and about which call."""
        self._todo: list[dict[str, Any]] = []
        self._gated = self._settles = False

    def start_session(self, begin: SessionStart) -> None:
        self._gated = self._settles = False
        self._questions.clear()
        super().start_session(begin)

    # -- a turn

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._todo = []
        if self.session_start.params.get("gate") is True and prompt.approvals != "auto" and not self._gated:
            return self.ask({"type": "get_state"}, self._ungated)
        if level := non_empty(prompt.thinking.get("thinking")):
            self._todo.append({"type": "set_thinking_level", "level": level})
        if prompt.model is not None and prompt.model != self._model:
            # First: another model may mean another level.
            self.ask({"type": "get_available_models"}, self._choose)
        else:
            self._next()
        return None

    def _ungated(self, told: dict[str, Any]) -> list[Event]:
        self.is_busy = False
        return [TurnFailed(UNGATED)]

    def _choose(self, told: dict[str, Any]) -> list[Event]:
        wished = self.turn.model or ""
        chosen = named(told, wished)
        if chosen is None and told.get("success") is True:
            self.is_busy = False
            return [broken(self._no_such(wished, told))]
        if chosen is not None:
            self._todo.insert(0, {"type": "set_model", **chosen})
        return self._prepared(told)

    def _prepared(self, told: dict[str, Any]) -> list[Event]:
        if self.is_cancelled:
            return self._over()
        if told.get("success") is not True:
            self.is_busy = False
            return [refusal(told.get("error"))]
        if told.get("command") == "set_model":
            self._set_to(told.get("data"))
        self._next()
        return []

    def _next(self) -> None:
        if self._todo:
            return self.ask(self._todo.pop(0), self._prepared)
        images = [
            {"type": "image", "data": block["data"], "mimeType": block["mimeType"]}
            for block in self.turn.blocks
            if block.get("type") == "image" and "data" in block and "mimeType" in block
        ]
        # Where a background job of the agent's own is at work, the prompt is next, instead of refused.
        command = {"type": "prompt", "message": self.turn.text, "streamingBehavior": "followUp"}
        return self.ask(command | ({"images": images} if images else {}), self._prompted)

    def _prompted(self, told: dict[str, Any]) -> list[Event]:
        if told.get("success") is not True:
            self.is_busy = False
            return [refusal(told.get("error"))]
        self._accepted = True
        if self.is_cancelled:
            self._abort()
        data = obj(told.get("data"))
        self._settles = self._settles or "disposition" in data  # who says this says the other, too
        if data.get("disposition") == "handled" or data.get("agentInvoked") is False:
            return self._over()
        if not data:
            self._look()
        return []

    # -- its end

    def _agent_end(self, told: dict[str, Any]) -> list[Event]:
        if self._accepted:
            return super()._agent_end(told)
        self._running = False  # a job of the agent's own, which the prompt waits for
        return []

    def _settled(self, told: dict[str, Any]) -> list[Event]:
        self._settles = True
        return super()._settled(told) if self._accepted else []

    def _over(self) -> list[Event]:
        found = super()._over()
        if not self.is_busy:
            self._questions.clear()
        return found

    def _maybe_over(self, told: dict[str, Any]) -> list[Event]:
        if not self._settles and told.get("willRetry") is not True:
            self._look()
        return []

    def _retried(self, told: dict[str, Any]) -> list[Event]:
        super()._retried(told)
        return self._maybe_over({})

    def _compacted(self, told: dict[str, Any]) -> list[Event]:
        found = super()._compacted(told)
        return [*found, *self._maybe_over({})]

    def _look(self) -> None:
        """Whether it is idle now; whatever follows an end has been told by the time this is answered."""
        if self.is_busy and self._accepted and self._at_rest:
            key = self.turn.id_prefix
            self.ask({"type": "get_state"}, lambda told: self._idle(told, key))

    @property
    def _at_rest(self) -> bool:
        return not (self._running or self._retrying or self._compacting)

    def _idle(self, told: dict[str, Any], key: str) -> list[Event]:
        if not self.is_busy or key != self.turn.id_prefix or not self._at_rest:
            return []
        state = obj(told.get("data"))
        if state.get("isStreaming") is True or state.get("isCompacting") is True:
            self._look()  # about to begin, or about to be at rest
            return []
        return self._over()

    def cancel(self) -> bool:
        self.is_cancelled = True
        for request, _ in self._questions.values():  # omp waits for these first, and pi's gate takes them for a no
            self.send(permissions.response(request, Answer("", "cancelled")))
        self._questions.clear()
        if self._accepted:
            self._abort()
        return True

    def _abort(self) -> None:
        key = self.turn.id_prefix
        self.ask({"type": "abort"}, lambda told: self._stopped(key))

    def _stopped(self, key: str) -> list[Event]:
        """Answered when all has come to rest: a turn that is not over by then has nothing more to say."""
        return self._over() if self.is_busy and key == self.turn.id_prefix and self._at_rest and self._ran else []

    # -- questions

    def _dialog(self, told: dict[str, Any]) -> list[Event] | None:
        method = told.get("method")
        if isinstance(method, str) and method in permissions.DIALOGS and non_empty(told.get("id")):
            return self._asked(told)
        if method == "notify":
            value = present({"level": text(told.get("notifyType")) or "info", "message": text(told.get("message"))})
            return [Custom(f"{self.agent}.notice", value)]
        if method == "cancel":
            self._questions.pop(self._question_id(told.get("targetId")), None)
            return []
        self._gated = self._gated or (method == "setStatus" and told.get("statusKey") == GATE_KEY)
        return [] if isinstance(method, str) and method in SCREEN else None

    def _asked(self, request: dict[str, Any]) -> list[Event]:
        policy = self.turn.approvals
        if policy != "prompt" or self.is_cancelled:
            told = permissions.by_policy(request, policy) if policy != "prompt" and not self.is_cancelled else None
            self.send(told or permissions.response(request, Answer("", "cancelled")))
            return []
        call, lane = self._about(request)
        if call is not None:
            call.asked = True
        self._lane.break_off()
        question_id = self._question_id(request["id"])
        self._questions[question_id] = (request, call)
        return [InterruptRequested((permissions.question(self.agent, question_id, request, call, lane),))]

    def _question_id(self, agents_id: Any) -> str:
        return self.qualify_id(f"q:{agents_id}")

    def _about(self, request: dict[str, Any]) -> tuple[Call | None, str | None]:
        """The call that it asks about, and whose that is."""
        if permissions.is_gate(request):
            return self._lane.calls.known(permissions.about(request).get("toolCallId")), None
        return None, None

    def answer(self, question_id: str, answer: Answer) -> None:
        if (asked := self._questions.pop(question_id, None)) is not None:
            request, call = asked
            if call is not None:
                call.edited = permissions.edited(request, answer)
            self.send(permissions.response(request, answer))


RPC: dict[str, Handler] = {
    **SHARED,
    "response": PiRpc._answered,
    "message_start": PiRpc._message_started,
    "extension_ui_request": PiRpc._dialog,
    "agent_end": PiRpc._agent_end,
    "agent_settled": PiRpc._settled,
    "auto_retry_end": PiRpc._retried,
    "compaction_end": PiRpc._compacted,
}
PiRpc.handlers = RPC
