"""What Claude Code prints as `stream-json`, line by line: the same in both of its modes.

In: lines. Out: events, facts, the end of the turn. Lines that say nothing to a client are named in `NOISE`, those that
have no event of their own become CUSTOM events by `ASIDES`; whatever else there is goes out unread.

A turn of Claude's ends with a `result`. Ours ends with the one that answers our prompt: Claude also begins turns that
nobody asked for, when something in the background is done, and their results may come first. Subagents that our turn
left at work in the background belong to it: then it ends when they are done, and Claude has said what it makes of them.
So do words of the user's that reached it: it does not end before Claude has taken them up, and answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from gateway.capability_paths import COMMANDS, MODEL
from gateway.errors import AgentFault, NotJson
from gateway.events import Custom, Event, TextMessageContent, TextMessageEnd, TurnFailed, UserMessageAccepted, Warning
from gateway.jsonio import loads
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart
from gateway.wire.dialects.claude.fast_path import Template
from gateway.wire.dialects.claude.messages import Lane
from gateway.wire.dialects.claude.result import LOST, Book, aborted, failure, stop_reason
from gateway.wire.dialects.claude.session_state import commands, mode, named_commands, of_turn
from gateway.wire.dialects.claude.subagents import Tasks
from gateway.wire.dialects.claude.tool_calls import Calls
from gateway.wire.fields import items, json_text, non_empty, obj, text

NOISE = {
    "keep_alive": "a sign of life",
    "command_lifecycle": "where a prompt stands in the queue; looked at, but told by the turn itself",
    "system/thinking_tokens": "a running guess; the real number comes with the result",
    "system/control_request_progress": "a request of ours takes its time",
    "system/session_state_changed": "looked at for the end of a turn",
    "system/background_tasks_changed": "looked at for the end of a turn; the tasks tell of themselves",
}
"""Line → why it is not handed on."""

ASIDES = {
    *("active_goal", "auth_status", "conversation_reset", "prompt_suggestion", "rate_limit_event", "tool_progress"),
    "tool_use_summary",
    *("system/api_retry", "system/elicitation_complete", "system/files_persisted"),
    *("system/hook_progress", "system/hook_response", "system/hook_started", "system/informational"),
    *("system/memory_recall", "system/mirror_error", "system/model_fallback", "system/model_refusal_fallback"),
    *("system/model_refusal_no_fallback", "system/notification", "system/permission_denied"),
    *("system/plugin_install", "system/worker_shutting_down"),
}
"""Lines that a client may want to show, with no event of their own: CUSTOM `claude.<name>`, with the line's fields."""

ENVELOPE = ("type", "subtype", "session_id", "uuid", "timestamp", "parent_tool_use_id")
TASKS = ("task_started", "task_progress", "task_updated", "task_notification")
RESULT_CHARS = 4_000
"""A tool's result in its own structure is repeated beside its text up to this size."""
PRINTED = ("<local-command-stdout>", "</local-command-stdout>")

Line = dict[str, Any]


