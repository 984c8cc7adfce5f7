"""The events that pi and omp send in every mode and version. When a turn is over is decided by each mode.

In: lines of the event stream. Out: events, and values of the session layer. A prompt may take several runs of the
agent's loop (retries, compaction, queued messages): `agent_end` ends one run, and the turn only where it says so (omp's
`isTerminal`); `agent_settled` always ends the turn (pi since 0.80).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.capability_paths import COMMANDS, EFFORT, TITLE
from gateway.errors import AgentFault
from gateway.events import Custom, Event, TurnFailed
from gateway.wire.dialects.base import Dialect, parse_message
from gateway.wire.dialects.pi.errors import clean_message, model_failure, read_stderr
from gateway.wire.dialects.pi.messages import MESSAGE_READERS, MessageReader
from gateway.wire.dialects.pi.usage import TurnUsage
from gateway.wire.fields import items, non_empty, number, obj, parse_json, present, text
from gateway.wire.text_parts import Kind

Json = dict[str, Any]
LineReader = Callable[[Json], Iterable[Event] | None]
"""Reads one line; None: not understood."""

STOP_REASONS = {"length": "max_tokens", "aborted": "cancelled"}
"""The agent's stop reason → ACP's; any other is `end_turn`. https://agentclientprotocol.com/protocol/prompt-turn"""
MAX_RAW_LINE_BYTES = 2_000
"""So much of a line that is not JSON goes into its RAW event."""

_DELTA_WITH_COPIES = re.compile(
    rb'\{"type":"message_update","assistantMessageEvent":\{"type":"(text|thinking)_delta",'
    rb'"contentIndex":(\d{1,6}),"delta":("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*"),"partial":\{'
)
"""A token with two copies of the whole message before it, as pi 0.73 and omp's rpc mode send it. The copies are not
parsed: that would take time that grows with the square of the answer. A token with other escapes is parsed whole."""


@dataclass(slots=True)
class LoopState:
    """The agent's loop."""

    is_running: bool = False
    is_retrying: bool = False
    is_compacting: bool = False
    has_run: bool = False
    """A run of the loop has ended in this turn."""
    is_aborted: bool = False

    @property
    def is_idle(self) -> bool:
        return not (self.is_running or self.is_retrying or self.is_compacting)


