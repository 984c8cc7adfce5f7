"""When a turn of rpc mode is accepted, and when it is over.

In: the response to the prompt, the ends of runs of the agent's loop. Out: the end of the turn; commands that ask for
the agent's state, or stop it.

pi has two generations. Since 0.80 `agent_settled` ends a turn. Before, `agent_end` does, unless a retry or a compaction
follows, which is reported right after it: so the agent is asked for its state, and the turn is over when the response
finds it idle. Likewise for a prompt that an extension's command has handled: newer versions report it, older ones are
found idle. omp's `agent_end` says whether it is the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import Event
from gateway.wire.dialects.base import Dialect
from gateway.wire.dialects.pi.errors import prompt_refusal
from gateway.wire.dialects.pi.permissions import PermissionRequests
from gateway.wire.dialects.pi.reader import EventReader
from gateway.wire.dialects.pi.steering import Call, OmpSteeringQueue, SteeringQueue
from gateway.wire.fields import obj

Json = dict[str, Any]


class TurnLifecycle:
    """`on_stuck` is called when the process must not be used for another turn."""

    def __init__(
        self,
        dialect: Dialect,
        call: Call,
        events: EventReader,
        permissions: PermissionRequests,
        on_stuck: Callable[[], None],
    ) -> None:
        self._dialect = dialect
        self._call = call
        self._events = events
        self._permissions = permissions
        self._on_stuck = on_stuck
        self.steering = self._new_steering()
        self.is_accepted = False
        """The agent has accepted the turn's prompt."""
        self._reports_end = False
        """This version reports the end of a turn."""

    def _new_steering(self) -> SteeringQueue:
        return SteeringQueue(self._dialect, self._call, self.finish_turn, self._on_stuck)

    def begin_process(self) -> None:
        self.steering.clear()
        self._reports_end = False

    def begin_turn(self) -> None:
        self.steering.begin_turn()
        self.is_accepted = False

    def abort(self) -> None:
        prefix = self._dialect.turn.id_prefix
        self._call({"type": "abort"}, lambda line: self._read_aborted(prefix))

    def _read_aborted(self, prefix: str) -> list[Event]:
        """The response comes when the agent is idle: a turn that has not ended by then gets no more events."""
        loop = self._events.loop
        is_over = self.steering.is_current(prefix) and loop.is_idle and loop.has_run
        return self.finish_turn() if is_over else []

    def finish_turn(self) -> list[Event]:
        """End the turn, unless the agent still holds messages of the user's."""
        if not self._dialect.is_busy or self.steering.delays_end():
            return []
        self._permissions.clear()
        return self._events.finish_turn()

    # -- lines

    def read_prompted(self, line: Json) -> list[Event]:
        """The response to the prompt."""
        if line.get("success") is not True:
            return self._dialect.fail_turn(prompt_refusal(line.get("error")))
        self.is_accepted = True
        if self._dialect.is_cancelled:
            self.abort()
        data = obj(line.get("data"))
        self._reports_end = self._reports_end or "disposition" in data  # versions that send one send the other
        if data.get("disposition") == "handled" or data.get("agentInvoked") is False:
            return self.finish_turn()
        if not data:
            self._check_handled()
        return []

    def read_agent_start(self, line: Json) -> list[Event]:
        return self._events.read_agent_start(line)

    def read_agent_end(self, line: Json) -> list[Event]:
        if not self.is_accepted:
            self._events.end_own_run()
            return []
        self._events.read_agent_end()
        if line.get("isTerminal") is True:
            return self.finish_turn()
        if line.get("isTerminal") is not False:
            self._check_end(line)
        return []

    def read_conclusion(self, line: Json) -> list[Event]:
        self._reports_end = True
        if not self.is_accepted:
            return []
        self._events.read_conclusion(line)
        return self.finish_turn()

    def read_retry_end(self, line: Json) -> list[Event]:
        events = self._events.read_retry_end(line)
        self._check_end({})
        return events

    def read_compaction_end(self, line: Json) -> list[Event]:
        events = self._events.read_compaction_end(line)
        self._check_end({})
        return events

    # -- is it over?

    def _check_handled(self) -> None:
        """The prompt was accepted without saying whether an extension's command has handled it."""
        self._check_idle()

    def _check_end(self, line: Json) -> None:
        """A run of the loop has ended, and nothing says whether another one follows."""
        if not self._reports_end and line.get("willRetry") is not True:
            self._check_idle()

    def _check_idle(self) -> None:
        """End the turn if the agent is idle. What follows an `agent_end` has been reported before the response."""
        if self._dialect.is_busy and self.is_accepted and self._events.loop.is_idle:
            prefix = self._dialect.turn.id_prefix
            self._call({"type": "get_state"}, lambda line: self._read_idle(line, prefix))

    def _read_idle(self, line: Json, prefix: str) -> list[Event]:
        if not self.steering.is_current(prefix) or not self._events.loop.is_idle:
            return []
        state = obj(line.get("data"))
        if state.get("isStreaming") is True or state.get("isCompacting") is True:
            self._check_idle()  # about to start a run, or about to be idle
            return []
        return self.finish_turn()


class OmpTurnLifecycle(TurnLifecycle):
    def _new_steering(self) -> SteeringQueue:
        return OmpSteeringQueue(self._dialect, self._call, self.finish_turn, self._on_stuck, lambda: self._events.loop)

    def read_agent_start(self, line: Json) -> list[Event]:
        if self._dialect.is_busy and self._dialect.is_cancelled and self.steering.has_messages:
            self.abort()  # omp starts a run with messages that it holds, also after an abort
        return super().read_agent_start(line)

    def read_prompt_result(self, line: Json) -> list[Event]:
        """A command of omp's own has handled the prompt, without the model."""
        is_over = self.is_accepted and line.get("agentInvoked") is False and self._events.loop.is_idle
        return self.finish_turn() if is_over else []

    def _check_handled(self) -> None:
        """omp reports it: `read_prompt_result`."""

    def _check_end(self, line: Json) -> None:
        """An `agent_end` that is too long to be sent whole does not say whether it is the last. Others do."""
        if line.get("type") == "agent_end":
            self._check_idle()
