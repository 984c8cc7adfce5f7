"""A function in the gateway's process. Where it yields an interrupt, it receives the user's answer."""

import json
from collections.abc import AsyncGenerator, Mapping

from gateway import (
    Answer,
    Event,
    Interrupt,
    InterruptRequested,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    Turn,
)

APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


async def heron(turn: Turn) -> AsyncGenerator[Event, Mapping[str, Answer]]:
    call = f"{turn.run_id}-catch"
    yield TextMessageContent("I see something moving.")
    yield ToolCallStart(call, "catch")
    yield ToolCallArgs(call, json.dumps({"what": turn.text}))
    yield ToolCallEnd(call)
    answers = yield InterruptRequested(
        (Interrupt(call, "tool_call", "May I catch it?", tool_call_id=call, response_schema=APPROVAL),)
    )
    answer = answers[call]
    allowed = answer.status == "resolved" and answer.payload["approved"]
    yield ToolCallResult(call, "caught" if allowed else "denied by the user")
    yield TextMessageContent(f"I have {turn.text}." if allowed else "Then I keep waiting.")
