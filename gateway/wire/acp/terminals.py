"""Terminals of one agent or subagent in one turn → an activity per terminal, whose `output` grows.

In: pieces of output: from vendors' `_meta` on tool calls, from version 2's terminals, and from the terminals that the
gateway runs for an agent. Out: activities, and the text for a tool's result.
"""

from __future__ import annotations

from base64 import b64decode
from codecs import IncrementalDecoder, getincrementaldecoder
from typing import Any

from gateway.events import Event
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import integer, non_empty, obj, present, text

META_KEYS = ("terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit")

_Utf8Decoder = getincrementaldecoder("utf-8")


class Terminals:
    """By their own ids. An id that was not created before is no error: agents make up their own."""

    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix = prefix
        self._subagent = subagent
        self._outputs: dict[str, LiveOutput] = {}
        self._decoders: dict[str, IncrementalDecoder] = {}
        self._tool_calls: dict[str, str] = {}

    def link(self, terminal_id: Any, tool_call_id: str) -> None:
        """A tool call shows this terminal; the activity's next event names the call."""
        if isinstance(terminal_id, str):
            self._tool_calls[terminal_id] = tool_call_id

    def exit(self, terminal_id: Any) -> dict[str, Any]:
        """`exitCode` and `signal`, if they are known."""
        output = self._outputs.get(terminal_id) if isinstance(terminal_id, str) else None
        fields = {} if output is None else output.fields
        return {key: fields[key] for key in ("exitCode", "signal") if key in fields}

    def text(self, terminal_id: str) -> str | None:
        output = self._outputs.get(terminal_id)
        return None if output is None else output.text

    def set_fields(self, terminal_id: str, **fields: Any) -> list[Event]:
        linked = {"toolCallId": self._tool_calls.get(terminal_id)}
        return self._output(terminal_id).set_fields(**linked | fields)

    def append(self, terminal_id: str, output: str) -> list[Event]:
        return self._output(terminal_id).append(output)

    def read_meta(self, meta: Any, tool_call_id: str) -> list[Event]:
        """The output that some agents carry in a tool call's `_meta`: the only part of it that is handed on."""
        events: list[Event] = []
        for key in META_KEYS:
            terminal = obj(obj(meta).get(key))
            terminal_id = non_empty(terminal.get("terminal_id"))
            if terminal_id is None:
                continue
            match key:
                case "terminal_info":
                    events += self.set_fields(terminal_id, toolCallId=tool_call_id, cwd=text(terminal.get("cwd")))
                case "terminal_exit":
                    events += self.set_fields(terminal_id, **exit_status(terminal, "exit_code"))
                case _:
                    events += self.append(terminal_id, text(terminal.get("data")) or "")
        return events

    def update(self, update: dict[str, Any]) -> list[Event] | None:
        """`terminal_update` of version 2. None: no id."""
        terminal_id = non_empty(update.get("terminalId"))
        if terminal_id is None:
            return None
        fields = {key: text(update.get(key)) for key in ("command", "cwd")}
        events = self.set_fields(terminal_id, **fields, **exit_status(obj(update.get("exitStatus")), "exitCode"))
        if isinstance(update.get("output"), dict):
            self._decoders.pop(terminal_id, None)
            output = self._decode(terminal_id, update["output"].get("data"))
            events += self._output(terminal_id).replace(output)
        return events

    def read_chunk(self, update: dict[str, Any]) -> list[Event] | None:
        """`terminal_output_chunk` of version 2. None: no id."""
        terminal_id = non_empty(update.get("terminalId"))
        if terminal_id is None:
            return None
        return self.append(terminal_id, self._decode(terminal_id, update.get("data")))

    def _output(self, terminal_id: str) -> LiveOutput:
        if terminal_id not in self._outputs:
            activity_id = f"{self._prefix}:terminal:{terminal_id}"
            self._outputs[terminal_id] = LiveOutput(
                activity_id, "terminal", self._subagent, {"terminalId": terminal_id}
            )
        return self._outputs[terminal_id]

    def _decode(self, terminal_id: str, data: Any) -> str:
        """Each piece is base64 by itself, but may end inside a character."""
        try:
            octets = b64decode(text(data) or "")
        except ValueError:
            return ""
        decoder = self._decoders.setdefault(terminal_id, _Utf8Decoder("replace"))
        return decoder.decode(octets)


def exit_status(status: dict[str, Any], code_key: str) -> dict[str, Any]:
    return present({"exitCode": integer(status.get(code_key)), "signal": text(status.get("signal"))})
