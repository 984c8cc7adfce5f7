"""A conversation with Claude Code's dialect, line by line: the shortest lines that say what a test is about."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.claude.stream import ClaudeDialect
from tests.wire.dialects.claude_replay import sent, text

Json = dict[str, Any]
INITIALIZED: Json = {"claude_code_version": "2.1.325", "current_permission_mode": "default"}


def told(dialect: ClaudeDialect, *lines: Json) -> list[Event]:
    return dialect.read([orjson.dumps(line) for line in lines])


def begun(begin: SessionStart | None = None) -> ClaudeDialect:
    """A process that has just been started."""
    dialect = ClaudeDialect()
    dialect.start_session(begin or SessionStart("/workspace"))
    return dialect


def ready(begin: SessionStart | None = None, **answer: Any) -> ClaudeDialect:
    dialect = begun(begin)
    [request] = sent(dialect)
    told(dialect, response(request, {**INITIALIZED, **answer}))
    assert dialect.is_ready
    return dialect


def prompted(approvals: Approvals = "prompt", key: str = "t1", blocks: list[Block] | None = None) -> ClaudeDialect:
    """In a turn; what it sent so far is taken."""
    dialect = ready()
    dialect.prompt(Prompt(blocks or text("hello"), key, approvals=approvals))
    sent(dialect)
    return dialect


def uuid_of(dialect: ClaudeDialect, key: str = "t1", words: str = "hello") -> str:
    """Of the prompt that it sends."""
    dialect.prompt(Prompt(text(words), key))
    uuid: str = sent(dialect)[-1]["uuid"]
    return uuid


# -- lines


def response(request: Json, answer: Json | None = None, **fields: Any) -> Json:
    told = {"subtype": "success", "request_id": request["request_id"], "response": answer or {}, **fields}
    return {"type": "control_response", "response": told}


def result(**fields: Any) -> Json:
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": "s1", **fields}


def failed(**fields: Any) -> Json:
    return result(is_error=True, **fields)


def stream(kind: str, parent: str | None = None, extra: Json | None = None, **fields: Any) -> Json:
    event = {"type": kind, **fields}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent, **(extra or {})}


def delta(index: int, kind: str, **fields: Any) -> Json:
    return stream("content_block_delta", index=index, delta={"type": kind, **fields})


def opening(index: int, kind: str, **fields: Any) -> Json:
    return stream("content_block_start", index=index, content_block={"type": kind, **fields})


def closing(index: int) -> Json:
    return stream("content_block_stop", index=index)


MESSAGE = stream("message_start", message={"id": "m1"})
COMPLETE = stream("message_delta", delta={"stop_reason": "tool_use"})
STOPPED = stream("message_stop")


def assistant(*blocks: Json, parent: str | None = None, **fields: Any) -> Json:
    message = {"id": "m2", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, **fields}


def streamed(*blocks: Json) -> Json:
    """Once more whole, what the message that streams has told."""
    return {"type": "assistant", "message": {"id": "m1", "content": list(blocks)}, "parent_tool_use_id": None}


def tool_result(call: str, content: Any, parent: str | None = None, **fields: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, **fields}
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": parent}


def notice(subtype: str, **fields: Any) -> Json:
    return {"type": "system", "subtype": subtype, **fields}


def at_work(*tasks: str) -> Json:
    """Which subagents are in the background."""
    return notice("background_tasks_changed", tasks=[{"task_id": task, "task_type": "local_agent"} for task in tasks])


def request(subtype: str, number: str = "r1", **fields: Any) -> Json:
    return {"type": "control_request", "request_id": number, "request": {"subtype": subtype, **fields}}


def may_use(tool: str = "Bash", call: str = "c1", number: str = "r1", **fields: Any) -> Json:
    given = fields.pop("input", {"command": "ls"})
    return request("can_use_tool", number, tool_name=tool, tool_use_id=call, input=given, **fields)


# -- questions


def asked(events: list[Event]) -> list[Interrupt]:
    return [question for event in events if isinstance(event, InterruptRequested) for question in event.interrupts]


def answer_to(dialect: ClaudeDialect, line: Json, payload: Any, status: Any = "resolved") -> Json:
    """What Claude is answered when a human answers so."""
    [question] = asked(told(dialect, line))
    dialect.answer(question.id, Answer(question.id, status, payload))
    return answers(dialect)[-1]


def answers(dialect: ClaudeDialect) -> list[Json]:
    """To Claude's requests."""
    found = [line["response"] for line in sent(dialect) if line["type"] == "control_response"]
    return [line.get("response", line) for line in found]
