"""A run in a terminal, shown as it goes.

In: AG-UI events. Out: text on a console: messages as Markdown, dimmed reasoning, shortened tool calls and results,
plans, warnings, and at the end tokens, cost and time. Never: a question to the user, an HTTP request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.chat.tool_calls import ToolCalls, format_arguments, truncate
from gateway.cli.output.markdown import StreamingMarkdown
from gateway.cli.output.plans import Plans
from gateway.cli.output.terminal import printable
from gateway.cli.output.tool_output import ToolOutputs, diff_lines
from gateway.cli.output.usage import UsageTotal

Event = dict[str, Any]

MAX_RESULT_LINES = 3
MAX_EVENT_CHARS = 1000
MAX_VERBOSE_ARGUMENT_CHARS = 10_000
MIN_LINE_CHARS = 40

REASONING_STYLE = "dim italic"
TOOL_STYLE = "cyan"
QUIET_STYLE = "dim"
WARNING_STYLE = "yellow"
ERROR_STYLE = "red"


class RichView:
    """`verbose`: nothing is shortened or left out."""

    def __init__(self, console: Console, calls: ToolCalls, *, verbose: bool = False) -> None:
        self._console = console
        self._calls = calls
        self._verbose = verbose
        self._subagent_names: dict[str, str] = {}
        self._block: tuple[str, ...] = ()
        self._is_line_start = True
        self._last_call_id = ""
        self._plans = Plans()
        self._outputs = ToolOutputs(verbose=verbose)
        self._usage = UsageTotal()
        self._markdown = StreamingMarkdown()
        self._renders_markdown = console.color_system is not None
        """Without styles, Markdown is printed as it is: its marks are all that shows the emphasis."""
        self._began = time.monotonic()

    def feed(self, event: Event) -> None:
        if (handler := HANDLERS.get(event["type"])) is not None:
            handler(self, event)
        elif self._verbose and event["type"] in ("CUSTOM", "RAW", "STATE_SNAPSHOT", "STATE_DELTA"):
            self._line(event, truncate(str(event), MAX_EVENT_CHARS), QUIET_STYLE)

    def close(self) -> None:
        """Prints the last line: tokens, cost and time."""
        self._end_text()
        self._end_line()
        seconds = time.monotonic() - self._began
        self._console.print(Text(" · ".join([*self._usage.format(), f"{seconds:.1f} s"]), QUIET_STYLE))

    def print_note(self, text: str) -> None:
        """Prints a line that is not from the agent."""
        self._end_text()
        self._end_line()
        self._console.print(Text(text, QUIET_STYLE))

    # -- text

    def _text(self, event: Event) -> None:
        self._begin("text", event, event["messageId"])
        for text, style in self._markdown.feed(event["delta"]) if self._renders_markdown else [(event["delta"], "")]:
            self._write(text, style)

    def _reasoning(self, event: Event) -> None:
        self._begin("reasoning", event, event["messageId"])
        self._write(event["delta"], REASONING_STYLE)

    # -- tools

    def _call(self, event: Event) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is None:
            return
        self._begin("tools", event)
        available = max(MIN_LINE_CHARS, self._console.width - len(call.name) - 6)
        max_chars = MAX_VERBOSE_ARGUMENT_CHARS if self._verbose else available
        self._write("● ", TOOL_STYLE)
        self._write(call.name, f"bold {TOOL_STYLE}")
        self._write(f" {format_arguments(call, max_chars)}".rstrip() + "\n", QUIET_STYLE)
        self._last_call_id = event["toolCallId"]

    def _result(self, event: Event) -> None:
        self._begin("tools", event)
        call = self._calls.get(event["toolCallId"])
        prefix = f"{call.name}: " if call is not None and event["toolCallId"] != self._last_call_id else ""
        if diffs := diff_lines(event, verbose=self._verbose):
            return self._print_diffs(diffs)
        if self._outputs.has_printed(event["toolCallId"]):
            return self._print_output(self._outputs.finish(event["toolCallId"]))
        lines = content_text(event["content"]).strip("\n").splitlines() or ["(no output)"]
        lines[0] = prefix + lines[0]
        for number, line in enumerate(lines if self._verbose else self._shorten(lines)):
            self._write(f"{'    ' if number else '  └ '}{line}\n", QUIET_STYLE)
        return None

    def _print_diffs(self, lines: list[tuple[str, str]]) -> None:
        for number, (line, style) in enumerate(lines):
            self._write("    " if number else "  └ ", QUIET_STYLE)
            self._write(f"{line}\n", style)

    def _print_output(self, lines: list[str]) -> None:
        """The output of a command, below its call."""
        for line in lines:
            self._write(f"  │ {line}\n", QUIET_STYLE)

    def _shorten(self, lines: list[str]) -> list[str]:
        max_chars = max(MIN_LINE_CHARS, self._console.width - 5)
        more = len(lines) - MAX_RESULT_LINES
        omitted = [f"… {more} more line{'s' if more > 1 else ''}"] if more > 0 else []
        return [truncate(line, max_chars) for line in lines[:MAX_RESULT_LINES]] + omitted

    # -- beside the conversation

    def _activity(self, event: Event) -> None:
        for line in self._plans.feed(event):
            self._line(event, line, QUIET_STYLE)
        if lines := self._outputs.feed(event):
            self._begin("tools", event)
            self._print_output(lines)

    def _subagent(self, event: Event) -> None:
        self._subagent_names[event["subagentRunId"]] = event["name"]
        self._line(event, f"{event['name']} started", QUIET_STYLE)

    def _subagent_failed(self, event: Event) -> None:
        self._line(event, event["message"], ERROR_STYLE)

    def _step(self, event: Event) -> None:
        self._line(event, f"· {event['stepName']}", QUIET_STYLE)

    def _custom(self, event: Event) -> None:
        self._usage.feed(event)
        if event["name"] == "gateway.warning":
            self._line(event, f"! {event['value'].get('message', event['value'])}", WARNING_STYLE)
        elif self._verbose:
            self._line(event, truncate(str(event["value"]), MAX_EVENT_CHARS), QUIET_STYLE)

    def _run_ended(self, event: Event) -> None:
        self._usage.feed(event)
        match event:
            case {"type": "RUN_ERROR", "message": message}:
                self._line(event, f"✗ {message}", ERROR_STYLE)
            case {"outcome": {"type": "cancelled"}}:
                self._line(event, "Cancelled", WARNING_STYLE)
            case {"result": {"stopReason": str(reason)}}:
                self._line(event, f"Stopped: {reason}", WARNING_STYLE)
            case _:
                self._end_text()
                self._end_line()

    # -- the console

    def _line(self, event: Event, line: str, style: str) -> None:
        self._begin("notes", event)
        self._write(f"{line}\n", style)

    def _begin(self, kind: str, event: Event, part: str = "") -> None:
        """Each kind of output, message and subagent begins on a new line; kinds and messages are separated by an empty
        one."""
        subagent = event.get("subagentRunId", "")
        block = (kind, subagent, part)
        if block == self._block:
            return
        self._end_text()
        self._end_line()
        if self._block and (kind != self._block[0] or part != self._block[2]):
            self._console.print()
        self._block = block
        if subagent and kind in ("text", "reasoning"):
            self._write(f"{self._subagent_names.get(subagent, 'subagent')}: ", TOOL_STYLE)

    def _end_text(self) -> None:
        """Prints the Markdown that waited for more text."""
        pieces = self._markdown.close()
        self._markdown = StreamingMarkdown()
        for text, style in pieces:
            self._write(text, style)

    def _write(self, text: str, style: str) -> None:
        if text:
            self._console.print(Text(printable(text), style), end="")
            self._is_line_start = text.endswith("\n")

    def _end_line(self) -> None:
        if not self._is_line_start:
            self._console.print()
            self._is_line_start = True


def content_text(content: Any) -> str:
    """The content of a tool result as text. Of parts that are not text only the type is shown."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts)


HANDLERS: dict[str, Callable[[RichView, Event], None]] = {
    "TEXT_MESSAGE_CONTENT": RichView._text,
    "REASONING_MESSAGE_CONTENT": RichView._reasoning,
    "TOOL_CALL_END": RichView._call,
    "TOOL_CALL_RESULT": RichView._result,
    "ACTIVITY_SNAPSHOT": RichView._activity,
    "ACTIVITY_DELTA": RichView._activity,
    "SUBAGENT_STARTED": RichView._subagent,
    "SUBAGENT_ERROR": RichView._subagent_failed,
    "STEP_STARTED": RichView._step,
    "CUSTOM": RichView._custom,
    "RUN_FINISHED": RichView._run_ended,
    "RUN_ERROR": RichView._run_ended,
}
"""Other events are not shown: starts and ends of what is visible anyway, and state, which is for frontends."""
