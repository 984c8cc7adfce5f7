"""Lines of text chunks as texts: the same, in order, whatever stands between them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.events import TextMessageContent
from gateway.wire.acp.fast_path import Template, Texts
from gateway.wire.acp.session import SessionReader
from gateway.wire.jsonrpc import JsonRpc, Notification


def chunk(text: str, session: str = "s1", *, ascii_only: bool = False, **more: Any) -> bytes:
    update = {"sessionUpdate": "agent_message_chunk", **more, "content": {"type": "text", "text": text}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
    return json.dumps(message, ensure_ascii=ascii_only).encode()


def other(kind: str = "usage_update") -> bytes:
    params = {"sessionId": "s1", "update": {"sessionUpdate": kind, "used": 1, "size": 2}}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def events(batches: list[list[bytes]]) -> list[tuple[str, Any]]:
    """(session, update) of every line, by way of the template."""
    template, found = Template(), []
    for batch in batches:
        for part in template.split(list(batch)):
            if isinstance(part, Texts):
                found += [(part.session_id, update) for update in part.updates()]
            else:
                messages = [m for m in JsonRpc().read(part) if isinstance(m, Notification)]
                found += [(m.params["sessionId"], m.params["update"]) for m in messages]
    return found


def plainly(batches: list[list[bytes]]) -> list[tuple[str, Any]]:
    params = [json.loads(line)["params"] for batch in batches for line in batch]
    return [(each["sessionId"], each["update"]) for each in params]


LINES = st.one_of(
    st.builds(chunk, st.text(max_size=8)),
    st.builds(chunk, st.text(max_size=8), ascii_only=st.just(True)),
    st.builds(chunk, st.sampled_from(["text", "a", '","x":"', "\\\\", '"', "@probe@", "agent_message_chunk", ""])),
    st.builds(chunk, st.text(max_size=3), st.sampled_from(["s1", "s2"]), messageId=st.sampled_from(["m1", "m2"])),
    st.builds(other),
)


@given(st.lists(st.lists(LINES, max_size=12), max_size=4))
def test_the_texts_of_a_template_are_those_of_the_lines(batches: list[list[bytes]]) -> None:
    assert events(batches) == plainly(batches)


def test_lines_that_differ_in_their_text_alone_come_as_texts() -> None:
    template = Template()
    assert list(template.split([chunk("one ")])) == [[chunk("one ")]]
    [texts] = template.split([chunk(text) for text in ["two", "three", "four", "five"]])
    assert isinstance(texts, Texts)
    assert (texts.session_id, texts.texts) == ("s1", ["two", "three", "four", "five"])


def test_a_line_that_holds_more_than_a_text_goes_the_long_way() -> None:
    template = Template()
    list(template.split([chunk("one")]))
    trick = chunk("@").replace(b'"@"', b'"a", "x": "b"')
    batch = [chunk("a"), trick, chunk("b"), chunk("c"), chunk("d")]
    assert list(template.split(list(batch))) == [batch]


@given(st.lists(st.text(max_size=4), max_size=10), st.sampled_from([None, "m1"]))
def test_texts_are_read_as_the_updates_they_stand_for(texts: list[str], message_id: str | None) -> None:
    update: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    if message_id is not None:
        update["messageId"] = message_id
    at_once, one_by_one = SessionReader(), SessionReader()
    for reader in (at_once, one_by_one):
        reader.begin_turn("k")
    updates = [{**update, "content": {"type": "text", "text": text}} for text in texts]
    assert at_once.read_texts(update, texts) == [event for each in updates for event in one_by_one.read(each)]
    assert at_once.end_turn("end_turn") == one_by_one.end_turn("end_turn")
    assert all(isinstance(event, TextMessageContent) for event in at_once.read_texts(update, []))
