"""One run, read as server-sent events or as protobuf: `python client.py AGENT PROMPT [--protobuf]`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx

GATEWAY = os.environ.get("GATEWAY", "http://127.0.0.1:8123")
PROTOBUF = "application/vnd.ag-ui.event+proto"


def run_input(prompt: str) -> dict[str, Any]:
    message = {"id": uuid4().hex, "role": "user", "content": prompt}
    return {"threadId": uuid4().hex, "runId": uuid4().hex, "protocolVersion": "1.0", "messages": [message]}


def from_sse(response: httpx.Response) -> Iterator[dict[str, Any]]:
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def from_protobuf(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Four bytes of length, then one `Event`; it may be cut anywhere on its way."""
    import ag_ui_pb2  # made by protoc, see README.md
    from google.protobuf.json_format import MessageToDict

    held = b""
    for data in response.iter_bytes():
        held += data
        while len(held) >= 4 and len(held) >= 4 + int.from_bytes(held[:4], "big"):
            end = 4 + int.from_bytes(held[:4], "big")
            event = ag_ui_pb2.Event.FromString(held[4:end])
            held = held[end:]
            arm = event.WhichOneof("event")
            fields = MessageToDict(getattr(event, arm))
            fields.pop("baseEvent", None)
            yield {"type": arm.upper(), **fields}


def main(agent: str, prompt: str, *flags: str) -> None:
    binary = "--protobuf" in flags
    with httpx.Client(base_url=GATEWAY, timeout=None) as client:
        capabilities = client.get(f"/agents/{agent}/capabilities").raise_for_status().json()
        print("reasoning:", capabilities.get("reasoning", {}).get("supported", "unknown"))
        accept = {"accept": PROTOBUF if binary else "text/event-stream"}
        with client.stream("POST", f"/agents/{agent}", json=run_input(prompt), headers=accept) as response:
            if response.is_error:
                response.read()
                sys.exit(f"refused: {response.json()['detail']}")
            for event in from_protobuf(response) if binary else from_sse(response):
                print(json.dumps(event, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