class EventReader:
    """Reads what all modes have in common, for one dialect. `agent` is the key of metadata and the prefix of CUSTOM
    events. `has_intent`: tool arguments carry omp's `i`."""

    def __init__(self, dialect: Dialect, agent: str, session_layer: Json, *, has_intent: bool) -> None:
        self._dialect = dialect
        self._agent = agent
        self._session_layer = session_layer
        self._has_intent = has_intent
        self.loop = LoopState()
        self._usage = TurnUsage()
        self.messages = self.new_messages()

    def begin_process(self) -> None:
        self.loop = LoopState(has_run=self.loop.has_run, is_aborted=self.loop.is_aborted)

    def begin_turn(self, client_tools: Mapping[str, str] | None = None) -> None:
        self._usage = TurnUsage()
        self.messages = self.new_messages(client_tools=client_tools)
        self.loop.has_run = False
        self.loop.is_aborted = False

    def new_messages(self, subagent: str | None = None, client_tools: Mapping[str, str] | None = None) -> MessageReader:
        """A reader whose ids stay those of the turn that it was made in."""
        prefix = self._dialect.turn.id_prefix if subagent is None else subagent
        return MessageReader(
            self._agent,
            lambda native_id: f"{prefix}:{native_id}",
            self._usage,
            subagent,
            has_intent=self._has_intent,
            client_tools=client_tools or {},
        )

    def read_messages(self, messages: Sequence[bytes], read_line: LineReader) -> list[Event]:
        """`read_line` is the mode's own reader; what it does not understand becomes `Raw`."""
        events: list[Event] = []
        for message in messages:
            if (match := _DELTA_WITH_COPIES.match(message)) is not None:
                kind: Kind = "text" if match[1] == b"text" else "reasoning"
                delta = parse_json(match[3])
                if delta is not None:
                    events += self.messages.add_delta(kind, int(match[2]), delta) or ()
                    continue
            line = parse_message(message)
            if not isinstance(line, dict):
                start = message[:MAX_RAW_LINE_BYTES].decode(errors="replace")
                events.append(self._dialect.to_raw({"line": start}))
                continue
            found = read_line(line)
            events += [self._dialect.to_raw(line)] if found is None else found
        return events

    def read(self, line: Json) -> Iterable[Event] | None:
        kind = line.get("type")
        if kind == "message_update":  # nearly all lines
            return self.messages.read_update(line)
        if not isinstance(kind, str):
            return None
        if kind in IGNORED_EVENTS:
            return []
        if kind in MESSAGE_READERS:
            return self.messages.read(line)
        reader = EVENT_READERS.get(kind)
        return None if reader is None else reader(self, line)

    # -- the agent's loop

    def read_agent_start(self, line: Json) -> list[Event]:
        self.loop.is_running = True
        self.loop.is_retrying = False
        self.messages.forget_stop()
        return []

    def read_agent_end(self) -> None:
        self.loop.is_running = False
        self.loop.has_run = True

    def end_own_run(self) -> None:
        """A run that the agent started itself has ended; the prompt waits for it."""
        self.loop.is_running = False

    def read_conclusion(self, line: Json) -> None:
        self.loop.is_aborted = line.get("aborted") is True

    def read_retry_end(self, line: Json) -> list[Event]:
        self.loop.is_retrying = False
        return []

    def finish_turn(self) -> list[Event]:
        """The remaining events of the turn, and its end."""
        if not self._dialect.is_busy:
            return []
        stop_reason = self.messages.stop_reason
        cancelled = self._dialect.is_cancelled or self.loop.is_aborted or stop_reason == "aborted"
        events = [*self.messages.calls.close(cancelled=cancelled), *self._usage.read_total()]
        if stop_reason == "error" and not cancelled:
            message = self.messages.failed_message
            failure = model_failure(message.get("errorMessage"), message.get("errorStatus"))
            return [*events, *self._dialect.fail_turn(failure)]
        reason = "cancelled" if cancelled else STOP_REASONS.get(stop_reason or "", "end_turn")
        return [*events, *self._dialect.end_turn(reason)]

    def read_exit_fault(self, exit_code: int | None, stderr: str) -> AgentFault | None:
        """Why the process ended before the turn. pi exits with 0 also after a model's failure."""
        self.loop.is_running = False
        if self.loop.has_run or self._dialect.is_cancelled:
            return None
        return read_stderr(exit_code, stderr)

    def end_at_exit(
        self, exit_code: int | None, fault: AgentFault | None, finish_turn: Callable[[], list[Event]]
    ) -> list[Event]:
        """The end of the turn, if the process has ended with it."""
        if self._dialect.is_busy and fault is not None:
            self.messages.forget_stop()
            return self._dialect.fail_turn(to_turn_failed(fault))
        has_failed = self.messages.stop_reason in ("error", "aborted")
        has_ended = self._dialect.is_cancelled or has_failed or (self.loop.has_run and exit_code == 0)
        return finish_turn() if has_ended else []

    # -- beside the conversation

    def _read_retry(self, line: Json) -> list[Event]:
        self.loop.is_retrying = True
        numbers = {key: number(line.get(key)) for key in ("attempt", "maxAttempts", "delayMs")}
        value = present({**numbers, "message": clean_message(line.get("errorMessage"))})
        return [Custom(f"{self._agent}.retry", value)]

    def _read_compaction_start(self, line: Json) -> list[Event]:
        self.loop.is_compacting = True
        return [Custom(f"{self._agent}.compaction", present({"phase": "start", "reason": text(line.get("reason"))}))]

    def read_compaction_end(self, line: Json) -> list[Event]:
        self.loop.is_compacting = False
        self.loop.is_retrying = self.loop.is_retrying or line.get("willRetry") is True
        result = obj(line.get("result"))
        value = {
            "phase": "end",
            "reason": text(line.get("reason")),
            "aborted": True if line.get("aborted") is True else None,
            "summary": text(result.get("summary")),
            "message": clean_message(line.get("errorMessage")),
        }
        return [Custom(f"{self._agent}.compaction", present(value)), *self._usage.read(result.get("usage"), {})]

    def read_notice(self, line: Json) -> list[Event]:
        """Notices of omp's, and errors of extensions, without the path of their file."""
        message = clean_message(text(line.get("message")) or line.get("error"))
        level = text(line.get("level")) or ("error" if "error" in line else "info")
        value = present({"level": level, "message": message, "source": text(line.get("source"))})
        return [Custom(f"{self._agent}.notice", value)] if message else []

    def _read_thinking_level(self, line: Json) -> list[Event]:
        if level := non_empty(line.get("level")) or non_empty(line.get("thinkingLevel")):
            self._session_layer[EFFORT] = level
        return []

    def _read_title(self, line: Json) -> list[Event]:
        title = non_empty(line.get("name")) or non_empty(line.get("title"))
        if title is None:
            return []
        self._session_layer[TITLE] = title
        return [Custom("session.info", {"title": title})]

    def _read_commands(self, line: Json) -> list[Event]:
        commands = [command for command in items(line.get("commands")) if non_empty(command.get("name"))]
        keys = ("name", "description")
        self._session_layer[COMMANDS] = [present({key: text(command.get(key)) for key in keys}) for command in commands]
        return []

    def _pass_on(self, line: Json) -> list[Event]:
        value = {key: value for key, value in line.items() if key != "type"}
        return [Custom(f"{self._agent}.{line['type']}", value)]


