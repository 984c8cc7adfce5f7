"""AG-UI events for tests: hypothesis strategies for any valid event and any list of them, and the recorded streams.

`events()` is one valid event of any of the 31 types; ids and tags come from tiny alphabets, so that events meet.
`streams()` is a list of them in any order, most of which no client accepts; `runs()` is one that at least starts as a
run. `GOOD` and `BAD` are streams with what the official client makes of them, `EVENTS` single events as it writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gateway.events import Wire

Strategy: TypeAlias = SearchStrategy[Any]

steady = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=70,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""The same examples in every run, and no clock."""

VECTORS = Path(__file__).parent.parent / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    # By bytes: some texts hold characters that only Python takes for the end of a line.
    return [json.loads(line) for line in (VECTORS / f"{name}.jsonl").read_bytes().splitlines()]


GOOD = vectors("good-sequences")
BAD = vectors("bad-sequences")
EVENTS = vectors("events")

IDS = st.sampled_from(("a", "b", ""))
TAGS = st.sampled_from(("s", "t"))
TEXTS = st.text(max_size=4)
COUNTS = st.integers(0, 2**53 - 1)
VALUES: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
"""Any JSON value."""
SOMETHING = VALUES.filter(lambda value: value is not None)
OBJECTS = st.dictionaries(st.sampled_from(("a", "b")) | TEXTS, VALUES, max_size=3)


def shape(required: dict[str, Strategy], optional: dict[str, Strategy] | None = None) -> Strategy:
    return st.fixed_dictionaries(required, optional=optional or {})


POINTERS = st.sampled_from(("", "/a", "/a/0", "/b", "/b/-", "/b~1/~0"))
PATCHES = st.lists(
    shape({"op": st.sampled_from(("add", "replace", "test")), "path": POINTERS, "value": VALUES})
    | shape({"op": st.just("remove"), "path": POINTERS})
    | shape({"op": st.sampled_from(("move", "copy")), "from": POINTERS, "path": POINTERS}),
    max_size=3,
)

SOURCES = (
    shape({"type": st.just("data"), "value": TEXTS, "mimeType": TEXTS})
    | shape({"type": st.just("url"), "value": TEXTS}, {"mimeType": TEXTS})
    | shape({"type": st.just("file"), "value": TEXTS}, {"provider": TEXTS, "mimeType": TEXTS})
)
PART = {"id": TEXTS, "metadata": SOMETHING}
PARTS = st.lists(
    shape({"type": st.just("text"), "text": TEXTS}, PART)
    | shape({"type": st.sampled_from(("image", "audio", "video", "document")), "source": SOURCES}, PART),
    max_size=3,
)

OWNED = {"subagentRunId": TAGS, "metadata": OBJECTS}
AUTHORED = {**OWNED, "name": TEXTS, "encryptedValue": TEXTS}
CALLS = st.lists(
    shape(
        {"id": IDS, "type": st.just("function"), "function": shape({"name": TEXTS, "arguments": TEXTS})},
        {"encryptedValue": TEXTS, "metadata": OBJECTS},
    ),
    max_size=2,
)
MESSAGES = st.lists(
    shape({"id": IDS, "role": st.sampled_from(("developer", "system")), "content": TEXTS}, AUTHORED)
    | shape({"id": IDS, "role": st.just("user"), "content": TEXTS | PARTS}, AUTHORED)
    | shape({"id": IDS, "role": st.just("assistant")}, {**AUTHORED, "content": TEXTS, "toolCalls": CALLS})
    | shape(
        {"id": IDS, "role": st.just("tool"), "toolCallId": IDS, "content": TEXTS | PARTS},
        {**OWNED, "error": TEXTS, "encryptedValue": TEXTS},
    )
    | shape({"id": IDS, "role": st.just("activity"), "activityType": IDS, "content": OBJECTS}, OWNED)
    | shape({"id": IDS, "role": st.just("reasoning"), "content": TEXTS}, {**OWNED, "encryptedValue": TEXTS}),
    max_size=3,
)

INPUTS = shape(
    {"threadId": IDS, "runId": IDS, "messages": MESSAGES},
    {
        "protocolVersion": st.just("1.0"),
        "parentRunId": IDS,
        "state": SOMETHING,
        "tools": st.lists(shape({"name": TEXTS, "description": TEXTS}, {"parameters": SOMETHING}), max_size=2),
        "context": st.lists(shape({"description": TEXTS, "value": TEXTS}), max_size=2),
        "forwardedProps": SOMETHING,
    },
)
INTERRUPTS = st.lists(
    shape(
        {"id": IDS, "reason": TEXTS},
        {"message": TEXTS, "toolCallId": IDS, "responseSchema": OBJECTS, "expiresAt": TEXTS, **OWNED},
    ),
    min_size=1,
    max_size=2,
)
OUTCOMES = (
    shape({"type": st.just("success")}, {"pendingToolCallIds": st.lists(IDS, max_size=2)})
    | shape({"type": st.just("interrupt"), "interrupts": INTERRUPTS})
    | shape({"type": st.just("cancelled")})
)
SUBAGENT_OUTCOMES = shape({"type": st.just("success")}) | shape(
    {"type": st.just("suspended")}, {"interruptIds": st.lists(IDS, max_size=2)}
)
USAGE = st.lists(shape({}, {"provider": TEXTS, "inputTokens": COUNTS, "outputTokens": COUNTS}), max_size=2)

ROLES = st.sampled_from(("developer", "system", "assistant", "user"))
MESSAGE = {"messageId": IDS}
CALL = {"toolCallId": IDS}
RUN = {"threadId": IDS, "runId": IDS}
STEP = {"stepName": IDS}

