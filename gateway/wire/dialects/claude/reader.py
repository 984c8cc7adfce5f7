"""Lines of Claude Code's `stream-json` output, which both of its modes print.

In: lines. Out: events, session state, the end of the turn. `IGNORED` names the lines that mean nothing to a client,
`CUSTOM` those that become CUSTOM events; any other unknown line becomes RAW.

A turn of Claude's ends with a `result`. The gateway's turn ends with the result that answers its prompt: Claude also
starts turns on its own when a background task is done, and their results may come first. Subagents that the turn left
at work in the background belong to it: then it ends when they are done and Claude has commented on them. So do messages
that the user sent during the turn: it does not end before Claude has accepted and answered them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gateway.capability_paths import COMMANDS, MODEL
from gateway.errors import AgentFault
from gateway.events import Custom, Event, TextMessageContent, TextMessageEnd, TurnFailed, UserMessageAccepted
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.claude.fast_path import TextDeltaTemplate
from gateway.wire.dialects.claude.messages import MessageStream
from gateway.wire.dialects.claude.result import (
    SESSION_NOT_FOUND_TEXT,
    UsageTotals,
    is_aborted,
    read_failure,
    read_stop_reason,
)
from gateway.wire.dialects.claude.session_state import mode_layer, read_command_names, read_commands, turn_layer
from gateway.wire.dialects.claude.subagents import Subagents
from gateway.wire.dialects.claude.tool_calls import ClaudeToolCalls
from gateway.wire.fields import if_small, items, non_empty, obj, text

IGNORED = {
    "keep_alive": "a sign of life",
    "command_lifecycle": "the position of a prompt in Claude's queue; `ClaudeDialect` reads it",
    "system/thinking_tokens": "an estimate; the result has the real number",
    "system/control_request_progress": "one of our requests takes long",
}
"""Line → why it is not passed on."""

CUSTOM = {
    *("active_goal", "auth_status", "conversation_reset", "prompt_suggestion", "rate_limit_event", "tool_progress"),
    "tool_use_summary",
    *("system/api_retry", "system/elicitation_complete", "system/files_persisted"),
    *("system/hook_progress", "system/hook_response", "system/hook_started", "system/informational"),
    *("system/memory_recall", "system/mirror_error", "system/model_fallback", "system/model_refusal_fallback"),
    *("system/model_refusal_no_fallback", "system/notification", "system/permission_denied"),
    *("system/plugin_install", "system/worker_shutting_down"),
}
"""Lines that become CUSTOM `claude.<name>`, with the line's fields as value."""

ENVELOPE_FIELDS = ("type", "subtype", "session_id", "uuid", "timestamp", "parent_tool_use_id")
TASK_LINES = ("task_started", "task_progress", "task_updated", "task_notification")
MAX_STRUCTURED_RESULT_CHARS = 4_000
"""Up to this size, a tool's structured result is repeated in the metadata of its text."""
COMMAND_OUTPUT_TAGS = ("<local-command-stdout>", "</local-command-stdout>")

Line = dict[str, Any]
Events = list[Event] | None
"""None: the line is not understood."""


