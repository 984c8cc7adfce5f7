"""`forwardedProps.gateway`: every key, its bounds, and the sentence of its refusal."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from gateway.agui import inbound
from gateway.agui.options import OPTION_SCHEMAS
from gateway.errors import BadInput
from gateway.turn import Options, Turn

AT = "/forwardedProps/gateway"


def read(props: Any) -> Turn:
    return inbound.read_run_input(
        json.dumps({"threadId": "t", "runId": "r", "messages": [], "forwardedProps": props}).encode()
    )


def read_options(**keys: Any) -> Options:
    return read({"gateway": keys}).options


def refusal(gateway: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read({"gateway": gateway})
    return caught.value


def test_every_key_is_read() -> None:
    everything = read_options(
        model="m-1",
        effort="high",
        thinkingBudgetTokens=1024,
        thinkingOverride={"type": None},
        mode="plan",
        approvals="auto",
        cwd="/srv/project",
        additionalDirectories=["/a", "/b"],
        mcpServers=[{"name": "files", "command": "mcp-files"}],
        outputSchema={"type": "object"},
        sessionId="s",
        forkSessionId="f",
        skills=["review"],
        onDisconnect="continue",
        strict=True,
        merge={"windowMs": 16},
    )
    assert everything == Options(
        model="m-1",
        effort="high",
        thinking_budget_tokens=1024,
        thinking_override={"type": None},
        mode="plan",
        approvals="auto",
        cwd="/srv/project",
        additional_directories=("/a", "/b"),
        mcp_servers=({"name": "files", "command": "mcp-files"},),
        output_schema={"type": "object"},
        session_id="s",
        fork_session_id="f",
        skills=("review",),
        on_disconnect="continue",
        strict=True,
        merge=True,
        merge_window_ms=16.0,
    )


def test_there_is_a_key_for_every_option_and_an_option_for_every_key() -> None:
    attributes = {field.name.replace("_", "") for field in fields(Options)} - {"mergewindowms"}
    assert {key.lower() for key in OPTION_SCHEMAS} == attributes


@pytest.mark.parametrize(
    "props", [None, {}, {"gateway": None}, {"gateway": {}}, {"other": 1}, "text", [{"gateway": 1}], 5]
)
def test_without_the_gateway_key_there_are_no_options(props: Any) -> None:
    assert read(props).options == Options()


@pytest.mark.parametrize("key", OPTION_SCHEMAS)
def test_a_null_reads_as_absent(key: str) -> None:
    assert read_options(**{key: None}) == Options()


def test_what_is_beside_our_key_passes_untouched() -> None:
    props = {"gateway": {"model": "m"}, "theirs": {"deep": [None]}}
    assert read(props).forwarded_props == props


@pytest.mark.parametrize("gateway", ["m", 1, True, []])
def test_our_key_holds_an_object(gateway: Any) -> None:
    error = refusal(gateway)
    assert error.extra["pointer"] == AT
    assert error.detail.startswith(f"{AT} must be an object, not ")


def test_an_unknown_key_is_refused_by_name_with_what_was_meant_and_what_there_is() -> None:
    error = refusal({"efort": "low"})
    assert error.extra["pointer"] == f"{AT}/efort"
    assert error.detail.startswith(f"{AT}/efort is not known here: did you mean effort? known are model, effort, ")
    assert all(key in error.detail for key in OPTION_SCHEMAS)


def test_an_unknown_key_like_no_other_gets_no_suggestion() -> None:
    assert refusal({"zzz": 1}).detail.startswith(f"{AT}/zzz is not known here: known are ")


def test_the_pointer_to_an_unknown_key_is_escaped() -> None:
    assert refusal({"a/b~c": 1}).extra["pointer"] == f"{AT}/a~1b~0c"


def test_an_unknown_key_is_repeated_short_and_encodable() -> None:
    error = refusal({"\ud83d" + "x" * 100_000: 1})
    assert len(json.dumps(error.problem(), ensure_ascii=False).encode()) < 2000


def test_thousands_of_unknown_keys_are_counted_and_twenty_listed() -> None:
    error = refusal({f"key{number}": 1 for number in range(5000)})
    assert len(error.extra["errors"]) == 20
    assert "(and 4999 more" in error.detail


@pytest.mark.parametrize("effort", ["low", "medium", "high", "max"])
def test_effort_is_one_of_four(effort: str) -> None:
    assert read_options(effort=effort).effort == effort


@pytest.mark.parametrize("approvals", ["prompt", "auto", "deny"])
def test_approvals_is_one_of_three(approvals: str) -> None:
    assert read_options(approvals=approvals).approvals == approvals


@pytest.mark.parametrize(
    ("merge", "joins", "window"),
    [
        (True, True, None),
        (False, False, None),
        ({}, True, None),
        ({"windowMs": None}, True, None),
        ({"windowMs": 0}, True, 0.0),
        ({"windowMs": 0.5}, True, 0.5),
        ({"windowMs": 1000}, True, 1000.0),
    ],
)
def test_merge_is_a_switch_or_a_window(merge: Any, joins: bool, window: float | None) -> None:
    options = read_options(merge=merge)
    assert (options.merge, options.merge_window_ms) == (joins, window)


@pytest.mark.parametrize("budget", [0, 1, 2**53 - 1])
def test_a_budget_is_a_whole_number(budget: int) -> None:
    assert read_options(thinkingBudgetTokens=budget).thinking_budget_tokens == budget


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", 5, "must be a string, not a number"),
        ("model", "", "is empty: it is a name"),
        ("model", "m" * 513, "has 513 characters, at most 512 are allowed"),
        ("mode", ["plan"], "must be a string, not an array"),
        ("effort", "none", 'must be "low", "medium", "high" or "max", not "none"'),
        ("effort", "High", 'must be "low", "medium", "high" or "max", not "High"'),
        ("effort", 3, 'must be "low", "medium", "high" or "max", not a number'),
        ("thinkingBudgetTokens", -1, "must be a whole number from 0 to 9007199254740991"),
        ("thinkingBudgetTokens", 10**400, "must be a whole number from 0 to 9007199254740991"),
        ("thinkingBudgetTokens", 1.5, "must be a whole number from 0 to 9007199254740991"),
        ("thinkingBudgetTokens", "1", "must be a whole number from 0 to 9007199254740991, not a string"),
        ("thinkingBudgetTokens", True, "must be a whole number from 0 to 9007199254740991, not a boolean"),
        ("thinkingOverride", "x", "must be an object, not a string"),
        ("approvals", "yes", 'must be "prompt", "auto" or "deny", not "yes"'),
        ("cwd", "/a\x00b", "has a control character or half a surrogate pair in it: it is a path"),
        ("cwd", "/" * 4097, "has 4097 characters, at most 4096 are allowed"),
        ("additionalDirectories", "/a", "must be an array, not a string"),
        ("skills", ["s"] * 257, "has 257 items, at most 256 are allowed"),
        ("mcpServers", {}, "must be an array, not an object"),
        ("outputSchema", True, "must be an object, not a boolean"),
        ("sessionId", "", "is empty"),
        ("forkSessionId", 1, "must be a string, not a number"),
        ("onDisconnect", "wait", 'must be "cancel" or "continue", not "wait"'),
        ("strict", "yes", "must be true or false, not a string"),
        ("strict", 1, "must be true or false, not a number"),
        ("merge", "yes", 'must be true, false or {"windowMs": …}, not a string'),
        ("merge", 16, 'must be true, false or {"windowMs": …}, not a number'),
    ],
)
def test_an_option_of_the_wrong_type_is_refused(key: str, value: Any, message: str) -> None:
    error = refusal({key: value})
    assert [problem["pointer"] for problem in error.extra["errors"]] == [f"{AT}/{key}"]
    assert error.detail.startswith(f"{AT}/{key} {message}")


@pytest.mark.parametrize(
    ("gateway", "pointer"),
    [
        ({"skills": ["ok", 1]}, f"{AT}/skills/1"),
        ({"skills": [None]}, f"{AT}/skills/0"),
        ({"additionalDirectories": ["/a", ""]}, f"{AT}/additionalDirectories/1"),
        ({"mcpServers": ["files"]}, f"{AT}/mcpServers/0"),
        ({"merge": {"windowMs": -1}}, f"{AT}/merge/windowMs"),
        ({"merge": {"windowMs": 1000.5}}, f"{AT}/merge/windowMs"),
        ({"merge": {"windowMs": True}}, f"{AT}/merge/windowMs"),
        ({"merge": {"window": 1}}, f"{AT}/merge/window"),
    ],
)
def test_a_refusal_points_inside_lists_and_objects(gateway: Any, pointer: str) -> None:
    assert refusal(gateway).extra["pointer"] == pointer


@pytest.mark.parametrize("option", ["model", "mode", "sessionId", "forkSessionId"])
def test_a_name_that_could_be_read_as_a_flag_is_refused(option: str) -> None:
    with pytest.raises(BadInput, match="must not begin with '-'"):
        read({"gateway": {option: "--dangerously"}})
