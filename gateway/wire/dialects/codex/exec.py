"""`codex exec --json`: one process for a turn, a line for every item, messages whole.

In: the lines of stdout, then the end of the process. Out: the same events as by the app server, as far as they are
told: nothing streams, nothing is asked, and a command that the sandbox blocks may not be shown at all. Ids of items
begin anew with every process. A run that is cancelled prints nothing more. `usage` counts the whole thread, so
differences are told; the first count of a thread that came back from elsewhere cannot be told apart from what was
before, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from gateway.events import Event, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.codex.errors import turn_fault, unpacked, words_code
from gateway.wire.dialects.codex.items import Lane
from gateway.wire.dialects.codex.requests import plain_text
from gateway.wire.dialects.codex.usage import Book
from gateway.wire.fields import items, non_empty, obj, text

RETRY = re.compile(r"Reconnecting\.\.\. \d+/\d+")
CHATTER = re.compile(r"^(Reading prompt from stdin|WARNING: proceeding|\d{4}-\d\d-\d\dT\S+ +(INFO|WARN)\b)")
"""Lines of stderr that say nothing about the end."""
TYPES = {"collabToolCall": "collabAgentToolCall"}
"""Kinds of items that the app server calls otherwise."""


class CodexExec(Dialect):
    name: ClassVar[str] = "codex-exec"

    def __init__(self) -> None:
        super().__init__()
        self._lane = Lane("t0")
        self._book = Book()
        self._error: str | None = None

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        if begin.session_id is None:
            self._book, self.session_id = Book({}), None
        elif begin.fork or begin.session_id != self.session_id:
            self._book, self.session_id = Book(), None if begin.fork else begin.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._lane.begin(prompt.id_prefix)
        self._error = None
        self.outbox.append(plain_text(prompt).encode("utf-8", "replace"))

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [event for message in messages for event in self._line(message)]

    def _line(self, line: bytes) -> list[Event]:
        message = parse_message(line)
        match message:
            case {"type": "thread.started", "thread_id": str(thread_id)} if thread_id:
                return self._thread(thread_id)
            case {"type": "turn.started"}:
                return []
            case {"type": "item.started" | "item.updated" | "item.completed" as moment, "item": dict(item)}:
                found = self._item(moment, item)
                return [self.to_raw(message)] if found is None else found
            case {"type": "turn.completed"} if self.is_busy:
                return self._completed(message)
            case {"type": "turn.failed"} if self.is_busy:
                return self._over(*turn_fault(message.get("error")))
            case {"type": "error", "message": str(words)}:
                return self._failing(unpacked(words))
            case None:
                return [self.to_raw(line.decode("utf-8", "replace"))]
            case _:
                return [self.to_raw(message)]

    def _thread(self, thread_id: str) -> list[Event]:
        """An id that is no UUID is taken for a name, and one that nobody has begins a new thread without a word."""
        self.session_id = thread_id
        wanted = self.session_start.session_id
        if wanted is None or self.session_start.fork or wanted == thread_id:
            return []
        return [
            self.make_warning(
                "SESSION_NOT_RESUMED", "the agent knows no such session; it began a new one", sessionId=wanted
            )
        ]

    def _item(self, moment: str, told: dict[str, Any]) -> list[Event] | None:
        """None: of a kind that is not known."""
        item = in_other_words(told)
        if non_empty(item.get("id")) is None or non_empty(item.get("type")) is None:
            return None
        match item["type"], moment:
            case "todoList", _:
                return self._plan(item)
            case "error", _:
                return [self.make_warning("AGENT_WARNING", text(item.get("message")) or "")]
            case _, "item.completed":
                return self._lane.completed(_summed(item))
            case _:
                return self._lane.started(item)

    def _plan(self, item: dict[str, Any]) -> list[Event]:
        """It says what is done, not what is being done."""
        entries = [
            {"content": one.get("text"), "status": "completed" if one.get("completed") is True else "pending"}
            for one in items(item.get("items"))
        ]
        return self._lane.plans.show_entries(entries)

    def _failing(self, words: str) -> list[Event]:
        """Tried again; or the end, which `turn.failed` tells once more."""
        if RETRY.match(words):
            return [self.make_warning("MODEL_RETRY", words)]
        self._error = words
        return []

    def _completed(self, message: dict[str, Any]) -> list[Event]:
        usage = in_other_words(obj(message.get("usage")))
        used = self._book.read(usage, None, self.turn.model, None)
        found = self._lane.close(cancelled=False)
        ended = self.end_turn(result=self._lane.fitted(self.turn.output_schema))
        return [*found, *([] if used is None else [used]), *ended]

    def _over(self, words: str, code: str) -> list[Event]:
        found = self._lane.close(cancelled=self.is_cancelled)
        if self.is_cancelled:
            return [*found, *self.end_turn()]
        self.is_busy = False
        return [*found, TurnFailed(words, code)]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """An end without a word is a cancelled run, or a failure that only stderr tells of."""
        found = super().on_process_exit(exit_code, stderr)
        if found:
            return [*self._lane.close(cancelled=True), *found]
        if not self.is_busy:
            return []
        if self._error is not None:
            return self._over(*turn_fault({"message": self._error}))
        words = last_words(stderr) or f"codex ended with {exit_code} and said nothing"
        return self._over(words, words_code(words))


def in_other_words(told: dict[str, Any]) -> dict[str, Any]:
    """`exec` writes in snake_case what the app server writes in camelCase."""
    found = {_camel(key): value for key, value in told.items()}
    for key in ("type", "status"):
        if isinstance(found.get(key), str):
            found[key] = _camel(found[key])
    if (kind := text(found.get("type"))) in TYPES:
        found["type"] = TYPES[kind]
        found["tool"] = _camel(text(found.get("tool")) or "")
    if found.get("type") == "mcpToolCall" and isinstance(found.get("result"), dict):
        found["result"] = {_camel(key): value for key, value in found["result"].items()}
    return found


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _summed(item: dict[str, Any]) -> dict[str, Any]:
    """Reasoning is one text here."""
    return item | {"summary": [item.get("text")]} if item["type"] == "reasoning" else item


def last_words(stderr: str) -> str:
    """The last line that says something, without the times and colours of a log."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not CHATTER.match(line)]
    return told[-1].removeprefix("Error: ") if told else ""
