"""Text and thinking: which message a chunk belongs to."""

from __future__ import annotations

from gateway.events import ActivitySnapshot, ReasoningMessageContent, TextMessageContent
from tests.wire.acp.session_helper import call, change, message, read, reader, whole


def test_a_chunk_that_goes_on_carries_no_id() -> None:
    assert read(reader(), message("a", "m"), message("b", "m")) == [
        TextMessageContent("a", "t1:m"),
        TextMessageContent("b"),
    ]


def test_a_new_id_is_a_new_message() -> None:
    events = read(reader(), message("a", "m"), message("b", "n"), message("c", "m"))
    assert events == [TextMessageContent("a", "t1:m"), TextMessageContent("b", "t1:n"), TextMessageContent("c", "t1:m")]


def test_chunks_without_ids_are_one_message_until_something_else_comes() -> None:
    events = read(reader(), message("a"), message("b"), call(status="completed"), message("c"))
    texts = [event for event in events if isinstance(event, TextMessageContent)]
    assert texts == [TextMessageContent("a", "t1:m1"), TextMessageContent("b"), TextMessageContent("c", "t1:m2")]


def test_a_text_without_an_id_does_not_join_one_that_has_one() -> None:
    assert read(reader(), message("a", "m"), message("b")) == [
        TextMessageContent("a", "t1:m"),
        TextMessageContent("b", "t1:m1"),
    ]


def test_thinking_and_text_of_one_id_are_two_messages() -> None:
    events = read(reader(), message("hm", "m", "agent_thought_chunk"), message("hi", "m"))
    assert events == [ReasoningMessageContent("hm", "t1:m:thought"), TextMessageContent("hi", "t1:m")]


def test_below_a_tools_result_the_same_id_is_a_new_message() -> None:
    events = read(reader(), message("a", "m"), call(), message("b", "m"), change(status="completed"), message("c", "m"))
    texts = [event for event in events if isinstance(event, TextMessageContent)]
    assert texts == [
        TextMessageContent("a", "t1:m"),
        TextMessageContent("b", "t1:m"),
        TextMessageContent("c", "t1:m.1"),
    ]


def test_an_empty_chunk_is_no_event() -> None:
    session = reader()
    assert read(session, message("", "m")) == []
    assert read(session, message("a", "m")) == [TextMessageContent("a", "t1:m")]


def test_after_a_run_has_ended_the_message_is_named_again() -> None:
    session = reader()
    read(session, message("a", "m"))
    session.park()
    assert read(session, message("b", "m")) == [TextMessageContent("b", "t1:m")]


def test_the_next_turn_has_ids_of_its_own() -> None:
    session = reader()
    read(session, message("a", "m"))
    session.begin_turn("t2")
    assert read(session, message("b", "m")) == [TextMessageContent("b", "t2:m")]


def test_an_image_in_an_answer_is_shown_beside_it() -> None:
    image = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "AA==", "mimeType": "a/b"}}
    part = {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "a/b"}}
    assert read(reader(), image) == [ActivitySnapshot("t1:content1", "content", {"parts": [part]})]


def test_a_link_is_written_into_the_text() -> None:
    link = {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "x:y", "name": "n"}}
    assert read(reader(), link) == [TextMessageContent("[n](x:y)", "t1:m1")]


def test_of_a_whole_message_only_what_is_new_is_sent() -> None:
    events = read(reader(), message("one ", "m"), whole("m", "one ", "two"), whole("m", "one two"))
    assert events == [TextMessageContent("one ", "t1:m"), TextMessageContent("two")]


def test_a_whole_message_with_another_text_is_a_new_one_that_names_the_old() -> None:
    events = read(reader(), message("one", "m"), whole("m", "two"), message(" three", "m"))
    assert events == [
        TextMessageContent("one", "t1:m"),
        TextMessageContent("two", "t1:m.1", metadata={"acp": {"replaces": "t1:m"}}),
        TextMessageContent(" three"),
    ]


def test_a_whole_message_without_content_changes_nothing() -> None:
    session = reader()
    assert read(session, {"sessionUpdate": "agent_message", "messageId": "m"}, whole("m")) == []


def test_a_message_that_is_cleared_cannot_be_unsaid() -> None:
    assert read(reader(), message("one", "m"), whole("m")) == [TextMessageContent("one", "t1:m")]


def test_a_whole_message_may_hold_an_image() -> None:
    update = whole("m", "see")
    update["content"].append({"type": "image", "data": "AA==", "mimeType": "a/b"})
    kinds = [type(event) for event in read(reader(), update)]
    assert kinds == [ActivitySnapshot, TextMessageContent]


def test_a_whole_thought_is_thinking() -> None:
    assert read(reader(), whole("m", "hm", kind="agent_thought")) == [ReasoningMessageContent("hm", "t1:m:thought")]


def test_the_users_messages_are_not_repeated_to_the_user() -> None:
    assert read(reader(), message("hi", "u", "user_message_chunk"), whole("u", "hi", kind="user_message")) == []


def test_a_chunk_of_no_known_content_is_handed_on() -> None:
    (event,) = read(reader(), {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram"}})
    assert type(event).__name__ == "Raw"