class ClaudeReader(Dialect):
    """The half of the dialect that reads lines."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = ClaudeToolCalls(self.qualify_id)
        self._main = MessageStream(None, self._calls)
        self._subagents = Subagents(self._calls)
        self._usage = UsageTotals()
        self._template = TextDeltaTemplate()
        self._model_error: tuple[str, str] | None = None
        """Name and text of a model error that Claude reported as an assistant message."""
        self._awaits_result = False
        """The result that answers the prompt has not come."""
        self._last_result: Line | None = None
        """The newest result of a turn that is not over."""
        self._is_claude_busy = False
        """Claude is in a turn, whether the gateway started it or not."""
        self._reports_idle = False
        """This version reports when Claude has nothing more to do."""
        self._has_reported_plugins = False
        self._queued: list[Event] = []
        """Events for the next `read`."""
        self._steering: dict[str, UserMessageAccepted] = {}
        """uuid → a message for the turn that Claude has not accepted yet."""

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self._subagents.start_process()
        self._main.end_turn()
        self._template.reset()
        self._usage.start_process(is_new_session=start.session_id is None)
        self._awaits_result = self._is_claude_busy = self._reports_idle = self._has_reported_plugins = False

    def start_turn(self, prompt: Prompt) -> None:
        super().start_turn(prompt)
        self._calls.begin_turn(keeps_open=True)
        self._awaits_result = True
        self._last_result = None
        self._model_error = None
        self._steering.clear()

    # -- lines

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events, self._queued = self._queued, []
        lines, at = list(messages), 0
        while at < len(lines):
            texts = self._template.read_texts(lines, at) if self._main.open_text is not None else ()
            if texts:
                events += [TextMessageContent(delta) for delta in texts if delta]
                at += len(texts)
            else:
                events += self._read_one(lines[at])
                at += 1
        return events

    def _read_one(self, message: bytes) -> list[Event]:
        line = parse_message(message)
        open_text = self._main.open_text
        if open_text is not None and (delta := _read_text_delta(line, open_text)) is not None:
            self._template.learn(message, line)
            return [TextMessageContent(delta)]
        events = self._read_line(line) if type(line) is dict else None
        if self._main.open_text != open_text:
            self._template.reset()
        if events is None:
            return [self.to_raw(message.decode("utf-8", "replace") if line is None else line)]
        return events

    def _read_line(self, line: Line) -> Events:
        kind = line.get("type")
        name = f"system/{line.get('subtype')}" if kind == "system" else str(kind)
        if (read := LINE_READERS.get(name)) is not None:
            return read(self, line)
        if name in CUSTOM:
            return self._to_custom(name.removeprefix("system/"), line)
        return [] if name in IGNORED else None

    def _to_custom(self, name: str, line: Line) -> list[Event]:
        value = {key: field for key, field in line.items() if key not in ENVELOPE_FIELDS and field is not None}
        call_id = self._calls.find_id(text(value.pop("tool_use_id", None)))
        if call_id is not None:
            value["toolCallId"] = call_id
        return [Custom(f"claude.{name}", value, self._subagents.open_id(value.pop("agent_id", None)))]

    # -- messages and tool results

    def _find_stream(self, line: Line) -> tuple[MessageStream, list[Event]]:
        return (self._main, []) if line.get("parent_tool_use_id") is None else self._subagents.find_stream(line)

    def _read_stream_event(self, line: Line) -> Events:
        stream, started = self._find_stream(line)
        events = stream.read_event(obj(line.get("event")), line)
        return None if events is None else [*started, *events]

    def _read_assistant(self, line: Line) -> Events:
        message = obj(line.get("message"))
        if line.get("is_api_error_message") is True and line.get("parent_tool_use_id") is None:
            # Usually the result that follows fails with this error. If it does not, the text is sent as a message.
            texts = (text(block.get("text")) or "" for block in items(message.get("content")))
            self._model_error = (non_empty(line.get("error")) or "unknown", "\n".join(texts))
            return []
        stream, started = self._find_stream(line)
        events = stream.read_message(message)
        return None if events is None else [*started, *events]

    def _read_user(self, line: Line) -> Events:
        """Tool results. Other content is a note of Claude Code for its model, or output for a terminal."""
        content = obj(line.get("message")).get("content")
        if isinstance(content, str):
            return _read_terminal_output(line, content)
        results = [block for block in items(content) if block.get("type") == "tool_result"]
        if not results:
            return []
        stream, events = self._find_stream(line)
        for block in results:
            call_id = non_empty(block.get("tool_use_id")) or ""
            metadata = _result_metadata(block, line if len(results) == 1 else {})
            result = stream.read_result(call_id, block, metadata)
            if result is None:
                return None
            events += [*self._subagents.end_call(call_id), *result]
        return events

    def _read_command_output(self, line: Line) -> Events:
        output, message_id = text(line.get("content")), self._calls.ids.new("output")
        return [TextMessageContent(output, message_id), TextMessageEnd(message_id)] if output else []

    # -- the session

    def _read_init(self, line: Line) -> Events:
        self._is_claude_busy = True
        self._model_error = None
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        layer = turn_layer(line)
        self.handshake_layer |= {key: layer.pop(key) for key in ("identity.version",) if key in layer}
        self.session_layer |= layer
        if COMMANDS not in self.session_layer and (commands := read_command_names(line)):
            self.session_layer[COMMANDS] = commands
        if self._has_reported_plugins:  # every turn repeats these errors
            return []
        self._has_reported_plugins = True
        reasons = (text(error.get("message")) or "it gave no reason" for error in items(line.get("plugin_errors")))
        return [
            self.make_warning("PLUGIN_NOT_LOADED", f"Claude Code did not load a plugin: {reason}") for reason in reasons
        ]

    def _read_status(self, line: Line) -> Events:
        events: list[Event] = []
        if mode := non_empty(line.get("permissionMode")):
            self.session_layer |= mode_layer(mode)
            events.append(Custom("session.mode", {"mode": mode}))
        if line.get("status") == "compacting" or non_empty(line.get("compact_result")):
            events += self._to_custom("status", line)
        return events  # the status `requesting` needs no event: the model's answer follows

    def _read_commands(self, line: Line) -> Events:
        commands = read_commands(line.get("commands"))
        self.session_layer[COMMANDS] = commands
        return [Custom("session.commands", {"commands": commands})]

    def _read_compaction(self, line: Line) -> Events:
        metadata = obj(line.get("compact_metadata"))
        keys = ("trigger", "pre_tokens", "post_tokens", "duration_ms")
        return [Custom("claude.compact_boundary", {key: metadata[key] for key in keys if key in metadata})]

    # -- the end of the turn

    def _read_result(self, line: Line) -> Events:
        self._main.end_turn()
        self._is_claude_busy = False
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        events: list[Event] = [*self._usage.read_result(line, non_empty(self.session_layer.get(MODEL)))]
        if not self.is_busy:
            if not self.is_ready and (failure := read_failure(line, None)) is not None:
                self.failure = AgentFault(failure.message, code=failure.code)
            return events
        if self._awaits_result and not self._answers_prompt(line):
            return events
        self._awaits_result = False
        self._last_result = line
        if self._steering and not self.is_cancelled:
            return [*events, *self._pass_result(line)]
        return events if self._continues(line) else [*events, *self._finish_turn()]

    def _pass_result(self, line: Line) -> list[Event]:
        """A steering message waits. Claude starts another turn for it at once, however this one ended."""
        failure = None if is_aborted(line) else read_failure(line, self._model_error[0] if self._model_error else None)
        self._model_error = None
        return [] if failure is None else [self.make_warning(failure.code, failure.message)]

    def _answers_prompt(self, line: Line) -> bool:
        """The result ends the turn of the prompt. Turns that Claude started on its own name another origin."""
        return obj(line.get("origin")).get("kind") in (None, "human")

    def _continues(self, line: Line) -> bool:
        """The turn goes on after this result: in the background, or with a steering message."""
        if self._steering and not self.is_cancelled:
            return True
        if self.is_cancelled or line.get("is_error") is True:
            return False
        return bool(self._subagents.background) or (self._reports_idle and "origin" in line)

    def _read_state(self, line: Line) -> Events:
        self._reports_idle = True
        is_over = line.get("state") == "idle" and self.is_busy and self._last_result is not None and not self._steering
        return self._finish_turn() if is_over else []

    def _finish_turn(self) -> list[Event]:
        """End the turn as the newest result says."""
        line, self._last_result = self._last_result or {}, None
        self._steering.clear()
        events: list[Event] = [*self._usage.take_cost()]
        self._subagents.end_turn()
        if is_aborted(line):
            self.is_cancelled = True
        error_name, error_text = self._model_error or (None, "")
        failure = None if self.is_cancelled else read_failure(line, error_name)
        if failure is not None:
            return [*events, *self.fail_turn(failure)]
        if error_text and not self.is_cancelled:
            events.append(TextMessageContent(error_text, self._calls.ids.new("error")))
        return [*events, *self.end_turn(read_stop_reason(line), line.get("structured_output"))]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """The process has ended. A result may have come before; a missing session is reported on stderr only."""
        events = self._finish_turn() if self.is_busy and self._last_result is not None else []
        events += super().on_process_exit(exit_code, stderr)
        if SESSION_NOT_FOUND_TEXT not in stderr:
            return events
        fault = AgentFault(stderr.strip().splitlines()[-1], code="SESSION_NOT_FOUND")
        self.failure = self.failure or fault
        if not self.is_busy:
            return events
        return [*events, *self.fail_turn(TurnFailed(fault.detail, fault.code))]


def _read_text_delta(line: Any, open_text: int) -> str | None:
    """The text of a line that continues the open text block, as nearly all lines do. None: any other line."""
    try:
        event = line["event"]
        delta = event["delta"]
        if delta["type"] != "text_delta" or event["index"] != open_text or line["parent_tool_use_id"] is not None:
            return None
        content = delta["text"]
        is_delta = line["type"] == "stream_event" and event["type"] == "content_block_delta" and type(content) is str
        return content if is_delta and content else None
    except (KeyError, TypeError, IndexError):
        return None


def _read_terminal_output(line: Line, content: str) -> list[Event]:
    """The output of one of Claude Code's own commands, such as `/model`."""
    start_tag, end_tag = COMMAND_OUTPUT_TAGS
    if line.get("isReplay") is not True or not content.startswith(start_tag):
        return []
    output = content.removeprefix(start_tag).removesuffix(end_tag).strip()
    return [Custom("claude.command_output", {"text": output})] if output else []


