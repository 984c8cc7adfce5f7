"""`pi --mode json -p`, and omp's: one process for each turn, the prompt on stdin, events on stdout.

In: the session's header, then events. Out: events; only the prompt is sent. This mode cannot ask the user: tools that
need approval are refused by the agent, or by the gateway's gate. pi before 0.80 does not report the end of a turn: the
end of the process ends it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from gateway.events import Event
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart
from gateway.wire.dialects.pi.reader import EventReader
from gateway.wire.fields import non_empty


class PiJson(Dialect):
    name: ClassVar[str] = "pi-json"
    agent: ClassVar[str] = "pi"
    """The key of metadata, and the prefix of CUSTOM events."""
    has_intent: ClassVar[bool] = False
    """Tool arguments carry omp's `i`."""

    def __init__(self) -> None:
        super().__init__()
        self._events = EventReader(self, self.agent, self.session_layer, has_intent=self.has_intent)

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._events.begin_process()

    def prompt(self, prompt: Prompt) -> None:
        """On stdin: in an argument a text that starts with `@` or `-` would be a file or a flag."""
        self.start_turn(prompt)
        self._events.begin_turn()
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return self._events.read_messages(messages, self._read_line)

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        was_ready = self.is_ready
        self.is_ready = False
        fault = self._events.read_exit_fault(exit_code, stderr)
        if not was_ready and self.failure is None:
            self.failure = fault
        return self._events.end_at_exit(exit_code, fault, self._events.finish_turn)

    def _read_line(self, line: dict[str, Any]) -> Iterable[Event] | None:
        match line.get("type"):
            case "session":
                return self._read_header(line)
            case "agent_end":
                self._events.read_agent_end()
                return self._events.finish_turn() if line.get("isTerminal") is True else []
            case "agent_settled":
                self._events.read_conclusion(line)
                return self._events.finish_turn()
            case _:
                return self._events.read(line)

    def _read_header(self, line: dict[str, Any]) -> list[Event]:
        wanted = None if self.session_start.fork else self.session_start.session_id
        self.session_id = non_empty(line.get("id")) or self.session_id
        self.has_lost_history = wanted is not None and self.session_id != wanted
        return []


class OmpJson(PiJson):
    name: ClassVar[str] = "omp-json"
    agent: ClassVar[str] = "omp"
    has_intent: ClassVar[bool] = True
