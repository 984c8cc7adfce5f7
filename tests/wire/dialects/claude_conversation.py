"""A conversation with Claude Code's dialect, line by line, in the shortest lines that a test needs."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Answer, Approvals
from gateway.wire.dialects import Block, Prompt, SessionStart
from gateway.wire.dialects.claude import ClaudeDialect
from tests.wire.dialects.claude_replay import sent, text

Json = dict[str, Any]
INITIALIZED: Json = {"claude_code_version": "2.1.325", "current_permission_mode": "default"}


def read(dialect: ClaudeDialect, *lines: Json) -> list[Event]:
    return dialect.read([orjson.dumps(line) for line in lines])


def started(begin: SessionStart | None = None) -> ClaudeDialect:
    """A process that has just been started."""
    dialect = ClaudeDialect()
    dialect.start_session(begin or SessionStart("/workspace"))
    return dialect


def ready(begin: SessionStart | None = None, **answer: Any) -> ClaudeDialect:
    dialect = started(begin)
    [request] = sent(dialect)
    read(dialect, response(request, {**INITIALIZED, **answer}))
    assert dialect.is_ready
    return dialect


def prompted(approvals: Approvals = "prompt", key: str = "t1", blocks: list[Block] | None = None) -> ClaudeDialect:
    """A dialect in a turn, with an empty outbox."""
    dialect = ready()
    dialect.prompt(Prompt(blocks or text("hello"), key, approvals=approvals))
    sent(dialect)
    return dialect


def prompt_uuid(dialect: ClaudeDialect, key: str = "t1", prompt: str = "hello") -> str:
    """The uuid of the prompt that the dialect sends."""
    dialect.prompt(Prompt(text(prompt), key))
    uuid: str = sent(dialect)[-1]["uuid"]
    return uuid


# -- lines


def response(request: Json, answer: Json | None = None, **fields: Any) -> Json:
    payload = {"subtype": "success", "request_id": request["request_id"], "response": answer or {}, **fields}
    return {"type": "control_response", "response": payload}


def result(**fields: Any) -> Json:
    return {"type": "result", "subtype": "success", "is_error": False, "session_id": "s1", **fields}


def failed(**fields: Any) -> Json:
    return result(is_error=True, **fields)


def stream(kind: str, parent: str | None = None, extra: Json | None = None, **fields: Any) -> Json:
    event = {"type": kind, **fields}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent, **(extra or {})}


def delta(index: int, kind: str, **fields: Any) -> Json:
    return stream("content_block_delta", index=index, delta={"type": kind, **fields})


def block_start(index: int, kind: str, **fields: Any) -> Json:
    return stream("content_block_start", index=index, content_block={"type": kind, **fields})


def block_stop(index: int) -> Json:
    return stream("content_block_stop", index=index)


MESSAGE = stream("message_start", message={"id": "m1"})
COMPLETE = stream("message_delta", delta={"stop_reason": "tool_use"})
STOPPED = stream("message_stop")


def assistant(*blocks: Json, parent: str | None = None, **fields: Any) -> Json:
    message = {"id": "m2", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, **fields}


def streamed(*blocks: Json) -> Json:
    """The whole message that repeats the streamed one."""
    return {"type": "assistant", "message": {"id": "m1", "content": list(blocks)}, "parent_tool_use_id": None}


def tool_result(call: str, content: Any, parent: str | None = None, **fields: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, **fields}
    return {"type": "user", "message": {"content": [block]}, "parent_tool_use_id": parent}


def system(subtype: str, **fields: Any) -> Json:
    return {"type": "system", "subtype": subtype, **fields}


def background(*tasks: str) -> Json:
    """The list of subagents in the background."""
    return system("background_tasks_changed", tasks=[{"task_id": task, "task_type": "local_agent"} for task in tasks])


def request(subtype: str, number: str = "r1", **fields: Any) -> Json:
    return {"type": "control_request", "request_id": number, "request": {"subtype": subtype, **fields}}


def can_use_tool(tool: str = "Bash", call: str = "c1", number: str = "r1", **fields: Any) -> Json:
    arguments = fields.pop("input", {"command": "ls"})
    return request("can_use_tool", number, tool_name=tool, tool_use_id=call, input=arguments, **fields)


# -- questions


def interrupts_in(events: list[Event]) -> list[Interrupt]:
    return [question for event in events if isinstance(event, InterruptRequested) for question in event.interrupts]


def respond(dialect: ClaudeDialect, line: Json, payload: Any, status: Any = "resolved") -> Json:
    """The response to Claude for this answer of the user."""
    [question] = interrupts_in(read(dialect, line))
    dialect.answer(question.id, Answer(question.id, status, payload))
    return responses_sent(dialect)[-1]


def responses_sent(dialect: ClaudeDialect) -> list[Json]:
    """The responses to Claude's requests."""
    payloads = [line["response"] for line in sent(dialect) if line["type"] == "control_response"]
    return [line.get("response", line) for line in payloads]
