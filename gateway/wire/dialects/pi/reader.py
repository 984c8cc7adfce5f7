"""What pi and omp tell in every mode and version → events; when a turn is over is each mode's own affair.

In: lines of their event stream. Out: events, and what is known of the session. A prompt may take several runs of the
agent's loop (retries, compaction, queued messages): `agent_end` ends one of them, and is the turn's end only where it
says so (omp's `isTerminal`); `agent_settled` always is (pi since 0.80).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import orjson

from gateway.capability_paths import COMMANDS, EFFORT, TITLE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.pi.errors import cleaned, last_words, model_fault
from gateway.wire.dialects.pi.messages import LANES_OWN, Kind, Lane
from gateway.wire.dialects.pi.usage import Ledger
from gateway.wire.fields import items, non_empty, obj, present, text

STOPS = {"length": "max_tokens", "aborted": "cancelled"}
LINE_CHARS = 2_000
"""Of a line that is no message, so much is handed on."""

_COPIED = re.compile(
    rb'\{"type":"message_update","assistantMessageEvent":\{"type":"(text|thinking)_delta",'
    rb'"contentIndex":(\d{1,6}),"delta":("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"),"partial":\{'
)
"""A token with two copies of all that was said before it, as pi 0.73 and omp's rpc send them: the copies are not read,
which would take time that grows with the square of the answer. A token with other escapes goes the long way."""

Handler = Callable[[Any, dict[str, Any]], Iterable[Event] | None]


class PiReader(Dialect):
    agent: ClassVar[str] = "pi"
    """Whose words are under `metadata`, and in the names of CUSTOM events."""
    intent: ClassVar[bool] = False
    """Tools' arguments carry omp's `i`."""
    handlers: ClassVar[dict[str, Handler]]

    def __init__(self) -> None:
        super().__init__()
        self._ledger = Ledger()
        self._lane = self._new_lane()
        self._running = self._retrying = self._compacting = False
        self._ran = self._aborted = False

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self._running = self._retrying = self._compacting = False

    def start_turn(self, prompt: Prompt) -> None:
        super().start_turn(prompt)
        self._ledger = Ledger()
        self._lane = self._new_lane()
        self._ran = self._aborted = False

    def _new_lane(self, subagent: str | None = None) -> Lane:
        """Its ids stay those of the turn that it began in."""
        key = self.turn.id_prefix if subagent is None else subagent
        return Lane(self.agent, lambda known: f"{key}:{known}", self._ledger, subagent, intent=self.intent)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            if (short := _COPIED.match(message)) is not None:
                kind: Kind = "text" if short[1] == b"text" else "thinking"
                found += self._lane.say(kind, int(short[2]), orjson.loads(short[3])) or ()
                continue
            told = parse_message(message)
            if type(told) is dict:
                found += self._told(told)
            else:
                found.append(self.to_raw({"line": message[:LINE_CHARS].decode(errors="replace")}))
        return found

    def _told(self, told: dict[str, Any]) -> Iterable[Event]:
        kind = told.get("type")
        events: Iterable[Event] | None = None
        if kind == "message_update":  # nearly all of them
            events = self._lane.update(told)
        elif isinstance(kind, str) and (handler := self.handlers.get(kind)) is not None:
            events = handler(self, told)
        return [self.to_raw(told)] if events is None else events

    def _of_the_lane(self, told: dict[str, Any]) -> Iterable[Event] | None:
        return self._lane.read(told)

    def _nothing(self, told: dict[str, Any]) -> list[Event]:
        return []

    # -- the agent's loop

    def _agent_start(self, told: dict[str, Any]) -> list[Event]:
        self._running, self._retrying = True, False
        self._lane.stop = None  # that it failed before is history
        return []

    def _agent_end(self, told: dict[str, Any]) -> list[Event]:
        self._running, self._ran = False, True
        if told.get("isTerminal") is True:
            return self._over()
        return [] if told.get("isTerminal") is False else self._maybe_over(told)

    def _maybe_over(self, told: dict[str, Any]) -> list[Event]:
        """A run of the loop ended, and nothing says whether another follows."""
        return []

    def _settled(self, told: dict[str, Any]) -> list[Event]:
        self._aborted = told.get("aborted") is True
        return self._over()

    def _over(self) -> list[Event]:
        """What is left to say of the turn, and its end."""
        if not self.is_busy:
            return []
        stop = self._lane.stop
        cancelled = self.is_cancelled or self._aborted or stop == "aborted"
        found = [*self._lane.calls.close(cancelled=cancelled), *self._ledger.total()]
        if stop == "error" and not cancelled:
            self.is_busy = False
            return [*found, model_fault(self._lane.fault.get("errorMessage"), self._lane.fault.get("errorStatus"))]
        return [*found, *self.end_turn("cancelled" if cancelled else STOPS.get(stop or "", "end_turn"))]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """Exit codes lie: pi ends with 0 after a model's failure, and when it would have had to ask."""
        was_ready, self.is_ready, self._running = self.is_ready, False, False
        fault = None if self._ran or self.is_cancelled else last_words(exit_code, stderr)
        if not was_ready and self.failure is None:
            self.failure = fault
        if self.is_busy and fault is not None:
            self._lane.stop, self.is_busy = None, False
            return [broken(fault)]
        ended = self.is_cancelled or self._lane.stop in ("error", "aborted") or (self._ran and exit_code == 0)
        return self._over() if ended else []

    # -- beside the conversation

    def _retry(self, told: dict[str, Any]) -> list[Event]:
        self._retrying = True
        words = cleaned(text(told.get("errorMessage")) or "")
        numbers = {key: told.get(key) for key in ("attempt", "maxAttempts", "delayMs")}
        return [Custom(f"{self.agent}.retry", present({**numbers, "message": words}))]

    def _retried(self, told: dict[str, Any]) -> list[Event]:
        self._retrying = False
        return []

    def _compacts(self, told: dict[str, Any]) -> list[Event]:
        self._compacting = True
        return [Custom(f"{self.agent}.compaction", present({"phase": "start", "reason": text(told.get("reason"))}))]

    def _compacted(self, told: dict[str, Any]) -> list[Event]:
        self._compacting = False
        self._retrying = self._retrying or told.get("willRetry") is True
        result = obj(told.get("result"))
        value = {
            "phase": "end",
            "reason": text(told.get("reason")),
            "aborted": True if told.get("aborted") is True else None,
            "summary": text(result.get("summary")),
            "message": cleaned(text(told.get("errorMessage")) or ""),
        }
        return [Custom(f"{self.agent}.compaction", present(value)), *self._ledger.enter(result.get("usage"), {})]

    def _notice(self, told: dict[str, Any]) -> list[Event]:
        """omp's; and errors of extensions, without the path of their file."""
        words = cleaned(text(told.get("message")) or text(told.get("error")) or "")
        level = text(told.get("level")) or ("error" if "error" in told else "info")
        value = present({"level": level, "message": words, "source": text(told.get("source"))})
        return [Custom(f"{self.agent}.notice", value)] if words else []

    def _thinking_level(self, told: dict[str, Any]) -> list[Event]:
        if level := non_empty(told.get("level")) or non_empty(told.get("thinkingLevel")):
            self.session_layer[EFFORT] = level
        return []

    def _named(self, told: dict[str, Any]) -> list[Event]:
        title = non_empty(told.get("name")) or non_empty(told.get("title"))
        if title is None:
            return []
        self.session_layer[TITLE] = title
        return [Custom("session.info", {"title": title})]

    def _commands(self, told: dict[str, Any]) -> list[Event]:
        named = [one for one in items(told.get("commands")) if non_empty(one.get("name"))]
        known = [present({key: text(one.get(key)) for key in ("name", "description")}) for one in named]
        self.session_layer[COMMANDS] = known
        return []

    def _handed_on(self, told: dict[str, Any]) -> list[Event]:
        value = {key: value for key, value in told.items() if key != "type"}
        return [Custom(f"{self.agent}.{told['type']}", value)]