def _result_metadata(block: Line, line: Line) -> dict[str, Any] | None:
    metadata: dict[str, Any] = {"isError": True} if block.get("is_error") is True else {}
    for meta in items(line.get("tool_result_meta")):
        if decision := obj(meta.get("permission_decision")):
            metadata["decision"] = decision
    if structured := if_small(obj(line.get("tool_use_result")), MAX_STRUCTURED_RESULT_CHARS):
        metadata["result"] = structured
    return {"claude": metadata} if metadata else None


LINE_READERS: dict[str, Callable[[ClaudeReader, Line], Events]] = {
    "stream_event": ClaudeReader._read_stream_event,
    "assistant": ClaudeReader._read_assistant,
    "user": ClaudeReader._read_user,
    "result": ClaudeReader._read_result,
    "system/init": ClaudeReader._read_init,
    "system/status": ClaudeReader._read_status,
    "system/commands_changed": ClaudeReader._read_commands,
    "system/compact_boundary": ClaudeReader._read_compaction,
    "system/local_command_output": ClaudeReader._read_command_output,
    "system/session_state_changed": ClaudeReader._read_state,
    "system/background_tasks_changed": lambda reader, line: reader._subagents.read_background(line),
    **{f"system/{name}": lambda reader, line: reader._subagents.read_task(line) for name in TASK_LINES},
}
