"""`inbound` held against any JSON, against broken inputs, and against the official models."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ag_ui.core import RunAgentInput
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.agui import inbound
from gateway.agui.options import OPTION_SCHEMAS
from gateway.agui.schema import UNWRITABLE
from gateway.errors import BadInput, NotJson
from gateway.turn import Turn

Strategy = st.SearchStrategy[Any]

steady = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# Inputs that the protocol allows


def strings(**fields: Strategy) -> dict[str, Strategy]:
    return fields


def described(required: dict[str, Strategy], optional: dict[str, Strategy]) -> Strategy:
    """An object: optional fields may be absent or null, and one that nobody described may be there."""
    maybe = {key: st.none() | value for key, value in optional.items()}
    return st.fixed_dictionaries(required, optional={**maybe, "x-new": json_values})


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
json_values: Strategy = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
text = st.text(max_size=8)
metadata = st.dictionaries(text, json_values, max_size=2)
ids = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=12)

sources = st.one_of(
    described(strings(type=st.just("data"), value=text, mimeType=text), {}),
    described(strings(type=st.just("url"), value=text), strings(mimeType=text)),
    described(strings(type=st.just("file"), value=text), strings(mimeType=text, provider=text)),
)
part_extras = strings(id=text, metadata=json_values)
parts = described(strings(type=st.just("text"), text=text), part_extras) | described(
    strings(type=st.sampled_from(["image", "audio", "video", "document"]), source=sources), part_extras
)
calls = described(
    strings(id=text, function=described(strings(name=text, arguments=text), {})),
    strings(encryptedValue=text, metadata=metadata),
) | described(
    strings(id=text, type=st.just("function"), function=described(strings(name=text, arguments=text), {})), {}
)
any_message = strings(subagentRunId=text, metadata=metadata)
encrypted = {**any_message, **strings(encryptedValue=text)}
named = {**encrypted, **strings(name=text)}
contents = text | st.lists(parts, max_size=2)
messages = st.one_of(
    described(strings(id=text, role=st.sampled_from(["developer", "system"]), content=text), named),
    described(strings(id=text, role=st.just("user"), content=contents), named),
    described(
        strings(id=text, role=st.just("assistant")),
        {**named, **strings(content=text, toolCalls=st.lists(calls, max_size=2))},
    ),
    described(
        strings(id=text, role=st.just("tool"), toolCallId=text, content=contents), {**encrypted, **strings(error=text)}
    ),
    described(strings(id=text, role=st.just("activity"), activityType=text, content=metadata), any_message),
    described(strings(id=text, role=st.just("reasoning"), content=text), encrypted),
)
tools = described(strings(name=text, description=text), strings(parameters=json_values, metadata=metadata))
contexts = described(strings(description=text, value=text), {})
entries = described(
    strings(interruptId=text, status=st.sampled_from(["resolved", "cancelled"])),
    strings(payload=json_values, metadata=metadata),
)
inputs = described(
    strings(threadId=ids, runId=ids, messages=st.lists(messages, max_size=3)),
    strings(
        protocolVersion=st.just("1.0") | text,
        parentRunId=text,
        state=json_values,
        tools=st.lists(tools, max_size=2),
        context=st.lists(contexts, max_size=2),
        forwardedProps=json_values,
        resume=st.lists(entries, max_size=2),
    ),
)

# Ways to break one

Break = Callable[[Any, str | int], None]


def places(value: Any) -> Iterator[tuple[Any, str | int]]:
    """Every (container, key) in a JSON value."""
    if not isinstance(value, dict | list):
        return
    keys: list[Any] = list(value if isinstance(value, dict) else range(len(value)))
    for key in keys:
        yield value, key
        yield from places(value[key])


def deleted(container: Any, key: Any) -> None:
    del container[key]


def set_to(value: Any) -> Break:
    def change(container: Any, key: Any) -> None:
        container[key] = copy.deepcopy(value)

    return change


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


retired = st.fixed_dictionaries(
    strings(type=st.just("binary"), mimeType=st.sampled_from(["image/png", "audio/wav", "text/plain", ""])),
    optional=strings(data=text, url=text, id=text, filename=text, metadata=st.none() | metadata),
)
newer_messages = st.builds(lambda key: {"role": key}, text)
newer_parts = st.builds(lambda key: {"type": key}, text)
newer_sources = st.builds(lambda source: {"type": "image", "source": source}, newer_parts)
breaks = st.one_of(
    st.just(deleted),
    st.just(set_to(None)),
    st.builds(set_to, json_values),
    st.builds(set_to, retired | newer_messages | newer_parts | parts | sources),
    st.builds(set_to, st.integers(min_value=10, max_value=400).map(nested)),
)

# Inputs of other times: some parts retired, some not invented yet, some wishes of the gateway's own

mixed_parts = st.lists(st.one_of(parts, retired, newer_parts, newer_sources), min_size=1, max_size=3)
mixed_messages = st.builds(lambda content: {"id": "m", "role": "user", "content": content}, mixed_parts)
option_values = st.none() | st.booleans() | ids | st.lists(ids, max_size=2)
options = st.none() | st.dictionaries(st.sampled_from(sorted(OPTION_SCHEMAS)), option_values, max_size=2)
other_times = st.fixed_dictionaries(
    {
        **strings(threadId=ids, runId=ids, messages=st.lists(mixed_messages | newer_messages, min_size=1, max_size=3)),
        "forwardedProps": st.builds(lambda gateway: {"gateway": gateway}, options),
    }
)


@st.composite
def broken(draw: st.DrawFn) -> Any:
    value = {"body": draw(inputs)}
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(list(places(value))))
        if (container, key) != (value, "body"):
            draw(breaks)(container, key)
    return value["body"]


# What must hold


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def outcome(data: bytes) -> Turn | None:
    """The turn, or None if it was refused. Any other exception fails the test."""
    try:
        return inbound.read_run_input(data)
    except BadInput as error:
        assert error.extra["errors"]
        assert error.extra["pointer"] == error.extra["errors"][0]["pointer"]
        assert json.dumps(error.problem(), ensure_ascii=False).encode()
        return None
    except NotJson:
        return None


def official(value: Any) -> bool:
    """Whether the official model takes the value: without coercion, and by the names of the wire."""
    try:
        RunAgentInput.model_validate(value, strict=True, by_alias=True, by_name=False)
    except ValidationError:
        return False
    return True


def within_our_bounds(value: Any) -> bool:
    props, answered = value.get("forwardedProps"), [entry["interruptId"] for entry in value.get("resume") or []]
    return (
        all(0 < len(value[key]) <= 512 and not UNWRITABLE.search(value[key]) for key in ("threadId", "runId"))
        and len(answered) == len(set(answered))
        and not (isinstance(props, dict) and props.get("gateway") is not None)
        and depth(value) <= inbound.MAX_DEPTH
    )


def depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def assert_understood(turn: Turn) -> None:
    """What was taken can be given back: the official model takes it, and it reads as the same turn."""
    dumped = inbound.dump_run_input(turn)
    assert official(dumped)
    again = inbound.read_run_input(body(dumped))
    assert again == replace(turn, warnings=again.warnings)
    assert again.warnings == ()  # nothing is left to skip the second time


@steady
@given(json_values)
def test_any_json_is_a_turn_or_a_refusal(value: Any) -> None:
    outcome(body(value))


@steady
@given(st.binary(max_size=40))
def test_any_bytes_are_a_turn_or_a_refusal(data: bytes) -> None:
    outcome(data)


@steady
@given(inputs, st.data())
def test_a_truncated_input_is_a_refusal(value: Any, data: st.DataObject) -> None:
    whole = body(value)
    assert outcome(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@steady
@given(inputs)
def test_an_input_that_the_official_model_takes_is_taken(value: Any) -> None:
    assert official(value)
    if within_our_bounds(value):
        turn = outcome(body(value))
        assert turn is not None
        assert_understood(turn)


@steady
@given(broken())
def test_a_broken_input_is_a_turn_or_a_refusal(value: Any) -> None:
    turn = outcome(body(value))
    if official(value) and within_our_bounds(value):
        assert turn is not None
    if turn is not None:
        assert_understood(turn)


@steady
@given(other_times)
def test_an_input_of_another_time_is_a_turn_or_a_refusal(value: Any) -> None:
    turn = outcome(body(value))
    if turn is not None:
        assert_understood(turn)
