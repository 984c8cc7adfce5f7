"""What a command prints while it runs → an activity whose `output` only grows.

In: pieces of output, from whoever has them: vendors' `_meta` on tool calls, terminals of version 2, the gateway's own.
Out: an activity per terminal, and the text for the tool's result. LiveOutput is a list of pieces: JSON Patch can append
to a list, but not to a text. The end of the text is kept, bounded; the activity has it all.
"""

from __future__ import annotations

from base64 import b64decode
from codecs import getincrementaldecoder
from typing import Any

from gateway.events import Event
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import non_empty, obj, present, text

_decoder = getincrementaldecoder("utf-8")


class Terminals:
    """All terminals of one lane, by their own ids. An id that nobody created is no error: agents make up their own."""

    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix, self._subagent = prefix, subagent
        self._known: dict[str, LiveOutput] = {}
        self._decoders: dict[str, Any] = {}
        self._links: dict[str, str] = {}

    def link(self, terminal_id: Any, tool_call_id: str) -> None:
        """A tool call shows this terminal; the activity says so when it next says anything."""
        if isinstance(terminal_id, str):
            self._links[terminal_id] = tool_call_id

    def exit(self, terminal_id: Any) -> dict[str, Any]:
        known = self._known.get(terminal_id) if isinstance(terminal_id, str) else None
        fields = {} if known is None else known.fields
        return {key: fields[key] for key in ("exitCode", "signal") if key in fields}

    def text(self, terminal_id: str) -> str | None:
        known = self._known.get(terminal_id)
        return None if known is None else known.text

    def about(self, terminal_id: str, **about: Any) -> list[Event]:
        linked = {"toolCallId": self._links.get(terminal_id)}
        return self._of(terminal_id).set_fields(**linked | about)

    def append(self, terminal_id: str, words: str) -> list[Event]:
        return self._of(terminal_id).append(words)

    def meta(self, told: Any, tool_call_id: str) -> list[Event]:
        """What some agents carry in a tool call's `_meta`: the only part of it that is handed on."""
        found: list[Event] = []
        for key in ("terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"):
            told_here = obj(obj(told).get(key))
            terminal_id = non_empty(told_here.get("terminal_id"))
            if terminal_id is None:
                continue
            match key:
                case "terminal_info":
                    found += self.about(terminal_id, toolCallId=tool_call_id, cwd=text(told_here.get("cwd")))
                case "terminal_exit":
                    found += self.about(terminal_id, **exit_status(told_here, "exit_code"))
                case _:
                    found += self.append(terminal_id, text(told_here.get("data")) or "")
        return found

    def update(self, update: dict[str, Any]) -> list[Event] | None:
        """`terminal_update` of version 2. None: no id."""
        terminal_id = non_empty(update.get("terminalId"))
        if terminal_id is None:
            return None
        about = {key: text(update.get(key)) for key in ("command", "cwd")}
        found = self.about(terminal_id, **about, **exit_status(obj(update.get("exitStatus")), "exitCode"))
        if isinstance(update.get("output"), dict):
            self._decoders.pop(terminal_id, None)
            found += self._of(terminal_id).replace(self._decoded(terminal_id, update["output"].get("data")))
        return found

    def chunk(self, update: dict[str, Any]) -> list[Event] | None:
        """`terminal_output_chunk` of version 2. None: no id."""
        terminal_id = non_empty(update.get("terminalId"))
        if terminal_id is None:
            return None
        return self.append(terminal_id, self._decoded(terminal_id, update.get("data")))

    def _of(self, terminal_id: str) -> LiveOutput:
        if terminal_id not in self._known:
            place = f"{self._prefix}:terminal:{terminal_id}"
            self._known[terminal_id] = LiveOutput(place, "terminal", self._subagent, {"terminalId": terminal_id})
        return self._known[terminal_id]

    def _decoded(self, terminal_id: str, data: Any) -> str:
        """Each piece is base64 by itself, but may end inside a character."""
        try:
            octets = b64decode(text(data) or "")
        except ValueError:
            return ""
        decoder = self._decoders.setdefault(terminal_id, _decoder("replace"))
        return str(decoder.decode(octets))


def exit_status(told: dict[str, Any], code_key: str) -> dict[str, Any]:
    code = told.get(code_key)
    whole = isinstance(code, int) and not isinstance(code, bool)
    return present({"exitCode": code if whole else None, "signal": text(told.get("signal"))})
