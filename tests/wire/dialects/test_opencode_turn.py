"""A turn of `opencode serve`: its words, its tools, its subagents, and when it is over."""

from __future__ import annotations

import pytest

from gateway.events import (
    Custom,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    ToolCallArgs,
    ToolCallResult,
    TurnEnded,
    TurnFailed,
    Warning,
)
from tests.wire.dialects.opencode_server import SESSION, Json, Server, working

STACK = "ProviderModelNotFoundError: Model not found: a/b.\n    at x"


# -- the end of a turn


def test_the_end_of_the_turn_before_does_not_end_this_one() -> None:
    server = Server()
    assert server.idle() == []
    assert server.event("session.error", error={"name": "UnknownError", "data": {"message": "old"}}) == []
    assert server.dialect.is_busy
    server.busy()
    server.writes()
    assert server.done() == []
    assert server.idle() == [TurnEnded("end_turn")]


def test_a_message_of_the_turn_before_is_no_word_of_this_one() -> None:
    server = working()
    server.done()
    server.idle()
    server.prompt()
    assert server.writes() == []
    assert server.part("prt_9", "text", text="late") == []
    assert server.idle() == []
    assert server.dialect.is_busy


def test_a_turn_ends_when_its_last_message_is_complete() -> None:
    server = working()
    server.tool("running", input={"command": "sleep 9"})
    server.dialect.cancel()
    server.event("session.error", error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    assert server.idle() == []
    [result] = server.tool("completed", input={"command": "sleep 9"}, output="stopped")
    assert isinstance(result, ToolCallResult) and result.content == "stopped"
    assert server.done() == [TurnEnded("cancelled")]


def test_a_second_idle_ends_the_turn_whatever_is_missing() -> None:
    server = working()
    assert server.idle() == []
    assert server.idle() == [TurnEnded("end_turn")]


def test_an_abort_by_somebody_else_is_a_cancelled_turn() -> None:
    server = working()
    server.done(error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    assert server.idle() == [TurnEnded("cancelled")]


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "end_turn"), ("length", "max_tokens"), ("content-filter", "refusal")]
)
def test_the_reason_of_the_end_is_the_models(finish: str, reason: str) -> None:
    server = working()
    server.part("prt_f", "step-finish", reason=finish)
    server.done()
    assert server.idle() == [TurnEnded(reason)]


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        ({"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}, "overloaded", "MODEL_ERROR"),
        ({"name": "APIError", "data": {"message": "bad key", "statusCode": 401}}, "bad key", "AUTH_REQUIRED"),
        ({"name": "ProviderAuthError", "data": {"message": "no key"}}, "no key", "AUTH_REQUIRED"),
        ({"name": "ContextOverflowError", "data": {"message": "too long"}}, "too long", "MODEL_ERROR"),
        (
            {"name": "UnknownError", "data": {"message": STACK}},
            "Model not found: a/b.",
            "MODEL_ERROR",
        ),
        ({"name": "UnknownError", "data": {}}, "UnknownError", "AGENT_ERROR"),
    ],
)
def test_an_error_ends_the_turn_with_the_words_of_its_cause(error: Json, message: str, code: str) -> None:
    server = working()
    server.event("session.error", error=error)
    server.event("session.error", error={"name": "UnknownError", "data": {"message": "a later one"}})
    server.done(error=error)
    assert server.idle() == [TurnFailed(message, code)]


def test_an_answer_that_was_cut_short_is_no_failure() -> None:
    server = working()
    server.done(error={"name": "MessageOutputLengthError", "data": {}})
    assert server.idle() == [TurnEnded("max_tokens")]


def test_an_answer_in_a_shape_is_the_result_of_the_turn() -> None:
    server = working()
    server.done(structured={"answer": 42})
    assert server.idle() == [TurnEnded("end_turn", {"answer": 42})]


def test_what_a_turn_cost_is_told_once_at_its_end() -> None:
    server = working()
    tokens = {"input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 7}}
    assert server.part("prt_1", "step-finish", tokens=tokens, cost=0.25) == [
        TokenUsage("p", "m", 117, 8, 125, reasoning_tokens=3, cached_input_tokens=100, cache_write_input_tokens=7)
    ]
    server.part("prt_2", "step-finish", tokens={}, cost=0.5)
    server.done()
    assert server.idle() == [Custom("cost", {"usd": 0.75}), TurnEnded("end_turn")]


# -- cancelling


def test_a_cancel_that_comes_before_the_work_stops_it_when_it_begins() -> None:
    server = Server()
    server.sent()
    assert server.dialect.cancel()
    assert server.sent() == []
    server.busy()
    [abort] = server.sent()
    assert abort["path"] == f"/session/{SESSION}/abort?directory=%2Fworkspace"
    server.busy()
    assert server.sent() == []


def test_a_prompt_that_fails_after_a_cancel_is_a_cancelled_turn() -> None:
    server = Server()
    server.dialect.cancel()
    assert server.answer(None, 500) == [TurnEnded("cancelled")]


# -- words and tools


def test_a_text_that_is_longer_in_the_end_than_its_deltas_is_told_whole() -> None:
    server = working()
    server.part("prt_1", "text", text="")
    server.event("message.part.delta", messageID="msg_1", partID="prt_1", field="text", delta="Hel")
    [more, _] = server.part("prt_1", "text", text="Hello", time={"end": 1})
    assert isinstance(more, TextMessageContent) and more.text == "lo"


def test_the_prompt_itself_is_no_answer() -> None:
    server = working()
    server.event("message.updated", info={"id": "msg_0", "role": "user"})
    assert server.part("prt_0", "text", message="msg_0", text="hello") == []


def test_a_call_whose_running_was_never_told_still_has_its_arguments() -> None:
    server = working()
    server.tool("pending", input={}, raw="")
    arguments, _, result = server.tool("error", input={"command": "ls"}, error="no")
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"ls"}'
    assert isinstance(result, ToolCallResult) and result.content == "no"
    assert server.tool("completed", input={}, output="again") == []