class Reader(Dialect):
    def __init__(self) -> None:
        super().__init__()
        self._calls = Calls()
        self._main = Lane(None, self._calls)
        self._tasks = Tasks(self._calls)
        self._book = Book()
        self._template = Template()
        self._error: tuple[str, str] | None = None
        """A failure of the model's that was told as an answer: what it is called, and its words."""
        self._awaited = False
        """The result that answers our prompt has not come."""
        self._last: Line | None = None
        """The newest result since, of a turn that goes on in the background."""
        self._working = False
        """Claude is in a turn, ours or not."""
        self._says_idle = False
        """It tells when it has nothing more to do."""
        self._looked = False
        """It has said which plugins it could not load."""
        self._news: list[Event] = []
        """To be told with what is read next."""
        self._words: dict[str, UserMessageAccepted] = {}
        """For the turn under way, by their lines' uuids: Claude has not taken them up."""

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self._tasks.forget()
        self._main.rest()
        self._template.forget()
        self._book.begin(new=begin.session_id is None)
        self._awaited = self._working = self._says_idle = self._looked = False

    def start_turn(self, prompt: Prompt) -> None:
        super().start_turn(prompt)
        self._calls.begin(prompt.id_prefix)
        self._awaited, self._last, self._error = True, None, None
        self._words.clear()

    # -- lines

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found, self._news = self._news, []
        main, lines, at = self._main, list(messages), 0
        while at < len(lines):
            texts = self._template.texts(lines, at) if main.speaking is not None else ()
            if texts:
                found += [TextMessageContent(words) for words in texts if words]
                at += len(texts)
            else:
                self._take(lines[at], found)
                at += 1
        return found

    def _take(self, message: bytes, found: list[Event]) -> None:
        """One line, the long way."""
        try:
            line = orjson.loads(message)
        except orjson.JSONDecodeError:
            line = _by_hand(message)
        speaking = self._main.speaking
        if speaking is not None and (words := _words(line, speaking)) is not None:
            self._template.learn(message, line)
            found.append(TextMessageContent(words))
            return
        told = self._line(line) if type(line) is dict else None
        if self._main.speaking != speaking:
            self._template.forget()
        found += [self.to_raw(line)] if told is None else told

    def _line(self, line: Line) -> list[Event] | None:
        """None: not understood."""
        kind = line.get("type")
        if kind == "stream_event":
            lane, begun = self._lane(line)
            told = lane.stream(obj(line.get("event")), line)
            return None if told is None else [*begun, *told]
        name = f"system/{line.get('subtype')}" if kind == "system" else str(kind)
        read = READERS.get(name)
        if read is not None:
            return read(self, line)
        if name in ASIDES:
            return self._aside(name.removeprefix("system/"), line)
        return [] if name in NOISE else None

    def _aside(self, name: str, line: Line) -> list[Event]:
        told = {key: value for key, value in line.items() if key not in ENVELOPE and value is not None}
        call = self._calls.find(text(told.pop("tool_use_id", None)))
        if call is not None:
            told["toolCallId"] = call.id
        return [Custom(f"claude.{name}", told, self._tasks.tag(told.pop("agent_id", None)))]

    # -- what is said

    def _lane(self, line: Line) -> tuple[Lane, list[Event]]:
        return (self._main, []) if line.get("parent_tool_use_id") is None else self._tasks.lane(line)

    def _assistant(self, line: Line) -> list[Event] | None:
        message = obj(line.get("message"))
        if line.get("is_api_error_message") is True and line.get("parent_tool_use_id") is None:
            # Most likely the end of the turn, which then says so. If not, it is told as the answer it looks like.
            words = "\n".join(text(block.get("text")) or "" for block in items(message.get("content")))
            self._error = (non_empty(line.get("error")) or "unknown", words)
            return []
        lane, begun = self._lane(line)
        told = lane.whole(message)
        return None if told is None else [*begun, *told]

    def _user(self, line: Line) -> list[Event] | None:
        """Results of tools; other words here are Claude Code's to its model, or for a person at a terminal."""
        content = obj(line.get("message")).get("content")
        if isinstance(content, str):
            return self._printed(line, content)
        results = [block for block in items(content) if block.get("type") == "tool_result"]
        if not results:
            return []
        lane, found = self._lane(line)
        for block in results:
            claudes = non_empty(block.get("tool_use_id")) or ""
            about = _about_result(block, line if len(results) == 1 else {})
            told = lane.result(claudes, block.get("content"), about)
            if told is None:
                return None
            found += [*self._tasks.returned(claudes), *told]
        return found

    def _printed(self, line: Line, content: str) -> list[Event]:
        """What a command of Claude Code's own printed, such as `/model`."""
        before, after = PRINTED
        if line.get("isReplay") is not True or not content.startswith(before):
            return []
        words = content.removeprefix(before).removesuffix(after).strip()
        return [Custom("claude.command_output", {"text": words})] if words else []

    def _command_output(self, line: Line) -> list[Event]:
        words, name = text(line.get("content")), self._calls.fresh("output")
        return [TextMessageContent(words, name), TextMessageEnd(name)] if words else []

    # -- the session

    def _init(self, line: Line) -> list[Event]:
        self._working, self._error = True, None
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        told = of_turn(line)
        self.handshake_layer |= {key: told.pop(key) for key in ("identity.version",) if key in told}
        self.session_layer |= told
        if COMMANDS not in self.session_layer and (listed := named_commands(line)):
            self.session_layer[COMMANDS] = listed
        return [self._unloaded(error) for error in self._news_of_plugins(line)]

    def _news_of_plugins(self, line: Line) -> list[Line]:
        """What did not load: told with the first turn of a process, though every turn says it."""
        if self._looked:
            return []
        self._looked = True
        return items(line.get("plugin_errors"))

    def _unloaded(self, error: Line) -> Warning:
        words = text(error.get("message")) or "it gave no reason"
        return self.make_warning("PLUGIN_NOT_LOADED", f"Claude Code did not load a plugin: {words}")

    def _status(self, line: Line) -> list[Event]:
        found: list[Event] = []
        if chosen := non_empty(line.get("permissionMode")):
            self.session_layer |= mode(chosen)
            found.append(Custom("session.mode", {"mode": chosen}))
        if line.get("status") == "compacting" or non_empty(line.get("compact_result")):
            found += self._aside("status", line)
        return found  # that the model is asked again shows by its answer

    def _commands(self, line: Line) -> list[Event]:
        listed = commands(line.get("commands"))
        self.session_layer[COMMANDS] = listed
        return [Custom("session.commands", {"commands": listed})]

    def _compacted(self, line: Line) -> list[Event]:
        told = obj(line.get("compact_metadata"))
        kept = {key: told[key] for key in ("trigger", "pre_tokens", "post_tokens", "duration_ms") if key in told}
        return [Custom("claude.compact_boundary", kept)]

    def _task(self, line: Line) -> list[Event] | None:
        return self._tasks.notice(str(line.get("subtype")), line)

    def _level(self, line: Line) -> list[Event]:
        self._tasks.level(line)
        return []

    # -- the end

    def _result(self, line: Line) -> list[Event]:
        self._main.rest()
        self._working = False
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        found: list[Event] = [*self._book.read(line, non_empty(self.session_layer.get(MODEL)))]
        if not self.is_busy:
            if not self.is_ready and (broke := failure(line, None)) is not None:
                self.failure = AgentFault(broke.message, code=broke.code)
            return found
        if self._awaited and not self._answers(line):
            return found
        self._awaited, self._last = False, line
        if self._words and not self.is_cancelled:
            return [*found, *self._goes_past(line)]
        return found if self._goes_on(line) else [*found, *self._finish()]

    def _goes_past(self, line: Line) -> list[Event]:
        """Words wait for which Claude begins another turn right away, however this one ended."""
        broke = None if aborted(line) else failure(line, self._error[0] if self._error else None)
        self._error = None
        return [] if broke is None else [self.make_warning(broke.code, broke.message)]

    def _answers(self, line: Line) -> bool:
        """Is this the end of our prompt's turn? Turns that nobody asked for say where they are from."""
        origin = obj(line.get("origin")).get("kind")
        return origin is None or origin == "human"

    def _goes_on(self, line: Line) -> bool:
        """…in the background, or with words that wait."""
        if self._words and not self.is_cancelled:
            return True
        if self.is_cancelled or line.get("is_error") is True:
            return False
        return bool(self._tasks.background) or (self._says_idle and "origin" in line)

    def _state(self, line: Line) -> list[Event]:
        self._says_idle = True
        over = line.get("state") == "idle" and self.is_busy and self._last is not None and not self._words
        return self._finish() if over else []

    def _finish(self) -> list[Event]:
        """By the newest result."""
        line, self._last = self._last or {}, None
        self._words.clear()
        found: list[Event] = [*self._book.cost()]
        self._tasks.rest()
        if aborted(line):
            self.is_cancelled = True
        kind, words = self._error or (None, "")
        broke = None if self.is_cancelled else failure(line, kind)
        if broke is not None:
            self.is_busy = False
            return [*found, broke]
        if words and not self.is_cancelled:
            found.append(TextMessageContent(words, self._calls.fresh("error")))
        return [*found, *self.end_turn(stop_reason(line), line.get("structured_output"))]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """It is gone, but said before how its turn ended; or says on stderr only why there is none."""
        found = self._finish() if self.is_busy and self._last is not None else []
        found += super().on_process_exit(exit_code, stderr)
        if LOST not in stderr:
            return found
        lost = AgentFault(stderr.strip().splitlines()[-1], code="SESSION_NOT_FOUND")
        self.failure = self.failure or lost
        if not self.is_busy:
            return found
        self.is_busy = False
        return [*found, TurnFailed(lost.detail, lost.code)]


