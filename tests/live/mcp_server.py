"""The smallest MCP server: one tool that gives back what it is given. Standard library only.

`python mcp_server.py` speaks over stdio, and its tool is `say`; `python mcp_server.py --http` on a free port of
loopback, prints its URL, and its tool is `shout`.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"name": "shout" if "--http" in sys.argv else "say", "description": "Says a text.", "inputSchema": SCHEMA}


def answer(line: str | bytes) -> dict[str, Any] | None:
    """None for a notification."""
    request = json.loads(line)
    if "id" not in request:
        return None
    result = _result(request["method"], request.get("params") or {})
    refused = {"error": {"code": -32601, "message": "no such method"}}
    return {"jsonrpc": "2.0", "id": request["id"], **(refused if result is None else {"result": result})}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            version = params.get("protocolVersion", "2025-06-18")
            info = {"name": "say", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"{params['name']}: {params['arguments']['text']}"
            return {"content": [{"type": "text", "text": text}], "isError": False}
        case "ping":
            return {}
        case _:
            return None


class Door(BaseHTTPRequestHandler):
    """MCP's HTTP without streams: an answer is one JSON object, and there is nothing to GET."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        told = answer(self.rfile.read(int(self.headers["content-length"])))
        data = b"" if told is None else json.dumps(told).encode()
        self.send_response(202 if told is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


def main() -> None:
    if "--http" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()
    for line in sys.stdin:
        if told := answer(line):
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
