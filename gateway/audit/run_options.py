"""The options of a run, as the audit log tells them: those that decide what the agent may do and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.agui.option_secrets import mask_url
from gateway.turn import Options

SERVER_FIELDS = ("name", "type", "command", "args", "url")
"""Of an MCP server. Its headers and its environment are secrets, and so may be the query of its URL."""


def describe_options(options: Options) -> dict[str, Any]:
    """Options that the client did not set are left out."""
    fields = {
        "model": options.model,
        "mode": options.mode,
        "approvals": options.approvals,
        "cwd": options.cwd,
        "additionalDirectories": options.additional_directories,
        "mcpServers": [_describe_server(server) for server in options.mcp_servers or ()] or None,
        "skills": options.skills,
        "sessionId": options.session_id,
        "forkSessionId": options.fork_session_id,
        "thinkingOverride": options.thinking_override,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _describe_server(server: Mapping[str, Any]) -> dict[str, Any]:
    described = {name: server[name] for name in SERVER_FIELDS if name in server}
    return described | ({"url": mask_url(str(described["url"]))} if "url" in described else {})