def test_a_retry_is_told_once_for_each_attempt() -> None:
    server = working()
    status = {"type": "retry", "attempt": 1, "message": "overloaded", "next": 5}
    [warned] = server.event("session.status", status=status)
    assert isinstance(warned, Warning) and "overloaded" in warned.message
    assert server.event("session.status", status=status) == []
    assert len(server.event("session.status", status={**status, "attempt": 2})) == 1


def test_the_files_that_changed_are_told_when_they_change() -> None:
    server = working()
    assert server.event("session.diff", diff=[]) == []
    files = [{"file": "a", "additions": 1, "deletions": 0}]
    assert server.event("session.diff", diff=files) == [Custom("opencode.diff", {"files": files})]
    assert server.event("session.diff", diff=files) == []
    assert server.event("session.diff", "ses_other", diff=[]) == []


def test_another_sessions_events_are_not_read() -> None:
    server = working()
    assert server.writes("msg_x", "ses_other") == []
    assert server.part("prt_x", "text", "msg_x", "ses_other", text="not ours") == []
    assert server.idle("ses_other") == []
    assert server.dialect.is_busy


# -- subagents

CHILD = {"id": "ses_c", "parentID": SESSION, "agent": "explore", "title": "Look (@explore subagent)"}


def delegated() -> Server:
    server = working()
    server.tool("pending", input={})
    server.event("session.created", "ses_c", info=CHILD)
    server.tool("running", input={"prompt": "look"}, metadata={"sessionId": "ses_c"})
    server.busy("ses_c")
    server.writes("msg_c", "ses_c")
    return server


def test_a_subagent_belongs_to_the_call_that_began_it() -> None:
    server = working()
    server.tool("pending", input={})
    server.event("session.created", "ses_c", info=CHILD)
    begun = server.tool("running", input={"prompt": "look"}, metadata={"sessionId": "ses_c"})[-1]
    assert begun == SubagentStarted("k:ses_c", "explore", "Look", None, "k:prt_t")


def test_a_subagents_words_are_its_own_and_its_end_is_not_the_turns() -> None:
    server = delegated()
    [said] = server.part("prt_c", "text", "msg_c", "ses_c", text="found it")
    assert isinstance(said, TextMessageContent) and said.subagent == "k:ses_c"
    server.done("msg_c", "ses_c")
    assert server.idle("ses_c") == [SubagentFinished("k:ses_c")]
    assert server.dialect.is_busy


def test_a_subagent_that_speaks_before_its_call_names_it_is_begun_by_its_word() -> None:
    server = working()
    server.event("session.created", "ses_c", info=CHILD)
    server.writes("msg_c", "ses_c")
    begun, said = server.part("prt_c", "text", "msg_c", "ses_c", text="found it")
    assert isinstance(begun, SubagentStarted) and isinstance(said, TextMessageContent)


def test_a_subagent_that_fails_says_why() -> None:
    server = delegated()
    server.part("prt_c", "text", "msg_c", "ses_c", text="x")
    error = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    server.done("msg_c", "ses_c", error=error)
    assert server.idle("ses_c") == [SubagentError("k:ses_c", "overloaded", "MODEL_ERROR")]


def test_a_subagent_that_is_taken_up_again_is_another_one() -> None:
    server = delegated()
    server.part("prt_c", "text", "msg_c", "ses_c", text="x")
    server.done("msg_c", "ses_c")
    server.idle("ses_c")
    server.busy("ses_c")
    server.writes("msg_d", "ses_c")
    begun, said = server.part("prt_d", "text", "msg_d", "ses_c", text="more")
    assert isinstance(begun, SubagentStarted) and begun.id == "k:ses_c:2"
    assert isinstance(said, TextMessageContent) and said.subagent == "k:ses_c:2"


def test_a_strangers_child_is_nobody_here() -> None:
    server = working()
    server.event("session.created", "ses_x", info={**CHILD, "id": "ses_x", "parentID": "ses_other"})
    assert server.writes("msg_x", "ses_x") == []
    assert server.part("prt_x", "text", "msg_x", "ses_x", text="not ours") == []
