"""A program that prints AG-UI events, one a line."""

import json
import sys
from uuid import uuid4


def say(kind: str, **fields: object) -> None:
    print(json.dumps({"type": kind, **fields}), flush=True)


prompt, call, answer = sys.stdin.read().strip(), uuid4().hex, uuid4().hex
say("REASONING_MESSAGE_CHUNK", messageId=uuid4().hex, delta="A hole. Something may be in it.")
say("TOOL_CALL_START", toolCallId=call, toolCallName="look")
say("TOOL_CALL_ARGS", toolCallId=call, delta=json.dumps({"where": prompt}))
say("TOOL_CALL_END", toolCallId=call)
say("TOOL_CALL_RESULT", toolCallId=call, messageId=uuid4().hex, content="a vole")
say("TEXT_MESSAGE_CHUNK", messageId=answer, role="assistant", delta="There is a vole in it.")
