"""Which turn Hermes is at work on, when the user's turn starts, and when it ends.

In: `message.start`, `message.complete`, `error`, and whether the session is running. Out: the last events of a turn and
its end; the requests of a turn when Hermes takes them.

Some ends are not reported. A turn that is cancelled before Hermes has built its agent ends without any event. A turn
that fails inside Hermes ends with an `error` and a `session.info` that is not `running`. Hermes also starts turns of
its own, for a background process that ended or for a goal: their output is sent with the user's next turn, and their
end never ends a turn of the user's.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Event, Warning
from gateway.wire.dialects.base import Dialect, Prompt
from gateway.wire.dialects.hermes.errors import to_turn_failed
from gateway.wire.dialects.hermes.permissions import PermissionRequests
from gateway.wire.dialects.hermes.sessions import Call
from gateway.wire.dialects.hermes.turn_events import TurnEvents
from gateway.wire.dialects.hermes.turn_setup import TurnSetup
from gateway.wire.fields import non_empty, text

Payload = dict[str, Any]


class TurnLifecycle:
    """`call` sends a request about the session."""

    def __init__(
        self, dialect: Dialect, call: Call, setup: TurnSetup, events: TurnEvents, permissions: PermissionRequests
    ) -> None:
        self._dialect = dialect
        self._call = call
        self._setup = setup
        self._events = events
        self._permissions = permissions
        self.reset(is_running=False)

    def reset(self, *, is_running: bool) -> None:
        """A session was opened. `is_running`: Hermes is at work in it already."""
        self._is_working = is_running
        """Hermes is at work on a turn: the user's, or one of its own."""
        self._is_idle = True
        """Hermes takes a prompt at once. It does not for a moment after a turn's last event."""
        self._is_setup_started = False
        """The requests of the user's turn are being sent."""
        self._is_started = False
        """Hermes has started the user's turn."""
        self._is_own_turn = False
        """The turn under way is one of Hermes' own."""
        self.is_skipping_turn = False
        """The turn was cancelled before it started. If it starts all the same, it is stopped and skipped."""
        self._error: str | None = None
        """The message of the latest `error` event."""
        self._permissions.clear()

    @property
    def can_ask_user(self) -> bool:
        """A turn of the user's is under way, and not cancelled."""
        return self._dialect.is_busy and not self._is_own_turn and not self._dialect.is_cancelled

    def start(self, prompt: Prompt) -> None:
        self._permissions.clear()
        self._is_started = False
        self.is_skipping_turn = False
        self._error = None
        self._is_own_turn = self._is_working
        self._setup.plan(prompt)
        self._is_setup_started = self._is_idle and not self._is_own_turn
        if self._is_own_turn:
            self.interrupt()  # the user's turn goes first
        elif self._is_setup_started:
            self._setup.send_next()

    def interrupt(self) -> None:
        self._call("session.interrupt", {}, self._read_interrupted)

    def _read_interrupted(self, result: Any, error: Any) -> list[Event]:
        """A turn that has not started by now never will, or is to be skipped."""
        if not self._dialect.is_busy or not self._dialect.is_cancelled or self._is_started:
            return []
        self.is_skipping_turn = self._setup.is_submitted
        return self._dialect.end_turn("cancelled")

    # -- events

    def read_start(self, payload: Payload) -> list[Event]:
        """`message.start`."""
        self._is_working = True
        self._is_idle = False
        if self.is_skipping_turn or (self._dialect.is_busy and self._dialect.is_cancelled):
            self.interrupt()  # the first request came before there was a turn to stop
        if self._dialect.is_busy and not self._is_own_turn:
            self._is_started = True
        closed = self._events.close_text()
        self._events.begin_turn()
        return closed

    def read_complete(self, payload: Payload) -> list[Event]:
        """`message.complete`."""
        self._is_working = False
        if self.is_skipping_turn:
            self.is_skipping_turn = False
            return []
        if not self._dialect.is_busy or self._is_own_turn:
            self._is_own_turn = False
            return self._events.read_last({} if payload.get("status") == "error" else payload)
        self._permissions.clear()
        match payload.get("status"):
            case "error" if not self._dialect.is_cancelled:
                failure = to_turn_failed(text(payload.get("text")) or "the model failed")
                return [*self._events.close_text(), *self._dialect.fail_turn(failure)]
            case "interrupted" | "error":
                return [*self._events.close_text(), *self._dialect.end_turn("cancelled")]
            case _:
                warning = non_empty(payload.get("warning"))
                warnings: list[Event] = [Warning("HISTORY", warning)] if warning else []
                return [*self._events.read_last(payload), *warnings, *self._dialect.end_turn()]

    def read_idle(self) -> list[Event]:
        """`session.info` that is not `running`. A turn whose `message.complete` did not come gets none any more."""
        is_unfinished = self._is_working
        self._is_working = False
        self._is_idle = True
        if not self._dialect.is_busy:
            return []
        if is_unfinished and self._is_started:
            return [*self._events.close_text(), *self._end_unfinished()]
        self._is_own_turn = False
        if not self._is_setup_started:
            self._is_setup_started = True
            self._setup.send_next()
        return []

    def _end_unfinished(self) -> list[Event]:
        if self._dialect.is_cancelled:
            return self._dialect.end_turn("cancelled")
        message = self._error or "the turn ended without an answer"
        return self._dialect.fail_turn(to_turn_failed(message, code="AGENT_ERROR"))

    def read_error(self, payload: Payload) -> list[Event] | None:
        """Inside a turn an `error` may be its end or a notice: `read_idle` decides. Before a turn it is the end."""
        message = non_empty(payload.get("message"))
        if message is None:
            return None
        previous = self._error
        self._error = message
        if not self._dialect.is_busy:
            is_repeated = previous is not None and message in previous
            return [] if is_repeated else [Warning("AGENT_ERROR", message)]
        if self._is_started or self._is_own_turn or not self._setup.is_submitted:
            return []
        if self._dialect.is_cancelled:
            return self._dialect.end_turn("cancelled")
        failure = to_turn_failed(message.removeprefix("agent init failed: "), code="AGENT_ERROR")
        return self._dialect.fail_turn(failure)