def _words(line: Any, speaking: int) -> str | None:
    """The short way: more of the text that is open, which is what nearly all lines are. None: anything else."""
    try:
        event = line["event"]
        delta = event["delta"]
        if delta["type"] != "text_delta" or event["index"] != speaking or line["parent_tool_use_id"] is not None:
            return None
        words = delta["text"]
        plain = line["type"] == "stream_event" and event["type"] == "content_block_delta" and type(words) is str
        return words if plain and words else None
    except (KeyError, TypeError, IndexError):
        return None


def _by_hand(message: bytes) -> Any:
    """A lone surrogate, say, which JavaScript writes and orjson refuses. No JSON at all: its text."""
    try:
        return loads(message)
    except NotJson:
        return message.decode("utf-8", "replace")


def _about_result(block: Line, line: Line) -> dict[str, Any] | None:
    told: dict[str, Any] = {"isError": True} if block.get("is_error") is True else {}
    for meta in items(line.get("tool_result_meta")):
        if decision := obj(meta.get("permission_decision")):
            told["decision"] = decision
    structured = line.get("tool_use_result")
    if isinstance(structured, dict) and len(json_text(structured)) <= RESULT_CHARS:
        told["result"] = structured
    return {"claude": told} if told else None


READERS: dict[str, Callable[[Reader, Line], list[Event] | None]] = {
    "assistant": Reader._assistant,
    "user": Reader._user,
    "result": Reader._result,
    "system/init": Reader._init,
    "system/status": Reader._status,
    "system/commands_changed": Reader._commands,
    "system/compact_boundary": Reader._compacted,
    "system/local_command_output": Reader._command_output,
    "system/session_state_changed": Reader._state,
    "system/background_tasks_changed": Reader._level,
    **{f"system/{subtype}": Reader._task for subtype in TASKS},
}
