"""A process that says what time it is, a line every few milliseconds: as an ACP agent (`acp`), or bare (`raw COUNT`).

The clock is the machine's own monotonic one, which all processes share: a reader knows how long a line was on its way.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

PAUSE = 0.003


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def stamps(session: str, count: int) -> None:
    for _ in range(count):
        time.sleep(PAUSE)
        content = {"type": "text", "text": f"@{time.monotonic_ns()}@"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def agent() -> None:
    sessions = 0
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
            case "session/new":
                sessions += 1
                send({"id": message["id"], "result": {"sessionId": f"s{sessions}"}})
            case "session/prompt":
                words = message["params"]["prompt"][0]["text"].split()
                stamps(message["params"]["sessionId"], int(words[-1]) if words[-1].isdigit() else 1)
                send({"id": message["id"], "result": {"stopReason": "end_turn"}})


if __name__ == "__main__":
    agent() if sys.argv[1] == "acp" else stamps("s", int(sys.argv[2]))
