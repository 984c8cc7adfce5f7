"""A run in a pipe: only the text of the answer, or every event as a line of JSON."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import orjson

from gateway.cli.exit import print_error


class View(Protocol):
    """Shows a run, event by event."""

    def feed(self, event: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


class PlainView:
    """The agent's text, each message on its own lines; errors and warnings go to stderr."""

    def __init__(self) -> None:
        self._message_id = ""
        self._is_line_start = True

    def feed(self, event: dict[str, Any]) -> None:
        match event:
            case {"subagentRunId": str()}:
                pass  # the text of a subagent is not the answer
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": str(message_id), "delta": str(delta)}:
                if message_id != self._message_id:
                    self.close()
                self._message_id = message_id
                self._is_line_start = delta.endswith("\n")
                self._write(delta)
            case {"type": "RUN_ERROR", "message": str(message)}:
                self.close()
                print_error(message)
            case {"type": "CUSTOM", "name": "gateway.warning", "value": {"message": str(message)}}:
                print_error(message)

    def close(self) -> None:
        if not self._is_line_start:
            self._write("\n")
            self._is_line_start = True

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


class JsonLinesView:
    """Every event as JSON, one per line."""

    def feed(self, event: dict[str, Any]) -> None:
        sys.stdout.write(orjson.dumps(event).decode() + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        pass
