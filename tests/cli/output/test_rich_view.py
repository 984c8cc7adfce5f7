"""A run as a person sees it: AG-UI events in, lines out."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from gateway.cli.chat.tool_calls import ToolCalls
from gateway.cli.output.rich_view import RichView
from gateway.cli.output.terminal import align, printable

Event = dict[str, Any]


def shown(*events: Event, verbose: bool = False, width: int = 80) -> list[str]:
    """The lines, without the last: what it took."""
    out, calls = StringIO(), ToolCalls()
    show = RichView(Console(file=out, width=width, soft_wrap=True, color_system=None), calls, verbose=verbose)
    for event in events:
        calls.feed(event)
        show.feed(event)
    show.close()
    return out.getvalue().splitlines()[:-1]


def last_line(*events: Event) -> str:
    out = StringIO()
    show = RichView(Console(file=out, width=80), ToolCalls())
    for event in events:
        show.feed(event)
    show.close()
    return out.getvalue().splitlines()[-1].rpartition(" · ")[0]


def text(delta: str, message: str = "m1", **more: str) -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": message, "delta": delta, **more}


def call(name: str, arguments: str, id_: str = "c1") -> list[Event]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": id_, "toolCallName": name},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": id_, "delta": delta} for delta in arguments),
        {"type": "TOOL_CALL_END", "toolCallId": id_},
    ]


def result(content: Any, id_: str = "c1") -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"r-{id_}", "toolCallId": id_, "content": content}


def finished(**more: Any) -> Event:
    return {"type": "RUN_FINISHED", **more}


# -- text


def test_deltas_of_one_message_go_on_where_they_were() -> None:
    assert shown(text("Hel"), text("lo,\nyou")) == ["Hello,", "you"]


def test_messages_and_reasoning_are_separated() -> None:
    thought = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "t1", "delta": "hm"}
    assert shown(thought, text("one"), text("two", "m2")) == ["hm", "", "one", "", "two"]


def test_text_of_a_subagent_has_its_name() -> None:
    begin = {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "scout"}
    lines = shown(text("go"), begin, text("off", "m2", subagentRunId="s1"), text("back", "m3"))
    assert [line for line in lines if line] == ["go", "scout started", "scout: off", "back"]


def test_control_characters_are_removed() -> None:
    assert printable("a\x1b[2Jb\x07c\x9bd\re\tf\n") == "a[2Jbcde\tf\n"
    assert shown(text("\x1b]0;title\x07x")) == ["]0;titlex"]


# -- tools


def test_a_call_is_one_line_with_its_arguments() -> None:
    lines = shown(*call("read", '{"path": "notes.txt", "lines": [1, 2]}'))
    assert lines == ["● read path=notes.txt, lines=[1,2]"]


def test_arguments_that_are_not_an_object_are_shown_unchanged() -> None:
    assert shown(*call("say", '"hello"')) == ['● say "hello"']
    assert shown(*call("say", '{"half')) == ['● say {"half']
    assert shown(*call("say", "")) == ["● say"]


def test_long_output_is_shortened_unless_verbose() -> None:
    events = [*call("write", '{"text": "' + "x" * 200 + '"}'), result("\n".join(f"line {n}" for n in range(9)))]
    short = shown(*events)
    assert short[0].endswith("…") and len(short[0]) <= 80
    assert short[1:] == ["  └ line 0", "    line 1", "    line 2", "    … 6 more lines"]
    assert [len(shown(*events, verbose=True)), shown(*events, verbose=True)[-1]] == [10, "    line 8"]


def test_the_result_of_another_call_than_the_last_carries_its_name() -> None:
    lines = shown(*call("one", "{}", "c1"), *call("two", "{}", "c2"), result("1", "c1"), result("2", "c2"))
    assert lines == ["● one", "● two", "  └ one: 1", "  └ 2"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "(no output)"),
        ([{"type": "text", "text": "some text"}, {"type": "image", "source": {}}], "some text"),
        ([{"type": "image", "source": {}}], "[image]"),
    ],
)
def test_a_result_may_be_parts_or_nothing(content: Any, line: str) -> None:
    assert shown(*call("look", "{}"), result(content))[1] == f"  └ {line}"


# -- beside the conversation


def test_a_plan_is_shown_once_and_then_what_changes() -> None:
    plan = {"activityType": "plan", "messageId": "p"}
    entries = [{"content": "Look", "status": "pending"}, {"content": "Leap", "status": "pending"}]
    patch = [{"op": "replace", "path": "/entries/0/status", "value": "completed"}]
    lines = shown(
        {"type": "ACTIVITY_SNAPSHOT", **plan, "content": {"entries": entries}},
        {"type": "ACTIVITY_DELTA", **plan, "patch": patch},
    )
    assert lines == ["[ ] Look", "[ ] Leap", "[x] Look"]


def test_a_patch_of_something_unknown_does_no_harm() -> None:
    patch = [{"op": "replace", "path": "/entries/7/status", "value": "completed"}]
    assert shown({"type": "ACTIVITY_DELTA", "activityType": "plan", "messageId": "p", "patch": patch}) == []


def test_warnings_and_errors_are_reported() -> None:
    warning = {"type": "CUSTOM", "name": "gateway.warning", "value": {"code": "X", "message": "left out"}}
    assert shown(warning) == ["! left out"]
    assert shown(text("so far"), {"type": "RUN_ERROR", "message": "no more", "code": "X"})[-1] == "✗ no more"
    assert shown(finished(outcome={"type": "cancelled"})) == ["Cancelled"]
    assert shown(finished(result={"stopReason": "max_tokens"})) == ["Stopped: max_tokens"]


def test_events_for_frontends_are_left_out_unless_verbose() -> None:
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    raw = {"type": "RAW", "event": {"b": 2}}
    newer = {"type": "SOMETHING_NEW", "x": 1}
    assert shown(state, raw, newer) == []
    assert len(shown(state, raw, newer, verbose=True)) == 2


# -- the bill


def test_usage_is_added_up_over_runs_and_models() -> None:
    first = finished(usage=[{"model": "a", "inputTokens": 1000, "cachedInputTokens": 800, "outputTokens": 5}])
    second = finished(usage=[{"model": "b", "inputTokens": 500, "outputTokens": 7, "reasoningTokens": 3}])
    assert last_line(first, second) == "1,500 in (800 cached) · 12 out (3 thinking)"


def test_cost_is_added_up_where_it_is_reported() -> None:
    costs = [{"type": "CUSTOM", "name": "cost", "value": {"usd": usd}} for usd in (0.01, 0.0023)]
    assert last_line(*costs) == "$0.0123"
    session = {"type": "CUSTOM", "name": "session.usage", "value": {"cost": {"amount": 0.5, "currency": "USD"}}}
    assert last_line(session) == "0.5 USD in this session"
    assert last_line(finished()) == ""


def test_columns_are_as_wide_as_they_must_be() -> None:
    assert align([("a", "b", ""), ("ccc", "d", "e")]) == ["a    b", "ccc  d  e"]


# -- what tools do


def terminal(*patch: Any, output: Any = ...) -> Event:
    kind = {"messageId": "t1", "activityType": "terminal"}
    if output is not ...:
        return {"type": "ACTIVITY_SNAPSHOT", **kind, "content": {"toolCallId": "c1", "output": output}}
    return {"type": "ACTIVITY_DELTA", **kind, "patch": list(patch)}


def prints(text: str) -> Event:
    return terminal({"op": "add", "path": "/output/-", "value": text})


def test_a_command_is_shown_line_by_line_while_it_runs_and_its_output_not_again() -> None:
    events = [*call("shell", '{"command": "make"}'), terminal(output=[]), prints("one\ntw"), prints("o\nthree")]
    assert shown(*events) == ["● shell command=make", "  │ one", "  │ two"]
    over = [*events, terminal({"op": "add", "path": "/exitCode", "value": 0}), result("one\ntwo\nthree")]
    assert shown(*over) == ["● shell command=make", "  │ one", "  │ two", "  │ three"]


def test_a_commands_colours_and_overwritten_lines_are_left_out() -> None:
    assert shown(*call("shell", "{}"), terminal(output=["\x1b[32mgreen\x1b[0m\n 1%\r 2%\n"])) == [
        "● shell",
        "  │ green",
        "  │  2%",
    ]


def test_of_a_long_output_the_rest_is_counted() -> None:
    events = [*call("shell", "{}"), terminal(output=["x\n" * 25]), result("x")]
    assert shown(*events)[-2:] == ["  │ x", "  │ … 5 more lines"]
    assert len(shown(*events, verbose=True)) == 26


def test_an_edit_is_shown_as_its_diff() -> None:
    diff = {"path": "a.py", "oldText": "one\ntwo\n", "newText": "one\n2\n3\n"}
    edited = result("done") | {"metadata": {"acp": {"diffs": [diff]}}}
    expected = ["● edit", "  └ a.py +2 -1", "     one", "    -two", "    +2", "    +3"]
    assert shown(*call("edit", "{}"), edited) == expected


@pytest.mark.parametrize("broken", [None, 7, "x", [None], [{}], [{"newText": 3}], {"a": 1}])
def test_invalid_diffs_and_output_are_left_out(broken: Any) -> None:
    edited = result("done") | {"metadata": {"acp": {"diffs": broken}}}
    assert shown(*call("edit", "{}"), terminal(output=broken), prints("ok\n"), edited)[0] == "● edit"
