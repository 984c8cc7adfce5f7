"""Every stream of the scripted model is valid for its format, and says what the whole answer says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model_server.conversation import Answer, Failure, Reply
from tests.fakes.model_server.readers import Made, read_gemini_chunks, read_whole_response
from tests.fakes.model_server.script import answer
from tests.fakes.model_server.tool_questions import FORMATS, Format

every = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))

WORDS = st.lists(
    st.sampled_from(["hello", "THINK", "SHELL echo hi", "WRITE a.txt two words", "LONG 3", "CALL Bash {}", "\n"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    max_size=6,
).map(" ".join)


def reply(format: Format, body: dict[str, Any]) -> Reply:
    decided = answer(format.wire.read(body))
    assert isinstance(decided, Answer)
    return Reply("abc", "m", decided, 7, body)


def streamed(format: Format, words: str, *results: str, **options: Any) -> Made:
    return format.read(format.wire.stream(reply(format, format.ask(words, *results, **options))))


@every
@given(words=WORDS)
def test_a_stream_is_valid_and_says_what_the_whole_answer_says(format: Format, words: str) -> None:
    asked = reply(format, format.ask(words))
    made = format.read(format.wire.stream(asked))
    assert made.tokens == (7, asked.answer.tokens)
    whole = from_whole(format.wire.whole(asked))
    assert (made.thought, made.text, made.calls) == (whole.thought, whole.text, whole.calls)
    assert made.reason == whole.reason


@given(words=WORDS, results=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=2))
def test_the_same_question_is_answered_alike_in_every_format(words: str, results: list[str]) -> None:
    made = [streamed(format, words, *results) for format in FORMATS.values()]
    assert all((one.thought, one.text, one.calls) == (made[0].thought, made[0].text, made[0].calls) for one in made)


@every
def test_words_are_said_one_at_a_time(format: Format) -> None:
    frames = list(format.wire.stream(reply(format, format.ask("three more words"))))
    assert sum(b"more" in frame and b"three" not in frame and b"words" not in frame for frame in frames) == 1
    assert streamed(format, "three more words").text == "You said: three more words"


@every
def test_reasoning_comes_before_the_text(format: Format) -> None:
    frames = b"".join(format.wire.stream(reply(format, format.ask("THINK hard"))))
    assert -1 < frames.index(b"request") < frames.index(b"said")
    assert streamed(format, "THINK hard").thought == "First I consider the request. Then I answer."


@every
def test_a_command_goes_into_the_tools_own_property(format: Format) -> None:
    made = streamed(format, "SHELL echo hi && ls")
    assert made.calls == [("Bash", {"command": "echo hi && ls", "description": "short"})]
    assert made.reason in ("tool_use", "tool_calls", "completed", "STOP")


@every
def test_the_result_of_a_tool_is_told(format: Format) -> None:
    assert streamed(format, "SHELL echo hi", "hi\n").text == "done: hi\n"
    assert streamed(format, "SHELL echo hi", "x" * 300).text == "done: " + "x" * 200


@every
def test_images_are_counted(format: Format) -> None:
    assert streamed(format, "IMAGE?", image=True).text == "I see 1 image(s): image/png"
    assert streamed(format, "IMAGE?").text == "I see 0 image(s): none"


@every
@pytest.mark.parametrize("status", [400, 429, 500, 529])
def test_a_failure_has_the_providers_shape(format: Format, status: int) -> None:
    decided = answer(format.wire.read(format.ask(f"ERROR {status}")))
    assert decided == Failure(status)
    assert "message" in format.wire.failure(status)["error"]


def test_chat_tells_usage_apart_only_to_who_asks_for_it() -> None:
    chat = FORMATS["chat"]
    body = chat.ask("hello")
    assert b'"choices":[]' not in b"".join(chat.wire.stream(reply(chat, body)))
    asked = body | {"stream_options": {"include_usage": True}}
    assert b'"choices":[]' in b"".join(chat.wire.stream(reply(chat, asked)))


def from_whole(body: Any) -> Made:
    """What the whole answer says, in the reader's terms."""
    match body:
        case {"type": "message", "content": list(blocks)}:
            made = Made(reason=body["stop_reason"])
            made.thought = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
            made.text = "".join(block["text"] for block in blocks if block["type"] == "text")
            made.calls = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
            return made
        case {"object": "chat.completion", "choices": [{"message": message, "finish_reason": reason}]}:
            functions = [call["function"] for call in message.get("tool_calls", ())]
            calls = [(function["name"], json.loads(function["arguments"])) for function in functions]
            return Made(message.get("reasoning_content") or "", message["content"] or "", calls, reason)
        case {"object": "response"}:
            return read_whole_response(body)
        case {"candidates": _}:
            return read_gemini_chunks([body])
    raise AssertionError(body)
