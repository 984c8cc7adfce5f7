"""Hypothesis strategies for valid AG-UI events of all 31 types."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Object = SearchStrategy[dict[str, Any]]
EXACT = 2**53 - 1

tried = settings(deadline=None, max_examples=60)
tried_briefly = settings(deadline=None, max_examples=20)
"""For what runs once for each type. No deadline: it would only measure how busy the machine is."""

text = st.text(max_size=12)
integers = st.integers(-EXACT, EXACT)
counts = st.integers(0, EXACT)
scalars = st.none() | st.booleans() | integers | st.floats(allow_nan=False, allow_infinity=False) | text
keys = text | st.integers(0, 30).map(str)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
some_value = values.filter(lambda value: value is not None)
objects = st.dictionaries(keys, values, max_size=3)


def strings(*names: str) -> dict[str, SearchStrategy[Any]]:
    return dict.fromkeys(names, text)


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Object:
    return st.fixed_dictionaries(required, optional=optional or {})


def few(items: SearchStrategy[Any]) -> SearchStrategy[list[Any]]:
    return st.lists(items, max_size=2)


sources = (
    record({"type": st.just("data"), **strings("value", "mimeType")})
    | record({"type": st.just("url"), **strings("value")}, strings("mimeType"))
    | record({"type": st.just("file"), **strings("value")}, strings("provider", "mimeType"))
)
parts = record({"type": st.just("text"), "text": text}, {"id": text, "metadata": some_value}) | record(
    {"type": st.sampled_from(["image", "audio", "video", "document"]), "source": sources},
    {"id": text, "metadata": some_value},
)
content = text | few(parts)
tool_calls = record(
    {"id": text, "type": st.just("function"), "function": record(strings("name", "arguments"))},
    {"encryptedValue": text, "metadata": objects},
)


def _message(role: str, required: dict[str, Any], optional: dict[str, Any]) -> Object:
    return record(
        {"id": text, "role": st.just(role), **required}, {"subagentRunId": text, "metadata": objects, **optional}
    )


messages = st.one_of(
    _message("developer", {"content": text}, strings("name", "encryptedValue")),
    _message("system", {"content": text}, strings("name", "encryptedValue")),
    _message("user", {"content": content}, strings("name", "encryptedValue")),
    _message("assistant", {}, {"toolCalls": few(tool_calls), **strings("content", "name", "encryptedValue")}),
    _message("tool", {"content": content, "toolCallId": text}, strings("error", "encryptedValue")),
    _message("activity", {"content": objects, "activityType": text}, {}),
    _message("reasoning", {"content": text}, strings("encryptedValue")),
)
pointers = st.lists(st.sampled_from(["/a", "/~0", "/b~1c", "/0", "/-", "/é"]), max_size=2).map("".join)
operations = st.one_of(
    record({"op": st.sampled_from(["add", "replace", "test"]), "path": pointers, "value": values}),
    record({"op": st.just("remove"), "path": pointers}),
    record({"op": st.sampled_from(["move", "copy"]), "path": pointers, "from": pointers}),
)
usage = record(
    {},
    {
        **strings("provider", "model"),
        **dict.fromkeys(["inputTokens", "outputTokens", "totalTokens", "reasoningTokens"], counts),
        **dict.fromkeys(["cachedInputTokens", "cacheWriteInputTokens"], counts),
    },
)
interrupts = record(
    strings("id", "reason"),
    {
        **strings("message", "toolCallId", "subagentRunId"),
        "expiresAt": st.just("2030-01-01T00:00:00Z"),
        "responseSchema": objects,
        "metadata": objects,
    },
)
run_outcomes = st.one_of(
    record({"type": st.just("success")}, {"pendingToolCallIds": few(text)}),
    record({"type": st.just("interrupt"), "interrupts": st.lists(interrupts, min_size=1, max_size=2)}),
    record({"type": st.just("cancelled")}),
)
subagent_outcomes = record({"type": st.just("success")}) | record(
    {"type": st.just("suspended")}, {"interruptIds": few(text)}
)
run_inputs = record(
    {**strings("threadId", "runId"), "messages": few(messages)},
    {
        "protocolVersion": st.just("1.0"),
        "parentRunId": text,
        "state": some_value,
        "forwardedProps": some_value,
        "tools": few(record(strings("name", "description"), {"parameters": objects, "metadata": objects})),
        "context": few(record(strings("description", "value"))),
        "resume": few(
            record(
                {"interruptId": text, "status": st.sampled_from(["resolved", "cancelled"])},
                {"payload": some_value, "metadata": objects},
            )
        ),
    },
)

_BASE = {"timestamp": integers, "rawEvent": some_value, "metadata": objects}


def _event(kind: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> Object:
    return record({"type": st.just(kind), **required}, {**_BASE, **(optional or {})})


def _tagged(kind: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> Object:
    return _event(kind, required, {"subagentRunId": text, **(optional or {})})


_ROLES = st.sampled_from(["developer", "system", "assistant", "user"])
_IDS = strings("messageId")
_CALL = strings("toolCallId")

BY_TYPE: dict[str, Object] = {
    "RUN_STARTED": _event(
        "RUN_STARTED",
        strings("threadId", "runId"),
        {"protocolVersion": st.just("1.0"), "parentRunId": text, "input": run_inputs},
    ),
    "RUN_FINISHED": _event(
        "RUN_FINISHED",
        strings("threadId", "runId"),
        {"result": some_value, "outcome": run_outcomes, "usage": few(usage)},
    ),
    "RUN_ERROR": _event("RUN_ERROR", strings("message"), {"code": text, "usage": few(usage)}),
    "STEP_STARTED": _tagged("STEP_STARTED", strings("stepName")),
    "STEP_FINISHED": _tagged("STEP_FINISHED", strings("stepName")),
    "TEXT_MESSAGE_START": _tagged("TEXT_MESSAGE_START", _IDS, {"role": _ROLES, "name": text}),
    "TEXT_MESSAGE_CONTENT": _tagged("TEXT_MESSAGE_CONTENT", strings("messageId", "delta")),
    "TEXT_MESSAGE_END": _tagged("TEXT_MESSAGE_END", _IDS),
    "TEXT_MESSAGE_CHUNK": _tagged("TEXT_MESSAGE_CHUNK", {}, {"role": _ROLES, **strings("messageId", "delta", "name")}),
    "TOOL_CALL_START": _tagged("TOOL_CALL_START", strings("toolCallId", "toolCallName"), strings("parentMessageId")),
    "TOOL_CALL_ARGS": _tagged("TOOL_CALL_ARGS", strings("toolCallId", "delta")),
    "TOOL_CALL_END": _tagged("TOOL_CALL_END", _CALL),
    "TOOL_CALL_CHUNK": _tagged(
        "TOOL_CALL_CHUNK", {}, strings("toolCallId", "toolCallName", "parentMessageId", "delta")
    ),
    "TOOL_CALL_RESULT": _tagged("TOOL_CALL_RESULT", {**_IDS, **_CALL, "content": content}, {"role": st.just("tool")}),
    "STATE_SNAPSHOT": _tagged("STATE_SNAPSHOT", {"snapshot": values}),
    "STATE_DELTA": _tagged("STATE_DELTA", {"delta": few(operations)}),
    "MESSAGES_SNAPSHOT": _event("MESSAGES_SNAPSHOT", {"messages": few(messages)}),
    "ACTIVITY_SNAPSHOT": _tagged(
        "ACTIVITY_SNAPSHOT", {**strings("messageId", "activityType"), "content": objects}, {"replace": st.booleans()}
    ),
    "ACTIVITY_DELTA": _tagged("ACTIVITY_DELTA", {**strings("messageId", "activityType"), "patch": few(operations)}),
    "REASONING_START": _tagged("REASONING_START", _IDS),
    "REASONING_END": _tagged("REASONING_END", _IDS),
    "REASONING_MESSAGE_START": _tagged("REASONING_MESSAGE_START", {**_IDS, "role": st.just("reasoning")}),
    "REASONING_MESSAGE_CONTENT": _tagged("REASONING_MESSAGE_CONTENT", strings("messageId", "delta")),
    "REASONING_MESSAGE_END": _tagged("REASONING_MESSAGE_END", _IDS),
    "REASONING_MESSAGE_CHUNK": _tagged("REASONING_MESSAGE_CHUNK", {}, strings("messageId", "delta")),
    "REASONING_ENCRYPTED_VALUE": _tagged(
        "REASONING_ENCRYPTED_VALUE",
        {"subtype": st.sampled_from(["message", "tool-call"]), **strings("entityId", "encryptedValue")},
    ),
    "SUBAGENT_STARTED": _event(
        "SUBAGENT_STARTED",
        strings("subagentRunId", "name"),
        strings("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"),
    ),
    "SUBAGENT_FINISHED": _event(
        "SUBAGENT_FINISHED", strings("subagentRunId"), {"result": some_value, "outcome": subagent_outcomes}
    ),
    "SUBAGENT_ERROR": _event("SUBAGENT_ERROR", strings("subagentRunId", "message"), {"code": text}),
    "RAW": _tagged("RAW", {"event": values}, {"source": text}),
    "CUSTOM": _tagged("CUSTOM", {"name": text, "value": values}),
}

events: Object = st.one_of(*BY_TYPE.values())