def broken(fault: AgentFault) -> TurnFailed:
    return TurnFailed(fault.detail, fault.code)


NOISE = {
    "queue_update": "prompts that wait are our own",
    "entry_appended": "a line of the session's file, for who reads that",
    "model_changed": "does not say to which",
    "config_warnings_changed": "for omp's screen",
    "advisor_cost_changed": "for omp's screen, without a number",
    "advisor_yielded": "for omp's screen",
    "todo_auto_clear": "for omp's screen",
    "ttsr_triggered": "rules of the user's that the model is reminded of",
    "irc_message": "subagents among themselves",
    "tool_stream_update": "arguments as omp's screen shows them; the call's own events tell them",
    "summarization_retry_attempt_start": "the retry itself was told",
    "summarization_retry_finished": "what follows tells how it went",
}
"""What is known and dropped, and why."""

SHARED: dict[str, Handler] = {
    **dict.fromkeys(LANES_OWN, PiReader._of_the_lane),
    **dict.fromkeys(NOISE, PiReader._nothing),
    "agent_start": PiReader._agent_start,
    "agent_end": PiReader._agent_end,
    "agent_settled": PiReader._settled,
    "auto_retry_start": PiReader._retry,
    "auto_retry_end": PiReader._retried,
    "summarization_retry_scheduled": PiReader._handed_on,
    "retry_fallback_applied": PiReader._handed_on,
    "retry_fallback_succeeded": PiReader._handed_on,
    "todo_reminder": PiReader._handed_on,
    "goal_updated": PiReader._handed_on,
    "compaction_start": PiReader._compacts,
    "compaction_end": PiReader._compacted,
    "auto_compaction_start": PiReader._compacts,
    "auto_compaction_end": PiReader._compacted,
    "thinking_level_changed": PiReader._thinking_level,
    "session_info_changed": PiReader._named,
    "session_info_update": PiReader._named,
    "available_commands_update": PiReader._commands,
    "notice": PiReader._notice,
    "extension_error": PiReader._notice,
}
"""What every mode tells."""
