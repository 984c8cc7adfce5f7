"""A function in the gateway's process: it yields text and events, and is sent the answer to what it asks."""

import json
from collections.abc import AsyncGenerator, Mapping

from gateway.events import (
    Event,
    Interrupt,
    InterruptRequested,
    TextMessageContent,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import Answer, Turn

YES_OR_NO = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


async def heron(turn: Turn) -> AsyncGenerator[Event, Mapping[str, Answer]]:
    call = f"{turn.run_id}-catch"
    yield TextMessageContent("I see something moving.")
    yield ToolCallStart(call, "catch")
    yield ToolCallArgs(call, json.dumps({"what": turn.text}))
    yield ToolCallEnd(call)
    answers = yield InterruptRequested(
        (Interrupt(call, "tool_call", "May I?", tool_call_id=call, response_schema=YES_OR_NO),)
    )
    answer = answers[call]
    allowed = answer.status == "resolved" and answer.payload["approved"]
    yield ToolCallResult(call, "caught" if allowed else "the user said no")
    yield TextMessageContent(f"I have {turn.text}." if allowed else "Then I go on waiting.")
