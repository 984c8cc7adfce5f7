"""A scripted Claude Code, in both directions, run as a real process: `python -m tests.fakes.claude`.

It accepts any flags and ignores them. `many N` as a prompt makes N deltas of text, as fast as they can be printed; any
other prompt is echoed. Every line has what a real one has, in the same order, and a uuid of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

SESSION = "0c9c1b3e-6f0a-4d8e-9a57-1d2f3e4a5b6c"
MESSAGE = "msg_01scripted0123456789"
MODEL = "claude-scripted"
BATCH = 500
DELTA = "word "


def main() -> None:
    for raw in sys.stdin:
        line = json.loads(raw)
        match line.get("type"):
            case "control_request":
                say(answer(line))
            case "user":
                turn(line)


def answer(line: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    if line["request"]["subtype"] == "initialize":
        payload = {"commands": [], "agents": [], "models": [], "account": {}, "claude_code_version": "2.1.325"}
    response = {"subtype": "success", "request_id": line["request_id"], "response": payload}
    return {"type": "control_response", "response": response}


def turn(line: dict[str, Any]) -> None:
    content = line["message"]["content"]
    prompt = content if isinstance(content, str) else "\n".join(block.get("text", "") for block in content)
    first, *rest = prompt.split() or [""]
    count = int(rest[0]) if first == "many" else 0
    text = DELTA * count if count else f"You said: {prompt}"
    init = {"tools": ["Bash"], "mcp_servers": [], "model": MODEL, "permissionMode": "default", "cwd": "/workspace"}
    say({"type": "system", "subtype": "init", **init, "claude_code_version": "2.1.325", "session_id": SESSION})
    message = {"id": MESSAGE, "type": "message", "role": "assistant", "model": MODEL, "content": []}
    say(event({"type": "message_start", "message": message}))
    say(event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
    for batch in many(count) if count else iter([delta(text)]):
        sys.stdout.write(batch)
    whole = {**message, "content": [{"type": "text", "text": text}]}
    say({"type": "assistant", "message": whole, "parent_tool_use_id": None, "session_id": SESSION})
    say(event({"type": "content_block_stop", "index": 0}))
    say(event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": count}}))
    say(event({"type": "message_stop"}))
    say(result(text, count, line.get("uuid")))


def many(count: int) -> Iterator[str]:
    """The uuids come again in every batch: who measures the reader does not want to wait for the writer."""
    batch = [delta(DELTA, number) for number in range(BATCH)]
    whole = "".join(batch)
    for left in range(count, 0, -BATCH):
        yield whole if left >= BATCH else "".join(batch[:left])


def delta(text: str, number: int = 0) -> str:
    payload = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return compact(event(payload, number)) + "\n"


def event(payload: dict[str, Any], number: int = 0) -> dict[str, Any]:
    about = {"session_id": SESSION, "parent_tool_use_id": None, "uuid": uuid(number), "api_message_id": MESSAGE}
    return {"type": "stream_event", "event": payload, **about}


def uuid(number: int) -> str:
    return f"{number:08x}-6f0a-4d8e-9a57-1d2f3e4a5b6c"


def result(text: str, count: int, prompt: str | None) -> dict[str, Any]:
    used = {MODEL: {"inputTokens": 1, "outputTokens": count, "costUSD": 0.0}}
    payload = {"subtype": "success", "is_error": False, "result": text[:100], "stop_reason": "end_turn"}
    counts = {"modelUsage": used, "model_usage_since_last_result": used, "total_cost_usd": 0.0}
    names = {} if prompt is None else {"user_message_uuid": prompt, "user_message_uuids": [prompt]}
    return {"type": "result", **payload, **counts, **names, "session_id": SESSION}


def compact(line: dict[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":"))


def say(line: dict[str, Any]) -> None:
    print(compact(line), flush=True)


if __name__ == "__main__":
    main()
