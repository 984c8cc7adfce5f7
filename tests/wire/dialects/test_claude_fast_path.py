"""The fast path for text: for any lines it returns what the full parser returns."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import Event, TextMessageContent
from gateway.wire.dialects.claude import ClaudeDialect
from gateway.wire.dialects.claude.fast_path import TextDeltaTemplate
from tests.agui.streams import steady
from tests.wire.dialects.claude_conversation import MESSAGE, block_start, block_stop, prompted, read

UUID = "0c9c1b3e-6f0a-4d8e-9a57-1d2f3e4a5b6c"
TEXTS = st.text() | st.sampled_from(('"', "\\", '\\"', "a\\", '","', "\n", "", "😀", "\x7f", "</script>"))


def line(text: str, uuid: Any = UUID, index: int = 0, parent: str | None = None, **more: Any) -> bytes:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    about = {"session_id": "s1", "parent_tool_use_id": parent, "uuid": uuid, "api_message_id": "m1"}
    return orjson.dumps({"type": "stream_event", "event": event, **about, **more})


def streaming_dialect() -> ClaudeDialect:
    dialect = prompted()
    read(dialect, MESSAGE, block_start(0, "text"))
    dialect.read([line("first "), line("second ")])
    return dialect


def read_one_by_one(lines: list[bytes]) -> list[Event]:
    """Single lines never take the fast path."""
    dialect = streaming_dialect()
    return [event for one in lines for event in dialect.read([one])]


BROKEN = st.sampled_from(
    (
        line("a")[:-2],
        line("a").replace(b'"a"', b'"a'),
        line("a").replace(b'"a"', b'"a\\"'),
        line("a").replace(b'"a"', b'"a","b":"c"'),
        line("a").replace(b'"a"', b'"\\x"'),
        line("a").replace(b'"a"', b'"\xff"'),
        line("a").replace(b'"a"', b'"\\ud83d"'),
        line("a").replace(b'"a"', b"7"),
        line("a").replace(UUID.encode(), b'0","parent_tool_use_id":"toolu_x","y":"'[:36].ljust(36, b"z")),
        line("a").replace(UUID.encode(), b"\\x" + b"0" * 34),
        line("a").replace(UUID.encode(), b"\xff" * 36),
        line("a") + b" ",
        orjson.dumps(block_stop(0)),
        orjson.dumps(block_start(1, "text")),
        b"",
        b"{}",
    )
)
OTHERS = st.builds(line, TEXTS, st.sampled_from((UUID, UUID[:-1], UUID.upper(), "", None)), st.integers(0, 2))
NESTED = st.builds(line, TEXTS, parent=st.sampled_from((None, "toolu_1")))
MORE = st.builds(line, TEXTS, ttft_ms=st.integers(0, 9))
PLAIN = st.lists(st.builds(line, TEXTS), max_size=9)
ODD = st.lists(OTHERS | NESTED | MORE | BROKEN, max_size=2)
RUNS = st.lists(PLAIN | ODD, max_size=12)
LINES = RUNS.map(lambda runs: [one for run in runs for one in run])


@settings(steady, max_examples=300)
@given(LINES)
def test_it_returns_what_the_full_parser_returns(lines: list[bytes]) -> None:
    assert streaming_dialect().read(lines) == read_one_by_one(lines)


@given(st.lists(TEXTS, min_size=4, max_size=30))
def test_plain_lines_take_it(texts: list[str]) -> None:
    template = learned_template()
    found = template.read_texts([line(text) for text in texts], 0)
    assert found == texts or (found == [] and any(text.endswith("\\") for text in texts))


def test_it_stops_at_the_first_line_that_is_another() -> None:
    lines = [*[line("a")] * 5, line("a", index=1), *[line("a")] * 5]
    assert learned_template().read_texts(lines, 0) == ["a"] * 5
    assert learned_template().read_texts(lines, 5) == []


def test_too_few_lines_do_not_take_it() -> None:
    assert learned_template().read_texts([line("a")] * 3, 0) == []


def test_a_line_without_a_uuid_teaches_nothing() -> None:
    template = TextDeltaTemplate()
    for uuid in (None, 7, "short", "ä" * 36):
        raw = line("a", uuid)
        template.learn(raw, orjson.loads(raw))
    assert template.read_texts([line("a")] * 9, 0) == []


def test_a_text_that_stands_elsewhere_too_is_not_mistaken() -> None:
    raw = line("s1", note='"text":"s1"')
    template = TextDeltaTemplate()
    template.learn(raw, orjson.loads(raw))
    lines = [line(text, note='"text":"s1"') for text in ("a", "b", "c", "d")]
    assert template.read_texts(lines, 0) in (["a", "b", "c", "d"], [])


def test_another_block_is_learned_again() -> None:
    dialect = streaming_dialect()
    read(dialect, block_stop(0), block_start(1, "text"))
    late = dialect.read([line("x")] * 5)  # of the block that is over
    assert [type(event).__name__ for event in late] == ["Raw"] * 5
    events = dialect.read([line(char, index=1) for char in "abcdef"])
    assert [event.text for event in events if isinstance(event, TextMessageContent)] == list("abcdef")


def learned_template() -> TextDeltaTemplate:
    template = TextDeltaTemplate()
    template.learn(line("hello"), orjson.loads(line("hello")))
    return template
