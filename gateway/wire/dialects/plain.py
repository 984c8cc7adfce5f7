"""Formats for programs that know nothing of the gateway: plain text, or one AG-UI event a line.

In: stdout. Out: events. Both get the prompt's text on stdin, and the end of the process ends the turn: exit code 0 is
success, any other fails the turn with the end of stderr. `text` (transport `raw`): stdout is the answer, as it comes.
`ag-ui` (transport `lines`): each line is one AG-UI event as JSON (https://docs.ag-ui.com/concepts/events); the run's
own events (RUN_STARTED, RUN_FINISHED) may be left out. A line that is not JSON is text.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence

from gateway.events import AguiEvent, Event, TextMessageContent, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, parse_message
from gateway.wire.fields import text

MAX_STDERR_CHARS = 2_000


class PlainText(Dialect):
    name = "text"

    def __init__(self) -> None:
        super().__init__()
        self._decoder = getincrementaldecoder("utf-8")("replace")
        """Decodes across reads: one may end inside a character."""

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._decoder.reset()
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return _to_events(self._decoder.decode(b"".join(messages))) if self.is_busy else []

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        rest = _to_events(self._decoder.decode(b"", final=True)) if self.is_busy else []
        self.is_ready = False
        return [*rest, *_end_at_exit(self, exit_code, stderr)]


class AguiLines(Dialect):
    name = "ag-ui"
    sends_state = True

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [event for message in messages for event in self._read_line(message)]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self.is_ready = False
        return _end_at_exit(self, exit_code, stderr)

    def _read_line(self, message: bytes) -> list[Event]:
        event = parse_message(message)
        if not self.is_busy:
            return [self.to_raw(message.decode("utf-8", "replace") if event is None else event)]
        match event:
            case {"type": "RUN_STARTED"}:
                return []
            case {"type": "RUN_FINISHED"}:
                return self.end_turn(result=event.get("result"))
            case {"type": "RUN_ERROR", "message": str(reason)}:
                return self.fail_turn(TurnFailed(reason, text(event.get("code")) or "AGENT_ERROR"))
            case {"type": str()}:
                return [AguiEvent(event)]
            case None:
                return [TextMessageContent(message.decode("utf-8", "replace") + "\n")]
        return [self.to_raw(event)]


def _to_events(output: str) -> list[Event]:
    return [TextMessageContent(output)] if output else []


def _end_at_exit(dialect: Dialect, exit_code: int | None, stderr: str) -> list[Event]:
    if not dialect.is_busy:
        return []
    if dialect.is_cancelled or exit_code == 0:
        return dialect.end_turn()
    reason = stderr.strip()[-MAX_STDERR_CHARS:] or "stderr is empty"
    return dialect.fail_turn(TurnFailed(f"the program ended with exit code {exit_code}: {reason}", "AGENT_DIED"))