BASE = {
    "timestamp": st.integers(-(2**53) + 1, 2**53 - 1),
    "rawEvent": SOMETHING,
    "metadata": OBJECTS,
}
ATTRIBUTED = {**BASE, "subagentRunId": TAGS}

FIELDS: dict[str, tuple[dict[str, Strategy], dict[str, Strategy]]] = {
    "RUN_STARTED": (RUN, {**BASE, "protocolVersion": st.just("1.0"), "parentRunId": IDS, "input": INPUTS}),
    "RUN_FINISHED": (RUN, {**BASE, "result": SOMETHING, "outcome": OUTCOMES, "usage": USAGE}),
    "RUN_ERROR": ({"message": TEXTS}, {**BASE, "code": TEXTS, "usage": USAGE}),
    "STEP_STARTED": (STEP, ATTRIBUTED),
    "STEP_FINISHED": (STEP, ATTRIBUTED),
    "TEXT_MESSAGE_START": (MESSAGE, {**ATTRIBUTED, "role": ROLES, "name": TEXTS}),
    "TEXT_MESSAGE_CONTENT": ({**MESSAGE, "delta": TEXTS}, ATTRIBUTED),
    "TEXT_MESSAGE_END": (MESSAGE, ATTRIBUTED),
    "TEXT_MESSAGE_CHUNK": ({}, {**ATTRIBUTED, **MESSAGE, "role": ROLES, "delta": TEXTS, "name": TEXTS}),
    "TOOL_CALL_START": ({**CALL, "toolCallName": IDS}, {**ATTRIBUTED, "parentMessageId": IDS}),
    "TOOL_CALL_ARGS": ({**CALL, "delta": TEXTS}, ATTRIBUTED),
    "TOOL_CALL_END": (CALL, ATTRIBUTED),
    "TOOL_CALL_CHUNK": ({}, {**ATTRIBUTED, **CALL, "toolCallName": IDS, "parentMessageId": IDS, "delta": TEXTS}),
    "TOOL_CALL_RESULT": ({**MESSAGE, **CALL, "content": TEXTS | PARTS}, {**ATTRIBUTED, "role": st.just("tool")}),
    "STATE_SNAPSHOT": ({"snapshot": VALUES}, ATTRIBUTED),
    "STATE_DELTA": ({"delta": PATCHES}, ATTRIBUTED),
    "MESSAGES_SNAPSHOT": ({"messages": MESSAGES}, BASE),
    "ACTIVITY_SNAPSHOT": (
        {**MESSAGE, "activityType": IDS, "content": OBJECTS},
        {**ATTRIBUTED, "replace": st.booleans()},
    ),
    "ACTIVITY_DELTA": ({**MESSAGE, "activityType": IDS, "patch": PATCHES}, ATTRIBUTED),
    "REASONING_START": (MESSAGE, ATTRIBUTED),
    "REASONING_END": (MESSAGE, ATTRIBUTED),
    "REASONING_MESSAGE_START": ({**MESSAGE, "role": st.just("reasoning")}, ATTRIBUTED),
    "REASONING_MESSAGE_CONTENT": ({**MESSAGE, "delta": TEXTS}, ATTRIBUTED),
    "REASONING_MESSAGE_END": (MESSAGE, ATTRIBUTED),
    "REASONING_MESSAGE_CHUNK": ({}, {**ATTRIBUTED, **MESSAGE, "delta": TEXTS}),
    "REASONING_ENCRYPTED_VALUE": (
        {"subtype": st.sampled_from(("message", "tool-call")), "entityId": IDS, "encryptedValue": TEXTS},
        ATTRIBUTED,
    ),
    "SUBAGENT_STARTED": (
        {"subagentRunId": TAGS, "name": TEXTS},
        {**BASE, "description": TEXTS, "parentSubagentRunId": TAGS, "parentToolCallId": IDS, "parentMessageId": IDS},
    ),
    "SUBAGENT_FINISHED": ({"subagentRunId": TAGS}, {**BASE, "result": SOMETHING, "outcome": SUBAGENT_OUTCOMES}),
    "SUBAGENT_ERROR": ({"subagentRunId": TAGS, "message": TEXTS}, {**BASE, "code": TEXTS}),
    "RAW": ({"event": VALUES}, {**ATTRIBUTED, "source": TEXTS}),
    "CUSTOM": ({"name": TEXTS, "value": VALUES}, ATTRIBUTED),
}
"""Type → required and optional fields."""

CHUNKS = ("TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK")
DELTAS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")
WHOLE = tuple(kind for kind in FIELDS if kind not in CHUNKS)
"""All but the chunks."""
INSIDE = tuple(kind for kind in FIELDS if not kind.startswith("RUN_"))
"""All that may come inside a run."""


def of(kind: str) -> SearchStrategy[Wire]:
    required, optional = FIELDS[kind]
    named = {"type": st.just(kind), **required}
    tag = {"subagentRunId": TAGS} if optional.get("subagentRunId") is TAGS else {}
    # Mostly bare: every field more is a reason more to be refused, or not to be merged.
    return shape(named) | shape({**named, **tag}) | shape(named, optional)


def events(*kinds: str) -> SearchStrategy[Wire]:
    """One valid event, of these types if any are given."""
    return st.one_of([of(kind) for kind in kinds or FIELDS])


def streams(*kinds: str) -> SearchStrategy[list[Wire]]:
    """Valid events in any order."""
    return st.lists(events(*kinds), max_size=20)


def runs(*kinds: str) -> SearchStrategy[list[Wire]]:
    """A stream that begins with RUN_STARTED; the rest is as it comes."""
    start = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    return st.lists(events(*(kinds or INSIDE)), min_size=6, max_size=30).map(lambda rest: [start, *rest])
