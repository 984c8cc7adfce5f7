"""A run, shown to a person as it goes: AG-UI events in, words on a console out.

Text as it comes, set as Markdown, thinking dimmed, tool calls and their results shortened, plans, warnings, and at the
end what it took. It asks nothing and knows nothing of HTTP; how the words are set is decided here alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from gateway.cli.chat.tool_calls import Calls, arguments_shown, shortened
from gateway.cli.output.markdown import StreamingMarkdown
from gateway.cli.output.plans import Plans
from gateway.cli.output.terminal import harmless
from gateway.cli.output.tool_output import Outputs, diff_lines
from gateway.cli.output.usage import UsageTotal

Event = dict[str, Any]

RESULT_LINES = 3
THINKING, TOOL, QUIET, WARNING, ERROR = "dim italic", "cyan", "dim", "yellow", "red"


class RichView:
    """`whole`: nothing is shortened or left out."""

    def __init__(self, console: Console, calls: Calls, *, whole: bool = False) -> None:
        self._console, self._calls, self._whole = console, calls, whole
        self._names: dict[str, str] = {}
        self._block: tuple[str, ...] = ()
        self._fresh = True
        self._last_call = ""
        self._plans = Plans()
        self._outputs = Outputs(whole=whole)
        self._bill = UsageTotal()
        self._flow = StreamingMarkdown()
        self._sets = console.color_system is not None
        """Without styles the marks are all that is left of them."""
        self._began = time.monotonic()

    def feed(self, event: Event) -> None:
        if (handler := HANDLERS.get(event["type"])) is not None:
            handler(self, event)
        elif self._whole and event["type"] in ("CUSTOM", "RAW", "STATE_SNAPSHOT", "STATE_DELTA"):
            self._line(event, shortened(str(event), 1000), QUIET)

    def close(self) -> None:
        """The last line: what it took."""
        self._end_text()
        self._end_line()
        seconds = time.monotonic() - self._began
        self._console.print(Text(" · ".join([*self._bill.words(), f"{seconds:.1f} s"]), QUIET))

    def tell(self, words: str) -> None:
        """Something that is not the agent's."""
        self._end_text()
        self._end_line()
        self._console.print(Text(words, QUIET))

    # -- words

    def _text(self, event: Event) -> None:
        self._begin("text", event, event["messageId"])
        for text, style in self._flow.feed(event["delta"]) if self._sets else [(event["delta"], "")]:
            self._write(text, style)

    def _thinking(self, event: Event) -> None:
        self._begin("thinking", event, event["messageId"])
        self._write(event["delta"], THINKING)

    # -- tools

    def _call(self, event: Event) -> None:
        call = self._calls.get(event["toolCallId"])
        if call is None:
            return
        self._begin("tools", event)
        most = 10_000 if self._whole else max(40, self._console.width - len(call.name) - 6)
        self._write("● ", TOOL)
        self._write(call.name, f"bold {TOOL}")
        self._write(f" {arguments_shown(call, most)}".rstrip() + "\n", QUIET)
        self._last_call = event["toolCallId"]

    def _result(self, event: Event) -> None:
        self._begin("tools", event)
        call = self._calls.get(event["toolCallId"])
        named = f"{call.name}: " if call is not None and event["toolCallId"] != self._last_call else ""
        if diffs := diff_lines(event, whole=self._whole):
            return self._diffs(diffs)
        if self._outputs.shown(event["toolCallId"]):
            return self._printed(self._outputs.rest(event["toolCallId"]))
        lines = content_text(event["content"]).strip("\n").splitlines() or ["(nothing)"]
        lines[0] = named + lines[0]
        for number, line in enumerate(lines if self._whole else self._cut(lines)):
            self._write(f"{'    ' if number else '  └ '}{line}\n", QUIET)
        return None

    def _diffs(self, lines: list[tuple[str, str]]) -> None:
        for number, (line, style) in enumerate(lines):
            self._write("    " if number else "  └ ", QUIET)
            self._write(f"{line}\n", style)

    def _printed(self, lines: list[str]) -> None:
        """What a command says, below its call."""
        for line in lines:
            self._write(f"  │ {line}\n", QUIET)

    def _cut(self, lines: list[str]) -> list[str]:
        most, more = max(40, self._console.width - 5), len(lines) - RESULT_LINES
        left_out = [f"… {more} more line{'s' if more > 1 else ''}"] if more > 0 else []
        return [shortened(line, most) for line in lines[:RESULT_LINES]] + left_out

    # -- beside the conversation

    def _activity(self, event: Event) -> None:
        for line in self._plans.feed(event):
            self._line(event, line, QUIET)
        if lines := self._outputs.feed(event):
            self._begin("tools", event)
            self._printed(lines)

    def _subagent(self, event: Event) -> None:
        self._names[event["subagentRunId"]] = event["name"]
        self._line(event, f"{event['name']} begins", QUIET)

    def _subagent_broke(self, event: Event) -> None:
        self._line(event, event["message"], ERROR)

    def _step(self, event: Event) -> None:
        self._line(event, f"· {event['stepName']}", QUIET)

    def _custom(self, event: Event) -> None:
        self._bill.feed(event)
        if event["name"] == "gateway.warning":
            self._line(event, f"! {event['value'].get('message', event['value'])}", WARNING)
        elif self._whole:
            self._line(event, shortened(str(event["value"]), 1000), QUIET)

    def _ended(self, event: Event) -> None:
        self._bill.feed(event)
        match event:
            case {"type": "RUN_ERROR", "message": message}:
                self._line(event, f"✗ {message}", ERROR)
            case {"outcome": {"type": "cancelled"}}:
                self._line(event, "cancelled", WARNING)
            case {"result": {"stopReason": str(reason)}}:
                self._line(event, f"it stopped: {reason}", WARNING)
            case _:
                self._end_text()
                self._end_line()

    # -- the console

    def _line(self, event: Event, line: str, style: str) -> None:
        self._begin("notes", event)
        self._write(f"{line}\n", style)

    def _begin(self, kind: str, event: Event, part: str = "") -> None:
        """Each kind of thing, each message and each helper begins on a line of its own; paragraphs stand apart."""
        lane = event.get("subagentRunId", "")
        block = (kind, lane, part)
        if block == self._block:
            return
        self._end_text()
        self._end_line()
        if self._block and (kind != self._block[0] or part != self._block[2]):
            self._console.print()
        self._block = block
        if lane and kind in ("text", "thinking"):
            self._write(f"{self._names.get(lane, 'helper')}: ", TOOL)

    def _end_text(self) -> None:
        """What was held back of it, until more would have come."""
        pieces, self._flow = self._flow.close(), StreamingMarkdown()
        for text, style in pieces:
            self._write(text, style)

    def _write(self, text: str, style: str) -> None:
        if text:
            self._console.print(Text(harmless(text), style), end="")
            self._fresh = text.endswith("\n")

    def _end_line(self) -> None:
        if not self._fresh:
            self._console.print()
            self._fresh = True


def content_text(content: Any) -> str:
    """A tool's result: text, or AG-UI's parts, of which media are only named."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts)


HANDLERS: dict[str, Callable[[RichView, Event], None]] = {
    "TEXT_MESSAGE_CONTENT": RichView._text,
    "REASONING_MESSAGE_CONTENT": RichView._thinking,
    "TOOL_CALL_END": RichView._call,
    "TOOL_CALL_RESULT": RichView._result,
    "ACTIVITY_SNAPSHOT": RichView._activity,
    "ACTIVITY_DELTA": RichView._activity,
    "SUBAGENT_STARTED": RichView._subagent,
    "SUBAGENT_ERROR": RichView._subagent_broke,
    "STEP_STARTED": RichView._step,
    "CUSTOM": RichView._custom,
    "RUN_FINISHED": RichView._ended,
    "RUN_ERROR": RichView._ended,
}
"""What is not here needs no showing: starts and ends of what is seen anyway, and state, which is the frontend's."""
