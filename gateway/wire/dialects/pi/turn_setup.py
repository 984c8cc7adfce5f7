"""What pi is sent before and with a prompt: model, level of thinking, further commands, then the prompt.

In: `Prompt` and responses. Out: commands, each sent after the response to the previous one: pi carries out commands in
parallel, and the prompt must find the settings made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from gateway.capability_paths import EFFORT, MODEL
from gateway.errors import AgentFault
from gateway.events import Event, TurnFailed
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.pi.errors import clean_message, prompt_refusal
from gateway.wire.dialects.pi.models import find_model, missing_model, model_name
from gateway.wire.dialects.pi.reader import to_turn_failed
from gateway.wire.dialects.pi.steering import Call, ResponseReader
from gateway.wire.fields import non_empty, present

Json = dict[str, Any]

NOT_GATED = "the gate that asks before tools run was not loaded: the agent would run them unasked"


class SessionSettings:
    """The model and the level of thinking of the session. `call` sends a command."""

    def __init__(self, agent: str, call: Call, session_layer: Json) -> None:
        self._agent = agent
        self._call = call
        self._session_layer = session_layer
        self.model: str | None = None
        """`provider/id`."""

    def note(self, model: Any, level: Any = None) -> None:
        """The settings that the agent reports."""
        self.model = model_name(model) or self.model
        self._session_layer |= present({MODEL: self.model, EFFORT: non_empty(level)})

    def set_model(self, wanted: str, on_done: Callable[[str | None, AgentFault | None], None]) -> None:
        """`on_done` gets the model that is set, or the reason why it is not."""

        def read_set(line: Json) -> list[Event]:
            if line.get("success") is True:
                self.note(line.get("data"))
                on_done(self.model, None)
            else:
                on_done(None, command_fault(line))
            return []

        def read_models(line: Json) -> list[Event]:
            params = find_model(line, wanted)
            if params is not None:
                self._call({"type": "set_model", **params}, read_set)
            elif line.get("success") is True:
                on_done(None, missing_model(self._agent, line, wanted))
            else:
                on_done(None, command_fault(line))
            return []

        self._call({"type": "get_available_models"}, read_models)


class TurnSetup:
    """The commands of one turn, up to the prompt itself. `read_prompted` reads the response to the prompt."""

    def __init__(
        self,
        dialect: Dialect,
        agent: str,
        call: Call,
        settings: SessionSettings,
        read_prompted: ResponseReader,
        finish_turn: Callable[[], list[Event]],
    ) -> None:
        self._dialect = dialect
        self._agent = agent
        self._call = call
        self._settings = settings
        self._read_prompted = read_prompted
        self._finish_turn = finish_turn
        self._commands: deque[tuple[Json, ResponseReader]] = deque()

    def start(self, *commands: tuple[Json, ResponseReader]) -> None:
        """`commands` are sent right before the prompt; their readers call `read_prepared`."""
        prompt = self._dialect.turn
        self._commands.clear()
        if level := non_empty(prompt.thinking.get("thinking")):
            self._commands.append(({"type": "set_thinking_level", "level": level}, self.read_prepared))
        self._commands.extend(commands)
        if prompt.model is not None and prompt.model != self._settings.model:
            # The model first: another model may have another level.
            self._call({"type": "get_available_models"}, self._read_models)
        else:
            self._send_next()

    def refuse(self) -> None:
        """End the turn: the gate is not loaded. The response to a harmless command carries the failure."""
        failure = TurnFailed(NOT_GATED)
        self._call({"type": "get_state"}, lambda line: self._dialect.fail_turn(failure))

    def _read_models(self, line: Json) -> list[Event]:
        wanted = self._dialect.turn.model or ""
        params = find_model(line, wanted)
        if params is None and line.get("success") is True:
            return self._dialect.fail_turn(to_turn_failed(missing_model(self._agent, line, wanted)))
        if params is not None:
            self._commands.appendleft(({"type": "set_model", **params}, self.read_prepared))
        return self.read_prepared(line)

    def read_prepared(self, line: Json) -> list[Event]:
        """The response to a command before the prompt."""
        if self._dialect.is_cancelled:
            return self._finish_turn()
        if line.get("success") is not True:
            return self._dialect.fail_turn(prompt_refusal(line.get("error")))
        if line.get("command") == "set_model":
            self._settings.note(line.get("data"))
        self._send_next()
        return []

    def _send_next(self) -> None:
        if self._commands:
            self._call(*self._commands.popleft())
            return
        prompt = self._dialect.turn
        images = [
            {"type": "image", "data": block["data"], "mimeType": block["mimeType"]}
            for block in prompt.blocks
            if block.get("type") == "image" and "data" in block and "mimeType" in block
        ]
        # While a background job of the agent's own runs, the prompt is queued instead of refused.
        command: Json = {"type": "prompt", "message": prompt.text, "streamingBehavior": "followUp"}
        if images:
            command["images"] = images
        self._call(command, self._read_prompted)


def command_fault(line: Json) -> AgentFault:
    """Why the agent refused a command."""
    return AgentFault(clean_message(line.get("error")) or "the agent refused, and does not say why")
