"""A function in the gateway's process: it yields text and events, and is sent the answer to what it asks."""

import json
from collections.abc import AsyncGenerator, Mapping

from gateway.events import Asked, Event, Question, TextDelta, ToolArgs, ToolEnd, ToolResult, ToolStart
from gateway.turn import Answer, Turn

YES_OR_NO = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


async def heron(turn: Turn) -> AsyncGenerator[Event, Mapping[str, Answer]]:
    call = f"{turn.run_id}-catch"
    yield TextDelta("I see something moving.")
    yield ToolStart(call, "catch")
    yield ToolArgs(call, json.dumps({"what": turn.text}))
    yield ToolEnd(call)
    answers = yield Asked((Question(call, "tool_call", "May I?", tool_call_id=call, response_schema=YES_OR_NO),))
    answer = answers[call]
    allowed = answer.status == "resolved" and answer.payload["approved"]
    yield ToolResult(call, "caught" if allowed else "the user said no")
    yield TextDelta(f"I have {turn.text}." if allowed else "Then I go on waiting.")
