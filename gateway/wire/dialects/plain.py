"""What a program of one's own may speak without learning anything: plain text, or AG-UI's events, one a line.

Both get the prompt's text on stdin and are over when the process is: exit code 0 ends the turn well, any other fails it
with the end of stderr. `text` (transport `raw`): stdout is the answer, as it comes. `ag-ui` (transport `lines`): each
line is one AG-UI event as JSON; the run's own frame (RUN_STARTED, RUN_FINISHED) may be left out. A line that is no JSON
is text.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from typing import Any

from gateway.events import AguiEvent, Event, TextMessageContent, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, parse_message

STDERR_CHARS = 2_000


class PlainText(Dialect):
    name = "text"

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._decoder = getincrementaldecoder("utf-8")("replace")  # a read may end inside a character
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return self._said(self._decoder.decode(b"".join(messages))) if self.is_busy else []

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        rest = self._said(self._decoder.decode(b"", final=True)) if self.is_busy else []
        return [*rest, *_over(self, exit_code, stderr)]

    @staticmethod
    def _said(text: str) -> list[Event]:
        return [TextMessageContent(text)] if text else []


class AguiLines(Dialect):
    name = "ag-ui"

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [event for message in messages for event in self._line(message)]

    def _line(self, message: bytes) -> list[Event]:
        told: Any = parse_message(message)
        if not self.is_busy:
            return [self.to_raw(message.decode("utf-8", "replace") if told is None else told)]
        match told:
            case {"type": "RUN_STARTED"}:
                return []
            case {"type": "RUN_FINISHED"}:
                return self.end_turn(result=told.get("result"))
            case {"type": "RUN_ERROR", "message": str(words)}:
                self.is_busy = False
                code = told.get("code")
                return [TurnFailed(words, code if isinstance(code, str) else "AGENT_ERROR")]
            case {"type": str()}:
                return [AguiEvent(told)]
            case None:
                return [TextMessageContent(message.decode("utf-8", "replace") + "\n")]
        return [self.to_raw(told)]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        return _over(self, exit_code, stderr)


def _over(dialect: Dialect, exit_code: int | None, stderr: str) -> list[Event]:
    dialect.is_ready = False
    if not dialect.is_busy:
        return []
    if dialect.is_cancelled or exit_code == 0:
        return dialect.end_turn()
    dialect.is_busy = False
    words = stderr.strip()[-STDERR_CHARS:] or "it said nothing on stderr"
    return [TurnFailed(f"the program ended with exit code {exit_code}: {words}", "AGENT_DIED")]
