"""Lines of text that differ from the last one in their text and uuid alone: nearly all that Claude prints as it talks.

In: a batch of lines, and where to look from. Out: the texts of as many as are such lines. To parse one whole takes four
times as long as to cut its text out; the texts of a batch are then parsed in one call.

A template is believed only after a probe: with another text and uuid in the same places, the line must parse to the
same message with these. A line that fits it may still hold more than a text between: then what is between is not the
inside of one JSON string. Only a backslash at its end could hide that from the count of the texts, so such a batch is
left to the long way, as is one with a uuid that is none.
"""

from __future__ import annotations

from typing import Any

import orjson

FEW = 4
"""A shorter run of such lines is not worth the look."""
UUID = 36
UUID_BYTES = b"0123456789abcdef-"
PROBE, PROBE_UUID = "@probe@", "00000000-1111-2222-3333-444444444444"


class Template:
    def __init__(self) -> None:
        self._before = self._middle = self._after = b""

    def forget(self) -> None:
        self._before = b""

    def texts(self, lines: list[bytes], start: int) -> list[str]:
        """Of the lines from there on, up to the first that is another. Empty: not worth it, or not sure."""
        before, middle, after = self._before, self._middle, self._after
        if not before or len(lines) - start < FEW:
            return []
        first, last, name = len(before), -(len(middle) + UUID + len(after)), -(UUID + len(after))
        end = start
        for line in lines[start:]:
            if not (line.startswith(before) and line.endswith(after) and line[last:name] == middle):
                break
            end += 1
        run = lines[start:end]
        if len(run) < FEW or min(map(len, run)) < first - last:
            return []
        if b"".join([line[name : name + UUID] for line in run]).translate(None, UUID_BYTES):
            return []
        return _parsed([line[first:last] for line in run])

    def learn(self, raw: bytes, line: dict[str, Any]) -> None:
        """From one that went the long way, and is more of the text that is open."""
        if self._before and raw.startswith(self._before) and raw.endswith(self._after):
            return
        text, uuid = _written(line["event"]["delta"]["text"]), line.get("uuid")
        if text is None or type(uuid) is not str or len(uuid) != UUID or not uuid.isascii():
            return
        at, name = raw.find(b'"text":"%b"' % text), raw.rfind(uuid.encode())
        first, last = at + len(b'"text":"'), at + len(b'"text":"') + len(text)
        before, middle, after = raw[:first], raw[last:name], raw[name + UUID :]
        if at < 0 or last > name or not after:
            return
        probe = b"%b%b%b%b%b" % (before, PROBE.encode(), middle, PROBE_UUID.encode(), after)
        if _loaded(probe) == _with(line, PROBE, PROBE_UUID):
            self._before, self._middle, self._after = before, middle, after


def _parsed(pieces: list[bytes]) -> list[str]:
    joined = b'","'.join(pieces)
    if b'\\","' in joined or joined.endswith(b"\\"):
        return []
    try:
        texts: list[str] = orjson.loads(b'["%b"]' % joined)
    except orjson.JSONDecodeError:
        return []
    return texts if len(texts) == len(pieces) else []


def _written(text: str) -> bytes | None:
    """Inside its quotes; None: there is a lone surrogate in it."""
    try:
        return orjson.dumps(text)[1:-1]
    except TypeError:
        return None


def _loaded(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _with(line: dict[str, Any], text: str, uuid: str) -> dict[str, Any]:
    event = line["event"]
    return {**line, "uuid": uuid, "event": {**event, "delta": {**event["delta"], "text": text}}}
