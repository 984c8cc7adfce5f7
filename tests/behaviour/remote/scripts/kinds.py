"""Agents for what a stream can hold: together they say all 31 kinds of event, with every field that each may have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Interrupt,
    InterruptRequested,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import Turn

MORE = {"timestamp": 1_700_000_000_000, "rawEvent": {"of": ["theirs", None, 1.5]}, "metadata": {"a": {"b": [None]}}}
"""What any event may say beside its own."""
PATCH = [{"op": "add", "path": "/a", "value": None}, {"op": "move", "from": "/a", "path": "/b"}]
MESSAGES = [
    {"id": "1", "role": "system", "content": "s", "name": "n"},
    {"id": "2", "role": "developer", "content": "d"},
    {"id": "3", "role": "user", "content": [{"type": "text", "text": "look"}]},
    {
        "id": "4",
        "role": "assistant",
        "content": "a",
        "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"id": "5", "role": "tool", "toolCallId": "c", "content": "r", "error": "e"},
    {"id": "6", "role": "reasoning", "content": "hm"},
    {"id": "7", "role": "activity", "activityType": "plan", "content": {"steps": []}},
]
USAGE = [{"provider": "p", "model": "m", "inputTokens": 3, "outputTokens": 4, "totalTokens": 7, "reasoningTokens": 1}]
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def _message(kind: str, key: str, *texts: str, **start: Any) -> list[dict[str, Any]]:
    contents = [{"type": f"{kind}_CONTENT", "messageId": key, "delta": text} for text in texts]
    return [
        {"type": f"{kind}_START", "messageId": key, **start},
        *contents,
        {"type": f"{kind}_END", "messageId": key},
    ]


def _call(key: str, name: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": name, **more},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": '{"é":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": key, "delta": "1}", **more},
        {"type": "TOOL_CALL_END", "toolCallId": key, **more},
    ]


async def texts(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "RUN_STARTED", "threadId": "theirs", "runId": "theirs"}
    texts = ("plain ", "again ", 'a "quote", a \\ and a\ttab\n', "é 漢 🎉 \u2028", "\x7f\x01", "</script>", "🎉")
    for event in _message("TEXT_MESSAGE", "t1", *texts, role="assistant", name="n", **MORE):
        yield event
    for event in _message("TEXT_MESSAGE", "t2", "of the user's", role="user"):
        yield event
    yield {"type": "TEXT_MESSAGE_CHUNK", "messageId": "t3", "role": "assistant", "delta": "in ", **MORE}
    yield {"type": "TEXT_MESSAGE_CHUNK", "delta": "chunks"}
    yield TextMessageContent("by the gateway")
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t4", "delta": "without a start"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t4", "delta": "two halves \ud83c"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t4", "delta": "\udf89 of one"}


async def thoughts(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "REASONING_START", "messageId": "r", **MORE}
    for event in _message("REASONING_MESSAGE", "r", "hm ", "…", role="reasoning"):
        yield event
    yield {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r", "encryptedValue": "x=="}
    yield {"type": "REASONING_END", "messageId": "r"}
    yield {"type": "REASONING_MESSAGE_CHUNK", "messageId": "r2", "delta": "in a chunk"}
    yield {"type": "REASONING_MESSAGE_CHUNK", "messageId": "r2", "delta": ""}


async def tools(turn: Turn) -> AsyncIterator[Any]:
    for event in _message("TEXT_MESSAGE", "t", "I look. ", role="assistant"):
        yield event
    for event in _call("c1", "look", parentMessageId="t", **MORE):
        yield event
    parts = [
        {"type": "text", "text": "seen"},
        {"type": "image", "source": {"type": "url", "value": "https://example.org/x.png", "mimeType": "image/png"}},
    ]
    yield {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c1", "content": parts, "role": "tool", **MORE}
    yield {"type": "TOOL_CALL_CHUNK", "toolCallId": "c2", "toolCallName": "again", "delta": "{}"}
    yield {"type": "TOOL_CALL_CHUNK", "toolCallId": "c2", "delta": " "}
    yield {"type": "TOOL_CALL_RESULT", "messageId": "y", "toolCallId": "c2", "content": "text"}
    for event in _call("c3", "forgotten"):
        yield event


async def states(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "STATE_SNAPSHOT", "snapshot": {"given": turn.state, "n": 2**53 - 1, "f": 0.1, "none": None}, **MORE}
    yield {"type": "STATE_DELTA", "delta": PATCH, **MORE}
    yield {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {"n": 1}, "replace": False}
    yield {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "plan", "patch": PATCH, **MORE}
    yield {"type": "MESSAGES_SNAPSHOT", "messages": [*turn.messages, *MESSAGES], **MORE}


async def others(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "STEP_STARTED", "stepName": "s", **MORE}
    yield {"type": "CUSTOM", "name": "mine", "value": {"none": None, "deep": [[[1]]]}, **MORE}
    yield {"type": "CUSTOM", "name": "nothing", "value": None}
    yield {"type": "RAW", "event": {"any": ["thing", None]}, "source": "elsewhere", **MORE}
    yield {"type": "RAW", "event": None}
    yield {"type": "OF_TOMORROW", "value": 1}
    yield {"type": "STEP_FINISHED", "stepName": "s", **MORE}
    yield {"type": "STEP_FINISHED", "stepName": "never started", **MORE}
    yield {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"sum": [1, None]}, "usage": USAGE, **MORE}


async def helpers(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": "s1", "name": "Reader", "description": "reads", **MORE}
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": "s2", "name": "Inner", "parentSubagentRunId": "s1"}
    tag = {"subagentRunId": "s2"}
    for event in _message("TEXT_MESSAGE", "t", "from ", "within", role="assistant"):
        yield {**event, **tag}
    for event in _call("c", "look"):
        yield {**event, **tag}
    yield {"type": "TOOL_CALL_RESULT", "messageId": "x", "toolCallId": "c", "content": "seen", **tag}
    yield {"type": "STEP_STARTED", "stepName": "s", **tag}
    yield {"type": "STEP_FINISHED", "stepName": "s", **tag}
    yield {"type": "SUBAGENT_ERROR", "subagentRunId": "s2", "message": "no more", "code": "TIRED"}
    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": "s1", "result": {"n": None}}
    yield {"type": "SUBAGENT_STARTED", "subagentRunId": "s3", "name": "Left open"}


async def breaks(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "TEXT_MESSAGE_START", "messageId": "t", "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t", "delta": "so far"}
    yield {"type": "RUN_ERROR", "message": "it is over", "code": "MINE", "usage": USAGE, **MORE}


async def malformed(turn: Turn) -> AsyncIterator[Any]:
    yield "before"
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": 7, "delta": "x"}


async def asks(turn: Turn) -> AsyncGenerator[Any, Any]:
    yield SubagentStarted("helper", "Helper")
    yield ToolCallStart("c", "delete", subagent="helper")
    yield ToolCallArgs("c", "{}")
    yield ToolCallEnd("c")
    first = Interrupt("q1", "tool_call", "May it?", tool_call_id="c", response_schema=SCHEMA, subagent="helper")
    second = Interrupt("q2", "confirmation", metadata={"why": [None]}, expires_in=600)
    answers = yield InterruptRequested((first, second))
    results = {name: [answer.status, answer.payload] for name, answer in sorted(answers.items())}
    yield ToolCallResult("c", str(results), subagent="helper")
    yield SubagentFinished("helper", results)
    answers = yield InterruptRequested((Interrupt("q3", "input_required", response_schema=SCHEMA),))
    yield f"In the end: {answers['q3'].payload}"


async def asks_anew(turn: Turn) -> AsyncIterator[Any]:
    """It does not wait: what it is answered comes with a new turn."""
    if turn.resume:
        yield "; ".join(f"{answer.interrupt_id}={answer.status}:{answer.payload}" for answer in turn.resume)
        return
    interrupt = {
        "id": "anew",
        "reason": "confirmation",
        "message": "Well?",
        "responseSchema": SCHEMA,
        "metadata": {"a": 1},
    }
    outcome = {"type": "interrupt", "interrupts": [interrupt]}
    yield {"type": "RUN_FINISHED", "threadId": "any", "runId": "any", "outcome": outcome}


async def calls(turn: Turn) -> AsyncGenerator[Any, Any]:
    tool = turn.tools[0]["name"]
    for key in ("k1", "k2"):
        yield ToolCallStart(key, tool)
        yield ToolCallArgs(key, '{"color":"teal"}')
        yield ToolCallEnd(key)
    answers = yield ClientToolsCalled((ClientToolCall("k1", tool), ClientToolCall("k2", tool)))
    results = [
        f"{key}={(answer.payload or {}).get('content', answer.status)}" for key, answer in sorted(answers.items())
    ]
    yield ", ".join(results)


async def leaves_calls(turn: Turn) -> AsyncIterator[Any]:
    """The stateless way: the run is over, and the next one has the result among its messages."""
    results = [message["content"] for message in turn.messages if message["role"] == "tool"]
    if results:
        yield f"it gave {results}"
        return
    for event in _call("left", turn.tools[0]["name"]):
        yield event
    outcome = {"type": "success", "pendingToolCallIds": ["left"]}
    yield {"type": "RUN_FINISHED", "threadId": "any", "runId": "any", "outcome": outcome}


async def endless(turn: Turn) -> AsyncIterator[Any]:
    while True:
        yield "on and on "
        await asyncio.sleep(0.02)
