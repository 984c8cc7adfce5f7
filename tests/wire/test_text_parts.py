"""Text and reasoning: one part is open at a time, and each is one message."""

from __future__ import annotations

from gateway.events import ReasoningMessageContent, ReasoningMessageEnd, TextMessageContent, TextMessageEnd
from gateway.wire.text_parts import Part, TextParts, missing_end


def numbered(part: Part) -> str:
    return f"{part.kind}{part.number}"


def test_a_part_goes_on_until_another_kind_begins() -> None:
    parts = TextParts(numbered, "sub")
    assert [*parts.add_reasoning("hm"), *parts.add_text("a"), *parts.add_text("b"), *parts.close()] == [
        ReasoningMessageContent("hm", "reasoning1", "sub"),
        ReasoningMessageEnd("reasoning1", "sub"),
        TextMessageContent("a", "text2", "sub"),
        TextMessageContent("b", None, "sub"),
        TextMessageEnd("text2", "sub"),
    ]
    assert (parts.close(), parts.open_part, parts.message_id, parts.open_text) == ([], None, None, "ab")


def test_a_part_of_another_key_is_another_message() -> None:
    parts = TextParts(lambda part: f"m{part.key}", sends_ends=False)
    assert [*parts.add_text("a", 0), *parts.add_text("b", 1), *parts.add_text("c", 1)] == [
        TextMessageContent("a", "m0"),
        TextMessageContent("b", "m1"),
        TextMessageContent("c"),
    ]
    assert (parts.is_open("text", 1), parts.is_open("text"), parts.is_open("reasoning", 1)) == (True, False, False)
    assert (parts.message_id, parts.open_text) == ("m1", "bc")


def test_what_goes_on_after_an_interruption_is_a_new_message() -> None:
    parts = TextParts(numbered)
    parts.add_text("a")
    parts.break_off()
    assert parts.add_text("b") == [TextMessageContent("b", "text2")]
    parts.begin_turn()
    assert parts.add_text("c") == [TextMessageContent("c", "text1")]


def test_only_a_part_of_the_named_kind_is_closed() -> None:
    parts = TextParts()
    parts.add_reasoning("hm")
    assert (parts.close("text"), parts.close("reasoning")) == ([], [ReasoningMessageEnd()])


def test_an_empty_delta_opens_nothing() -> None:
    parts = TextParts()
    assert (parts.add_text(""), parts.add_reasoning(""), parts.open_part) == ([], [], None)


def test_of_a_whole_text_only_the_end_is_missing_that_was_not_sent() -> None:
    assert (missing_end("ab", "abc"), missing_end("", "abc"), missing_end("abc", "ab"), missing_end("x", "abc")) == (
        "c",
        "abc",
        "",
        "",
    )
