"""A program that prints AG-UI events, one per line."""

import json
import sys
from uuid import uuid4


def emit(kind: str, **fields: object) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


prompt = sys.stdin.read().strip()
call = uuid4().hex
answer = uuid4().hex
emit("REASONING_MESSAGE_CHUNK", messageId=uuid4().hex, delta="A hole. Something may be in it.")
emit("TOOL_CALL_START", toolCallId=call, toolCallName="look")
emit("TOOL_CALL_ARGS", toolCallId=call, delta=json.dumps({"where": prompt}))
emit("TOOL_CALL_END", toolCallId=call)
emit("TOOL_CALL_RESULT", toolCallId=call, messageId=uuid4().hex, content="a vole")
emit("TEXT_MESSAGE_CHUNK", messageId=answer, role="assistant", delta="There is a vole in it.")
