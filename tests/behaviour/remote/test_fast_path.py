"""Lines that are taken unread: each must be, to the byte, what the gateway would write for the event it holds."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agui.validate import validate
from gateway.drivers.remote.decoder import MAX_FAST_PATH_BYTES, SseDecoder, to_encoded_text
from gateway.events import AguiEvent, EncodedText
from gateway.jsonio import dumps
from gateway.wire.lines import TooLong

HEAD = '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"'
PIECES = [
    "word",
    "é漢🎉",
    r"\n",
    r"\"",
    "\\\\",
    r"\/",
    r"\u0041",
    r"\ud83d",
    '"',
    "\\",
    "\n",
    "\x00",
    "\x7f",
    "}",
    "{",
    ",",
]
PIECES += ['"}', HEAD, '","subagentRunId":"s', '","delta":"twice', " ", '"messageId":"n"']
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
LINES = st.builds(lambda text, end: f'{HEAD}{text}"}}{end}'.encode(), TEXTS, st.sampled_from(["", "", "", " ", "x"]))
BYTES = st.builds(lambda line, at, byte: line[:at] + byte + line[at:], LINES, st.integers(0, 80), st.binary(max_size=2))


def content(text: str, key: str = "m") -> dict[str, str]:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": text}


@given(st.lists(LINES | BYTES, min_size=1, max_size=4))
def test_what_passes_is_what_would_be_written(lines: list[bytes]) -> None:
    passing = to_encoded_text(lines)
    if passing is not None:
        assert passing.lines == lines
        for line in lines:
            event = orjson.loads(line)
            assert dumps(validate(event)) == line
            assert event == content(event["delta"], passing.message_id)
            assert event["delta"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), min_size=1, max_size=5))
def test_plain_text_of_any_json_writer_takes_the_fast_path(texts: list[str]) -> None:
    events = [content(f'{text}\n\t"\\') for text in texts]
    own_lines = [dumps(event) for event in events]
    other_lines = [json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode() for event in events]
    assert to_encoded_text(own_lines) == to_encoded_text(other_lines) == EncodedText("m", own_lines)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [dumps(content(""))],
        [dumps(content("a")), dumps(content("b", "other"))],
        [dumps({**content("a"), "subagentRunId": "s"})],
        [dumps({**content("a"), "type": "REASONING_MESSAGE_CONTENT"})],
        [dumps(content("a", 'an "id"'))],
        [dumps(content("a")), TooLong(7, b"x")],
        [dumps(content("a")) + b"\n" + dumps(content("b"))],
        [dumps(content("x" * MAX_FAST_PATH_BYTES))],
        [dumps(content("a")).replace(b"a", b"\xc3")],
        [dumps(content("a")), dumps({"type": "TEXT_MESSAGE_END", "messageId": "m"})],
        [json.dumps(content("a")).encode()],
    ],
    ids=lambda messages: str(messages)[:60],
)
def test_anything_else_is_read(messages: list[bytes | TooLong]) -> None:
    assert to_encoded_text(messages) is None


@given(st.lists(st.sampled_from(["a", "é", "line\n", '"', "\x01"]), max_size=8), st.integers(1, 200))
def test_however_the_bytes_are_cut_the_events_are_the_same(texts: list[str], size: int) -> None:
    events = [content(text) for text in texts]
    body = b"".join(b"id: %d\ndata: %b\n\n" % (number, dumps(event)) for number, event in enumerate(events))
    reader, found = SseDecoder(), list[object]()
    for at in range(0, len(body), size):
        for item in reader.feed(body[at : at + size]):
            found += map(orjson.loads, item.lines) if isinstance(item, EncodedText) else [_native(item)]
    assert found == events


def _native(item: object) -> object:
    assert isinstance(item, AguiEvent)
    return item.event
