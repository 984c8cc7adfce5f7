"""What a command prints while it runs → an activity whose `output` only grows.

In: pieces of output, from whoever has them: vendors' `_meta` on tool calls, terminals of version 2, the gateway's own.
Out: an activity per terminal, and the text for the tool's result. Output is a list of pieces: JSON Patch can append
to a list, but not to a text. The end of the text is kept, bounded; the activity has it all.
"""

from __future__ import annotations

from base64 import b64decode
from codecs import getincrementaldecoder
from typing import Any

from gateway.events import ActivityDelta, ActivitySnapshot, Event
from gateway.wire.acp.json_patch import difference
from gateway.wire.fields import non_empty, obj, present, text

KEPT_CHARS = 200_000

_decoder = getincrementaldecoder("utf-8")


class Output:
    """One growing activity: `about` is what is known of it, `output` what it has printed."""

    def __init__(self, place: str, kind: str, subagent: str | None, about: dict[str, Any]) -> None:
        self._place, self._kind, self._subagent = place, kind, subagent
        self.about = about
        self._shown = False
        self._pieces: list[str] = []
        self._size = self._lost = 0

    @property
    def text(self) -> str:
        told = "".join(self._pieces)
        return f"[the first {self._lost} characters are left out]\n{told}" if self._lost else told

    def know(self, **about: Any) -> list[Event]:
        """New facts about it, beside its output."""
        before, self.about = self.about, self.about | present(about)
        return self._tell(difference(before, self.about))

    def append(self, words: str) -> list[Event]:
        if not words:
            return self._tell([])
        self._keep(words)
        return self._tell([{"op": "add", "path": "/output/-", "value": words}])

    def replace(self, words: str) -> list[Event]:
        """The whole output anew: only what is new of it, if it goes on from what is known."""
        known = "".join(self._pieces)
        if self._shown and not self._lost and words.startswith(known):
            return self.append(words[len(known) :])
        self._pieces, self._size, self._lost = [], 0, 0
        self._keep(words)
        return self._tell([{"op": "replace", "path": "/output", "value": [words] if words else []}])

    def _tell(self, patch: list[dict[str, Any]]) -> list[Event]:
        if not self._shown:
            self._shown = True
            content = {**self.about, "output": [piece for piece in self._pieces if piece]}
            return [ActivitySnapshot(self._place, self._kind, content, subagent=self._subagent)]
        return [ActivityDelta(self._place, self._kind, patch, subagent=self._subagent)] if patch else []

    def _keep(self, words: str) -> None:
        self._pieces.append(words)
        self._size += len(words)
        if self._size > 2 * KEPT_CHARS:  # joined seldom: cutting at every piece would copy the text every time
            told = "".join(self._pieces)
            self._lost += len(told) - KEPT_CHARS
            self._pieces, self._size = [told[-KEPT_CHARS:]], KEPT_CHARS


class Terminals:
    """All terminals of one lane, by their own ids. An id that nobody created is no error: agents make up their own."""

    def __init__(self, prefix: str, subagent: str | None) -> None:
        self._prefix, self._subagent = prefix, subagent
        self._known: dict[str, Output] = {}
        self._decoders: dict[str, Any] = {}
        self._links: dict[str, str] = {}

    def link(self, terminal_id: Any, tool_call_id: str) -> None:
        """A tool call shows this terminal; the activity says so when it next says anything."""
        if isinstance(terminal_id, str):
            self._links[terminal_id] = tool_call_id

    def exit(self, terminal_id: Any) -> dict[str, Any]:
        known = self._known.get(terminal_id) if isinstance(terminal_id, str) else None
        return {} if known is None else {key: known.about[key] for key in ("exitCode", "signal") if key in known.about}

    def text(self, terminal_id: str) -> str | None:
        known = self._known.get(terminal_id)
        return None if known is None else known.text

    def about(self, terminal_id: str, **about: Any) -> list[Event]:
        linked = {"toolCallId": self._links.get(terminal_id)}
        return self._of(terminal_id).know(**linked | about)

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

    def _of(self, terminal_id: str) -> Output:
        if terminal_id not in self._known:
            place = f"{self._prefix}:terminal:{terminal_id}"
            self._known[terminal_id] = Output(place, "terminal", self._subagent, {"terminalId": terminal_id})
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
