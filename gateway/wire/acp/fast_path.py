"""Lines of text chunks that differ in their text alone: nearly all that an agent sends while it talks.

In: a batch of lines. Out: the same in order, as texts where a line is the last one but for its text, else as lines.
To parse such a line whole takes ten times as long as to parse its text; the texts of a batch are parsed in one call.

A template is believed only after a probe: with another text in the same place, the line must parse to the same message
with that text. A line that begins and ends like the template may still hold more than a text between: then what is
between is not the inside of one JSON string, the batch parses to another number of texts, and goes the long way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.wire.lines import TooLong

MARK = b'"agent_message_chunk"'
PROBE = "@probe@"
FEW = 4
"""A shorter run of such lines is not worth the look."""


@dataclass(frozen=True, slots=True)
class Texts:
    """What so many lines say: `update` with each of the texts in turn."""

    session_id: str
    update: dict[str, Any]
    texts: list[str]

    def updates(self) -> list[dict[str, Any]]:
        return [{**self.update, "content": {"type": "text", "text": text}} for text in self.texts]


class Template:
    def __init__(self) -> None:
        self._before = self._after = b""
        self._session_id = ""
        self._update: dict[str, Any] = {}

    def split(self, lines: list[bytes | TooLong]) -> Iterator[Texts | list[bytes | TooLong]]:
        """The lines in order. Learns from what goes the long way."""
        plain: list[bytes | TooLong] = []
        for run, alike in self._runs(lines):
            texts = self._texts(run) if alike else None
            if texts is None:
                plain += run
                continue
            if plain:
                yield plain
                plain = []
            yield Texts(self._session_id, self._update, texts)
        if plain:
            yield plain
            self._learn(plain[-1])

    def _runs(self, lines: list[bytes | TooLong]) -> Iterator[tuple[list[bytes | TooLong], bool]]:
        before, after = self._before, self._after
        if not before:
            yield lines, False
            return
        start, alike = 0, False
        for at, line in enumerate(lines):
            fits = type(line) is bytes and line.startswith(before) and line.endswith(after)
            if fits is not alike:
                if at > start:
                    yield lines[start:at], alike
                start, alike = at, fits
        yield lines[start:], alike

    def _texts(self, run: list[Any]) -> list[str] | None:
        if len(run) < FEW:
            return None
        first, last = len(self._before), -len(self._after)
        if min(map(len, run)) < first - last:
            return None
        try:
            texts: list[str] = orjson.loads(b'["%b"]' % b'","'.join([line[first:last] for line in run]))
        except orjson.JSONDecodeError:
            return None
        return texts if len(texts) == len(run) else None

    def _learn(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong) or MARK not in line or (message := _chunk(line)) is None:
            return
        update = message["params"]["update"]
        text = update["content"]["text"]
        written = orjson.dumps(text)[1:-1]
        at = line.rfind(written)
        before, after = line[:at], line[at + len(written) :]
        if at < 0 or not after or _chunk(before + PROBE.encode() + after) != _with(message, PROBE):
            return
        self._before, self._after = before, after
        self._session_id, self._update = message["params"]["sessionId"], update


def _chunk(line: bytes) -> dict[str, Any] | None:
    """The message, if it is a text chunk and nothing else."""
    try:
        message = orjson.loads(line)
        params = message["params"]
        update, content = params["update"], params["update"]["content"]
        plain = (
            message["method"] == "session/update"
            and "id" not in message
            and type(params["sessionId"]) is str
            and update["sessionUpdate"] == "agent_message_chunk"
            and update.keys() <= {"sessionUpdate", "content", "messageId"}
            and content["type"] == "text"
            and content.keys() == {"type", "text"}
            and type(content["text"]) is str
            and bool(content["text"])
        )
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        return None
    return message if plain else None


def _with(message: dict[str, Any], text: str) -> dict[str, Any]:
    params = message["params"]
    content = {**params["update"]["content"], "text": text}
    return {**message, "params": {**params, "update": {**params["update"], "content": content}}}