def to_turn_failed(fault: AgentFault) -> TurnFailed:
    return TurnFailed(fault.detail, fault.code)


IGNORED_EVENTS = {
    "queue_update": "the queued prompts are the gateway's own",
    "entry_appended": "a line of the session's file",
    "model_changed": "does not name the model",
    "config_warnings_changed": "for omp's screen",
    "advisor_cost_changed": "for omp's screen, without a number",
    "advisor_yielded": "for omp's screen",
    "todo_auto_clear": "for omp's screen",
    "ttsr_triggered": "rules of the user's that the model is reminded of",
    "irc_message": "messages between subagents",
    "tool_stream_update": "arguments as omp's screen shows them; the call's own events have them",
    "summarization_retry_attempt_start": "the retry itself was reported",
    "summarization_retry_finished": "the events that follow show the outcome",
}
"""Events without meaning for a client → why."""

EVENT_READERS: dict[str, Callable[[EventReader, Json], list[Event]]] = {
    "agent_start": EventReader.read_agent_start,
    "auto_retry_start": EventReader._read_retry,
    "auto_retry_end": EventReader.read_retry_end,
    "summarization_retry_scheduled": EventReader._pass_on,
    "retry_fallback_applied": EventReader._pass_on,
    "retry_fallback_succeeded": EventReader._pass_on,
    "todo_reminder": EventReader._pass_on,
    "goal_updated": EventReader._pass_on,
    "compaction_start": EventReader._read_compaction_start,
    "compaction_end": EventReader.read_compaction_end,
    "auto_compaction_start": EventReader._read_compaction_start,
    "auto_compaction_end": EventReader.read_compaction_end,
    "thinking_level_changed": EventReader._read_thinking_level,
    "session_info_changed": EventReader._read_title,
    "session_info_update": EventReader._read_title,
    "available_commands_update": EventReader._read_commands,
    "notice": EventReader.read_notice,
    "extension_error": EventReader.read_notice,
}
"""Events of all modes."""
