"""Tool calls of one session → start, arguments, end, live output, result.

In: the data of `assistant.tool_call_delta`, of a message's `toolRequests`, and of the `tool.*` events, whichever names
a call first. Out: events, each call closed once. Ids are a provider's: some count anew in every answer, so one that
comes again after its result is another call. Free text in place of arguments (`apply_patch`) is wrapped as
`{"input": …}`: AG-UI's arguments are JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.events import Custom, Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.wire.acp.content import to_part
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

DETAIL_CHARS = 20_000
"""A longer text for the timeline (a diff) is left out: the result itself is there."""
PAST_CALLS = 200
"""Of turns before: a command in the background goes on printing."""


@dataclass(slots=True)
class Call:
    id: str
    agents_id: str
    name: str
    subagent: str | None
    free: bool = False
    """Its input is free text."""
    given: list[str] = field(default_factory=list)
    """What was streamed of the input."""
    ended: bool = False
    answered: bool = False
    live: LiveOutput | None = None
    prints: str | None = None
    """Which of two events tells its output: the one that came first."""


class Calls:
    def __init__(self, own: Callable[[str], str]) -> None:
        self._own = own
        self._calls: dict[str, Call] = {}
        self._past: dict[str, Call] = {}
        self._times: dict[str, int] = {}
        self.names: dict[str, str] = {}
        """Copilot's names of the client's own tools → theirs."""

    def begin(self) -> None:
        """A new turn."""
        kept = {**self._past, **self._calls}
        self._past = dict(list(kept.items())[-PAST_CALLS:])
        self._calls, self._times = {}, {}

    def known(self, agents_id: Any) -> Call | None:
        if not isinstance(agents_id, str):
            return None
        return self._calls.get(agents_id) or self._past.get(agents_id)

    def streamed(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        """A piece of the input. None: it belongs to no call."""
        agents_id, delta = non_empty(data.get("toolCallId")), text(data.get("inputDelta"))
        if agents_id is None or delta is None:
            return None
        call = self._calls.get(agents_id)
        found: list[Event] = []
        if call is None or call.answered:
            call, found = self._start(agents_id, non_empty(data.get("toolName")), subagent)
            call.free = data.get("toolType") == "custom"
        if call.ended or not delta:
            return found
        call.given.append(delta)
        if call.free:
            delta = ("" if call.given[1:] else '{"input":"') + _escaped(delta)
        return [*found, ToolCallArgs(call.id, delta)]

    def settled(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        """The call as a whole: the input is complete. None: it has no id."""
        agents_id = non_empty(data.get("toolCallId"))
        if agents_id is None:
            return None
        call = self._calls.get(agents_id)
        found: list[Event] = []
        if call is None or call.answered:
            name = non_empty(data.get("toolName")) or non_empty(data.get("name"))
            call, found = self._start(agents_id, name, subagent)
        return [*found, *self._end(call, data)]

    def result(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        agents_id = non_empty(data.get("toolCallId"))
        if agents_id is None:
            return None
        call, found = self.known(agents_id), list[Event]()
        if call is None:
            call, found = self._start(agents_id, None, subagent)
        if call.answered:
            return found
        call.answered = True
        if not call.ended:
            found += self._end(call, {})
        content = _content(data)
        metadata = {"copilot": _about_result(data)}
        return [*found, ToolCallResult(call.id, content, subagent=call.subagent, metadata=metadata)]

    def printed(self, data: dict[str, Any]) -> list[Event] | None:
        """`tool.shell_output`: what is new."""
        return self._print("shell_output", data, text(data.get("text")))

    def printed_so_far(self, data: dict[str, Any]) -> list[Event] | None:
        """`tool.execution_partial_result`: all of it."""
        return self._print("partial_result", data, text(data.get("partialOutput")))

    def progress(self, data: dict[str, Any]) -> list[Event] | None:
        call, words = self.known(data.get("toolCallId")), text(data.get("progressMessage"))
        if call is None or words is None:
            return None
        return [Custom("copilot.progress", {"toolCallId": call.id, "message": words}, subagent=call.subagent)]

    def _print(self, kind: str, data: dict[str, Any], words: str | None) -> list[Event] | None:
        call = self.known(data.get("toolCallId"))
        if call is None or words is None:
            return None
        if not words or call.prints not in (None, kind):
            return []
        call.prints = kind
        if call.live is None:
            call.live = LiveOutput(f"{call.id}:output", "tool_output", call.subagent, {"toolCallId": call.id})
        return call.live.append(words) if kind == "shell_output" else call.live.replace(words)

    def _start(self, agents_id: str, name: str | None, subagent: str | None) -> tuple[Call, list[Event]]:
        times = self._times[agents_id] = self._times.get(agents_id, 0) + 1
        shown = self._own(agents_id if times == 1 else f"{agents_id}.{times}")
        call = self._calls[agents_id] = Call(shown, agents_id, self.names.get(name or "", name or "tool"), subagent)
        return call, [ToolCallStart(call.id, call.name, subagent=subagent)]

    def _end(self, call: Call, data: dict[str, Any]) -> list[Event]:
        if call.ended:
            return []
        call.ended = True
        arguments = data.get("arguments")
        found: list[Event] = []
        about = _about(data)
        if call.free and call.given:
            found.append(ToolCallArgs(call.id, '"}'))
        elif not call.given:
            found.append(ToolCallArgs(call.id, _whole(arguments)))
        elif arguments is not None and not _same("".join(call.given), arguments):
            # What was streamed cannot be taken back; who wants the truth finds it here.
            about["arguments"] = arguments
        return [*found, ToolCallEnd(call.id, {"copilot": about} if about else None)]


def _escaped(words: str) -> str:
    return orjson.dumps(words)[1:-1].decode()


def _whole(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return json_text(arguments)
    return "{}" if arguments is None else json_text({"input": arguments})


def _same(streamed: str, arguments: object) -> bool:
    try:
        read: object = orjson.loads(streamed)
    except orjson.JSONDecodeError:
        read = streamed
    return read == arguments


def _about(data: dict[str, Any]) -> dict[str, Any]:
    """What shows on a call beside its name."""
    return present(
        {
            "title": text(data.get("toolTitle")),
            "intention": text(data.get("intentionSummary")),
            "mcpServer": text(data.get("mcpServerName")),
            "mcpTool": text(data.get("mcpToolName")),
        }
    )


def _content(data: dict[str, Any]) -> str | list[dict[str, Any]]:
    result, error = obj(data.get("result")), obj(data.get("error"))
    words = text(result.get("content")) or text(error.get("message")) or ""
    shown = [part for item in items(result.get("contents")) if item.get("type") != "text" and (part := to_part(item))]
    if not shown:
        return words or ("" if data.get("success") is True else "The agent reports that the call failed.")
    return [*([{"type": "text", "text": words}] if words else []), *shown]


def _about_result(data: dict[str, Any]) -> dict[str, Any]:
    result, error = obj(data.get("result")), obj(data.get("error"))
    detail = text(result.get("detailedContent"))
    if detail == result.get("content") or (detail is not None and len(detail) > DETAIL_CHARS):
        detail = None
    code = obj(data.get("shellExecution")).get("exitCode")
    edits = [present({key: text(edit.get(key)) for key in ("path", "kind")}) for edit in items(data.get("fileEdits"))]
    return present(
        {
            "success": data.get("success") is True,
            "code": text(error.get("code")),
            "exitCode": code if isinstance(code, int) else None,
            "detail": detail,
            "fileEdits": edits,
        }
    )
