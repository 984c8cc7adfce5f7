"""Which lines of a remote agent are, to the byte, what the gateway itself would write: those need not be read at all.

In: the data of consecutive server-sent events. Out: `EncodedText`, if all of it is plain text of one message; else
None, and whoever asks reads them one by one. Nearly all events of a run are such, and to look at their bytes costs a
quarter of what reading and writing them costs. Nothing is guessed: whatever does not match to the last byte is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.events import EncodedText

LONGEST = 1_000_000
"""Bytes of them together: so no text among them is one that would have to be cut."""

_PLAIN = rb'[^"\\\x00-\x1f]'
_LINE = rb'\{"type":"TEXT_MESSAGE_CONTENT","messageId":"%b++","delta":"(?!")%b*+(?:\\["\\bfnrt]%b*+)*+"\}\n'
_LINES = re.compile(rb"(?:%b)++" % (_LINE % (_PLAIN, _PLAIN, _PLAIN)))
"""Of escapes, those that every writer of JSON has in common; a text is never empty."""
_HEAD = re.compile(rb'\{"type":"TEXT_MESSAGE_CONTENT","messageId":"([^"]+)","delta":"')


def written(messages: Sequence[object]) -> EncodedText | None:
    if not messages or set(map(type, messages)) != {bytes}:
        return None
    whole = b"%b\n" % b"\n".join(messages)  # type: ignore[arg-type]  # all are bytes, as was just seen
    head = _HEAD.match(whole)
    if head is None or len(whole) > LONGEST or whole.count(head[0]) != len(messages):
        return None
    if whole.count(b"\n") != len(messages) or _LINES.fullmatch(whole) is None or not _is_unicode(whole):
        return None
    return EncodedText(head[1].decode(), list(messages))  # type: ignore[arg-type]


def _is_unicode(text: bytes) -> bool:
    """Line ends are ASCII, so if the whole is well-formed then so is every line."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
