"""A run for a pipe: the answer's text and nothing else, or every event as a line of JSON."""

from __future__ import annotations

import sys
from typing import Any, Protocol

import orjson

from gateway.cli.exit import complain


class View(Protocol):
    """Where a run goes, event by event."""

    def feed(self, event: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


class Plain:
    """The agent's own words, each message on lines of its own; what went wrong goes to stderr."""

    def __init__(self) -> None:
        self._message = ""
        self._fresh = True

    def feed(self, event: dict[str, Any]) -> None:
        match event:
            case {"subagentRunId": str()}:
                pass  # a helper's words are not the answer
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": str(message), "delta": str(delta)}:
                if message != self._message:
                    self.close()
                self._message, self._fresh = message, delta.endswith("\n")
                self._write(delta)
            case {"type": "RUN_ERROR", "message": str(message)}:
                self.close()
                complain(message)
            case {"type": "CUSTOM", "name": "gateway.warning", "value": {"message": str(message)}}:
                complain(message)

    def close(self) -> None:
        if not self._fresh:
            self._write("\n")
            self._fresh = True

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


class Lines:
    """Every event, one a line."""

    def feed(self, event: dict[str, Any]) -> None:
        sys.stdout.write(orjson.dumps(event).decode() + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        pass
