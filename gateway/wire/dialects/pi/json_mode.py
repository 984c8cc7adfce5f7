"""`pi --mode json -p` and omp's: one process for a turn, its prompt on stdin, its events on stdout.

In: the session's header, then events. Out: events; nothing is sent but the prompt. Nobody can be asked anything here:
tools that would want approval are refused by the agent, or by the gate. pi before 0.80 says nowhere that it is done:
there the end of the process is the end of the turn.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gateway.events import Event
from gateway.wire.dialects.base import Prompt
from gateway.wire.dialects.pi.reader import SHARED, Handler, PiReader
from gateway.wire.fields import non_empty


class PiJson(PiReader):
    name: ClassVar[str] = "pi-json"

    def prompt(self, prompt: Prompt) -> None:
        """On stdin: as an argument a text with `@` or `-` at its beginning would be a file or a flag."""
        self.start_turn(prompt)
        self.outbox.append(prompt.text.encode(errors="replace"))

    def _header(self, told: dict[str, Any]) -> list[Event]:
        wanted = None if self.session_start.fork else self.session_start.session_id
        self.session_id = non_empty(told.get("id")) or self.session_id
        self.has_lost_history = wanted is not None and self.session_id != wanted
        return []


JSON: dict[str, Handler] = {**SHARED, "session": PiJson._header}
PiJson.handlers = JSON


class OmpJson(PiJson):
    name: ClassVar[str] = "omp-json"
    agent: ClassVar[str] = "omp"
    intent: ClassVar[bool] = True
