"""Fast path for lines of text chunks that differ in their text alone: nearly all that an agent sends while it answers.

In: a batch of lines. Out: the same in order; as texts where a line equals the last one but for its text, else as lines.
To parse such a line takes ten times as long as to parse its text, and the texts of a batch are parsed in one call.

A template is used only after a test: with another text in the same place, the line must parse to the same message with
that text. A line that begins and ends like the template may still hold more than a text between. Then that is not the
inside of one JSON string, the batch parses to another number of texts, and its lines are parsed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.wire.lines import TooLong

MARK = b'"agent_message_chunk"'
PROBE = "@probe@"
MIN_RUN_LINES = 4
"""For a shorter run of such lines the fast path gains nothing."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Many lines: `update` with each of the texts."""

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
        """The lines in order. A line that does not fit becomes the next template."""
        plain: list[bytes | TooLong] = []
        for run, fits_template in self._split_runs(lines):
            texts = self._parse_texts(run) if fits_template else None
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

    def _split_runs(self, lines: list[bytes | TooLong]) -> Iterator[tuple[list[bytes | TooLong], bool]]:
        before = self._before
        after = self._after
        if not before:
            yield lines, False
            return
        start = 0
        run_fits = False
        for index, line in enumerate(lines):
            fits = type(line) is bytes and line.startswith(before) and line.endswith(after)
            if fits is not run_fits:
                if index > start:
                    yield lines[start:index], run_fits
                start = index
                run_fits = fits
        yield lines[start:], run_fits

    def _parse_texts(self, run: list[Any]) -> list[str] | None:
        if len(run) < MIN_RUN_LINES:
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
        if isinstance(line, TooLong) or MARK not in line or (message := _parse_chunk(line)) is None:
            return
        update = message["params"]["update"]
        text = update["content"]["text"]
        encoded = orjson.dumps(text)[1:-1]
        at = line.rfind(encoded)
        before, after = line[:at], line[at + len(encoded) :]
        if at < 0 or not after or _parse_chunk(before + PROBE.encode() + after) != _with_text(message, PROBE):
            return
        self._before = before
        self._after = after
        self._session_id = message["params"]["sessionId"]
        self._update = update


def _parse_chunk(line: bytes) -> dict[str, Any] | None:
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


def _with_text(message: dict[str, Any], text: str) -> dict[str, Any]:
    params = message["params"]
    content = {**params["update"]["content"], "text": text}
    return {**message, "params": {**params, "update": {**params["update"], "content": content}}}
