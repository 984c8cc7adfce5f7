"""One run's way out: what is kept short, joined, cut, closed and counted."""

from __future__ import annotations

from typing import Any

import pytest

from gateway import events as e
from gateway.agui.limits import MAX_DELTA_CHARS
from gateway.agui.outbound import MAX_ERROR_MESSAGE_CHARS, Outbound
from gateway.errors import AgentFault
from gateway.events import Event, Wire
from tests.agui.replay import accepted, client_state, outbound, played, text_of, types

RUN = {"threadId": "t", "runId": "r"}


def begun(**options: Any) -> Outbound:
    out = outbound(**options)
    out.started()
    return out


def test_a_run_begins_with_its_ids_and_the_protocols_version() -> None:
    assert outbound().started() == [{"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}]
    assert outbound().started("before")[0]["parentRunId"] == "before"


def test_an_agent_without_output_finishes() -> None:
    assert played() == [{"type": "RUN_FINISHED", **RUN}]


# -- joining and cutting


def test_deltas_that_come_together_leave_together() -> None:
    deltas: list[Event] = [e.TextMessageContent(delivery) for delivery in "abc"]
    assert [event["delta"] for event in begun().feed(deltas)[1:]] == ["abc"]
    assert [event["delta"] for event in begun(merging=False).feed(deltas)[1:]] == ["a", "b", "c"]


def test_deltas_that_come_apart_leave_apart() -> None:
    out = begun()
    assert [text_of(out.feed([e.TextMessageContent(delivery)])) for delivery in "abc"] == ["a", "b", "c"]


@pytest.mark.parametrize("merging", [True, False])
@pytest.mark.parametrize("opened", [True, False])
def test_a_delta_that_is_too_long_is_cut(merging: bool, opened: bool) -> None:
    text = "x" * (MAX_DELTA_CHARS - 1) + "\ud83d\ude00" * 3 + "y" * MAX_DELTA_CHARS
    before: list[list[Event]] = [[e.TextMessageContent("")]] if opened else []
    stream = played(*before, [e.TextMessageContent(text)], merging=merging)
    pieces = [event["delta"] for event in stream if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert "".join(pieces) == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    assert max(map(len, pieces)) <= MAX_DELTA_CHARS


def test_deltas_that_become_too_long_by_joining_are_cut_again() -> None:
    stream = played([e.TextMessageContent("x" * 400_000)] * 3)
    assert [len(event["delta"]) for event in stream if event["type"] == "TEXT_MESSAGE_CONTENT"] == [10**6, 200_000]


# -- what is too large, or cannot be sent


@pytest.mark.parametrize(
    "event",
    [
        e.Custom("n", "y" * 2000),
        e.ToolCallResult("c", "y" * 2000),
        e.StateSnapshot(["y" * 2000]),
        e.Raw("y" * 2000),
        e.ToolCallStart("c", "y" * 2000),
        e.StepStarted("y" * 2000),
        e.TextMessageContent("b", metadata={"k": "y" * 2000}),
        e.ToolCallArgs("never-began", "y" * 2000),
        e.AguiEvent({"type": "TEXT_MESSAGE_START", "messageId": "n", "metadata": {"k": "y" * 2000}}),
        e.AguiEvent({"type": "OTTER_SWAM", "far": "y" * 2000}),
    ],
    ids=lambda event: type(event).__name__,
)
@pytest.mark.parametrize("merging", [True, False])
def test_an_event_that_is_too_large_ends_the_run_and_keeps_what_came_before(event: Event, merging: bool) -> None:
    stream = played(
        [e.TextMessageContent("before"), event, e.TextMessageContent("after")], max_event_bytes=1000, merging=merging
    )
    assert text_of(stream) == "before"
    assert stream[-1]["code"] == "EVENT_TOO_LARGE"


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "event",
    [
        e.ToolCallStart("c", "f", metadata={"k": object()}),
        e.ToolCallStart("c", "f", metadata={"k": nested(300)}),
        e.ToolCallEnd("c", metadata={"k": nested(199)}),
        e.TextMessageContent("b", metadata={"k": nested(300)}),
        e.SubagentStarted("s", "scout", "\ud83d" * 3, tool_call_id=5),  # type: ignore[arg-type] # an author's mistake
        e.AguiEvent({"type": "STEP_STARTED", "stepName": "one", "rawEvent": {"k": object()}}),
        e.AguiEvent({"type": "STEP_STARTED", "stepName": "one", "rawEvent": nested(300)}),
        e.TextMessageContent(b"bytes"),  # type: ignore[arg-type] # likewise
        e.TokenUsage(input_tokens=-1),
        e.TokenUsage(output_tokens=1.5),  # type: ignore[arg-type] # likewise
        e.TokenUsage(model=5, output_tokens=1),  # type: ignore[arg-type] # likewise
        e.InterruptRequested(()),
        e.InterruptRequested(e.Interrupt("q", "why")),  # type: ignore[arg-type] # a comma was forgotten
        e.InterruptRequested((e.Interrupt("q", "why", expires_in="soon"),)),  # type: ignore[arg-type] # likewise
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_cannot_be_sent_is_never_closed_as_if_it_had_been(event: Event) -> None:
    stream = played([e.TextMessageContent("before"), event])
    assert types(stream) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_ERROR"]
    assert stream[-1]["code"] == "AGENT_ERROR"


def test_numbers_that_json_has_not_are_null_and_halves_of_characters_stay() -> None:
    stream = played([e.Custom("n", [float("nan"), float("inf"), 10**30, "\ud83d"])])
    assert stream[0]["value"] == [None, None, 10**30, "\ud83d"]


def test_after_the_end_events_are_ignored() -> None:
    out = begun()
    out.feed([e.TextMessageContent("a"), e.TurnEnded(), e.TextMessageContent("b"), e.TokenUsage(input_tokens=1)])
    assert out.feed([e.TextMessageContent("c"), e.Custom("n", 1)]) == []
    out = begun(max_event_bytes=1000)
    out.feed([e.TextMessageContent("a"), e.Custom("n", "y" * 2000)])
    assert out.feed([e.TextMessageContent("c")]) == []


def test_an_error_may_quote_much_and_is_shortened() -> None:
    (error,) = accepted([*(out := outbound()).started(), *out.failed("z" * 10**7, "BIG")])[1:]
    assert len(error["message"]) == MAX_ERROR_MESSAGE_CHARS + 1
    assert error["message"].endswith("z…")


# -- ends


OPEN: list[Event] = [
    e.SubagentStarted("s", "scout"),
    e.SubagentStarted("t", "inner", parent="s"),
    e.StepStarted("one"),
    e.StepStarted("one", "s"),
    e.TextMessageContent("a"),
    e.TextMessageContent("b", subagent="s"),
    e.ReasoningMessageContent("c", subagent="t"),
    e.ToolCallStart("own", "own_tool", subagent="t"),
    e.ToolCallStart("theirs", "page_tool"),
]


@pytest.mark.parametrize("ending", ["finished", "failed", "cancelled"])
def test_whatever_is_open_is_closed_before_the_end(ending: str) -> None:
    out = outbound(client_tools=["page_tool"])
    stream = [*out.started(), *out.feed(OPEN)]
    if ending == "failed":
        last = out.failed("no", "NO")
    else:
        last = out.finished(cancelled=ending == "cancelled")
    accepted([*stream, *last])
    assert types(last)[-1] == ("RUN_ERROR" if ending == "failed" else "RUN_FINISHED")


def test_calls_of_the_pages_tools_are_left_pending_and_own_ones_get_a_result() -> None:
    stream = played(OPEN, client_tools=["page_tool"])
    (result,) = [event for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    assert (result["toolCallId"], result["subagentRunId"]) == ("own", "t")
    assert stream[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["theirs"]}


def test_without_an_outcome_there_is_none() -> None:
    stream = played([e.ToolCallStart("c", "f"), e.ToolCallResult("c", "r")], client_tools=["f"])
    assert "outcome" not in stream[-1]


@pytest.mark.parametrize(
    ("ended", "result"),
    [
        (e.TurnEnded(), ...),
        (e.TurnEnded("cancelled"), ...),
        (e.TurnEnded(result={"n": 1}), {"n": 1}),
        (e.TurnEnded("max_tokens"), {"stopReason": "max_tokens"}),
        (e.TurnEnded("refusal", result=0), 0),
    ],
    ids=str,
)
def test_the_result_is_what_the_agent_gave_or_why_it_stopped(ended: Event, result: Any) -> None:
    assert played([ended])[-1].get("result", ...) == result


@pytest.mark.parametrize("result", ["y" * 2000, object(), nested(300)], ids=["large", "no JSON", "deep"])
def test_a_result_that_cannot_be_sent_is_left_out_with_a_warning(result: Any) -> None:
    warned, finished = played([e.TurnEnded(result=result)], max_event_bytes=1000)
    assert warned["name"] == "gateway.warning"
    assert "the run's result was left out" in warned["value"]["message"]
    assert finished == {"type": "RUN_FINISHED", **RUN}


# -- questions


def test_an_interrupt_closes_all_but_answers_no_call() -> None:
    out = outbound()
    stream = [*out.started(), *out.feed(OPEN), *out.feed([e.InterruptRequested((e.Interrupt("q", "why"),))])]
    interrupts = out.check_interrupts([{"id": "q", "reason": "why", "subagentRunId": "t"}])
    last = out.finished(interrupts)
    accepted([*stream, *last])
    assert [question.id for question in out.open_interrupts] == ["q"]
    assert last[-1]["outcome"] == {"type": "interrupt", "interrupts": interrupts}
    assert "TOOL_CALL_RESULT" not in types(last)
    ends = {event["subagentRunId"]: event["outcome"] for event in last if event["type"] == "SUBAGENT_FINISHED"}
    assert ends == {"t": {"type": "suspended", "interruptIds": ["q"]}, "s": {"type": "suspended"}}


def test_the_run_that_answers_goes_on_with_the_same_subagents() -> None:
    first = outbound()
    first.started()
    first.feed([*OPEN, e.SubagentStarted("u", "gone", parent="s"), e.SubagentFinished("s")])
    left = first.suspended()
    then = Outbound("t", "r2", "y")
    stream = then.started(None, left)
    assert [(event["subagentRunId"], event.get("parentSubagentRunId")) for event in stream[1:]] == [
        ("t", None),  # its parent is over, and cannot be named in this run
        ("u", None),
    ]
    stream += then.feed([e.ToolCallResult("own", "done"), e.ToolCallResult("theirs", "done"), e.SubagentFinished("t")])
    stream += then.finished()
    accepted(stream)
    results = {event["toolCallId"]: event for event in stream if event["type"] == "TOOL_CALL_RESULT"}
    assert results["own"]["subagentRunId"] == "t"
    assert "subagentRunId" not in results["theirs"]


@pytest.mark.parametrize(
    ("interrupts", "message"),
    [
        ([{"id": "q"}], "/outcome/interrupts/0/reason"),
        ([{"id": 5, "reason": "why"}], "/outcome/interrupts/0/id"),
        ([{"id": "q", "reason": "why", "responseSchema": "none"}], "/outcome/interrupts/0/responseSchema"),
        ([{"id": "q", "reason": "why"}, {"id": "q", "reason": "again"}], "two interrupts with one id"),
        ([{"id": "q", "reason": "y" * 2000}], "max_event_bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_question_that_no_client_could_read_is_the_agents_fault(interrupts: list[Wire], message: str) -> None:
    with pytest.raises(AgentFault) as refused:
        outbound(max_event_bytes=1000).check_interrupts(interrupts)
    assert message in refused.value.detail


# -- tokens


def test_tokens_are_added_up_for_each_model() -> None:
    stream = played(
        [
            e.TokenUsage("p", "m", input_tokens=1, output_tokens=2),
            e.TokenUsage("p", "m", input_tokens=3, cached_input_tokens=1),
            e.TokenUsage(None, None, total_tokens=2**53 - 1),
            e.TokenUsage(None, None, total_tokens=7),
            e.TokenUsage("p", "silent"),
            e.AguiEvent({"type": "RUN_FINISHED", **RUN, "usage": [{"provider": "p", "model": "m", "inputTokens": 10}]}),
        ]
    )
    assert stream[-1]["usage"] == [
        {"provider": "p", "model": "m", "inputTokens": 14, "outputTokens": 2, "cachedInputTokens": 1},
        {"totalTokens": 2**53 - 1},
    ]


def test_a_failed_run_reports_its_usage() -> None:
    assert played([e.TokenUsage(reasoning_tokens=1), e.TurnFailed("no")])[-1]["usage"] == [{"reasoningTokens": 1}]


# -- the short way of plain text


@pytest.mark.parametrize(
    "between",
    [
        e.AguiEvent({"type": "TEXT_MESSAGE_END", "messageId": "x-1"}),
        e.AguiEvent({"type": "TEXT_MESSAGE_CONTENT", "messageId": "x-1", "delta": "!"}),
        e.AguiEvent({"type": "MESSAGES_SNAPSHOT", "messages": []}),
        e.TextMessageContent("!", metadata={"k": 1}),
        e.TextMessageContent("!", role="user"),
        e.ReasoningMessageContent("hm"),
        e.ToolCallStart("c", "f"),
        e.TextMessageEnd(),
    ],
    ids=lambda event: type(event).__name__,
)
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_plain_text_finds_its_message_whatever_comes_between(between: Event, is_one_batch: bool) -> None:
    turn: list[Event] = [
        e.TextMessageContent("a"),
        e.TextMessageContent("b"),
        between,
        e.TextMessageContent("c"),
        e.TextMessageContent("ü\ud83d"),
    ]
    batches = [turn] if is_one_batch else [[event] for event in turn]
    stream = played(*batches)
    assert text_of(stream).replace("!", "") == "abcü\ud83d"
    assert client_state(stream) == client_state(played(turn, merging=False))
