"""The smallest MCP server: one tool `say` over stdio that gives back what it is given. Standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOL = {"name": "say", "description": "Says a text.", "inputSchema": SCHEMA}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            version = params.get("protocolVersion", "2025-06-18")
            info = {"name": "say", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"said: {params['arguments']['text']}"
            return {"content": [{"type": "text", "text": text}], "isError": False}
        case "ping":
            return {}
        case _:
            return None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        refused = {"error": {"code": -32601, "message": "no such method"}}
        told = refused if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
