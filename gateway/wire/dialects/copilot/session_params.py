"""What a session of Copilot's SDK server is opened with.

In: what the gateway begins it for, and the variables of the agent's environment that the definition names. Out: the
parameters of `session.create` and `session.resume`. The server itself does not look at `COPILOT_PROVIDER_*` and
`COPILOT_MODEL`, as the other modes of the program do: whoever opens a session says which provider it uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.wire.acp.content import TEXTUAL
from gateway.wire.client_tools import by_safe_name, input_schema, tool_description
from gateway.wire.dialects.base import Block, Prompt, SessionStart
from gateway.wire.fields import non_empty, present, text

PREFIX = "COPILOT_PROVIDER_"
TEXTS = {
    "BASE_URL": "baseUrl",
    "TYPE": "type",
    "WIRE_API": "wireApi",
    "TRANSPORT": "transport",
    "API_KEY": "apiKey",
    "API_KEY_COMMAND": "apiKeyCommand",
    "BEARER_TOKEN": "bearerToken",
    "MODEL_ID": "modelId",
    "WIRE_MODEL": "wireModel",
}
NUMBERS = {"MAX_PROMPT_TOKENS": "maxPromptTokens", "MAX_OUTPUT_TOKENS": "maxOutputTokens"}
MODELS = ("COPILOT_MODEL", f"{PREFIX}MODEL_ID", f"{PREFIX}WIRE_MODEL")


def session_params(given: SessionStart) -> dict[str, Any]:
    """For both calls; `params.session` of the definition is sent as it is."""
    env = given.params.get("env")
    told = {name: value for name, value in env.items() if isinstance(value, str)} if isinstance(env, Mapping) else {}
    extra = given.params.get("session")
    return present(
        {
            "streaming": True,
            "includeSubAgentStreamingEvents": True,
            "requestPermission": True,
            "requestUserInput": True,
            "requestElicitation": True,
            "requestExitPlanMode": True,
            "clientName": "agui-gateway",
            "workingDirectory": given.cwd,
            "additionalDirectories": list(given.directories),
            "mcpServers": mcp_servers(given) or None,
            "tools": client_tools(given) or None,
            "envValueMode": "direct",  # else a server's `env` names variables of ours
            "provider": provider(told),
            "model": next((told[name] for name in MODELS if told.get(name)), None),
            **(extra if isinstance(extra, Mapping) else {}),
        }
    )


def provider(env: Mapping[str, str]) -> dict[str, Any] | None:
    """A model provider of one's own; None: GitHub's."""
    if not env.get(f"{PREFIX}BASE_URL"):
        return None
    told: dict[str, Any] = {ours: env.get(f"{PREFIX}{theirs}") for theirs, ours in TEXTS.items()}
    told |= {ours: _number(env.get(f"{PREFIX}{theirs}")) for theirs, ours in NUMBERS.items()}
    version = env.get(f"{PREFIX}AZURE_API_VERSION")
    told["azure"] = {"apiVersion": version} if version else None
    told["headers"] = _headers(env.get(f"{PREFIX}HEADERS", "")) or None
    return present(told)


def _number(digits: str | None) -> int | None:
    return int(digits) if digits is not None and digits.isascii() and digits.isdigit() else None


def _headers(lines: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines.replace("\\n", "\n").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def client_tools(given: SessionStart) -> list[dict[str, Any]]:
    """The client's own. Whether one may run is for the client to say: nobody is asked for leave before."""
    return [
        {"name": name, "description": tool_description(tool), "parameters": input_schema(tool), "skipPermission": True}
        for name, tool in by_safe_name(given.tools).items()
    ]


def mcp_servers(given: SessionStart) -> dict[str, dict[str, Any]]:
    found = {}
    for server in given.mcp_servers:
        if (name := non_empty(server.get("name"))) is not None:
            found[name] = _mcp_server(server)
    return found


def _mcp_server(server: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in server:
        told = {"type": "stdio", "command": server["command"], "args": server.get("args")}
        return present(told | {"env": _named(server.get("env")) or None})
    told = {"type": text(server.get("type")) or "http", "url": server.get("url")}
    return present(told | {"headers": _named(server.get("headers")) or None})


def _named(pairs: Any) -> dict[str, Any]:
    if isinstance(pairs, Mapping):
        return dict(pairs)
    listed = pairs if isinstance(pairs, list | tuple) else ()
    return {pair["name"]: pair.get("value") for pair in listed if isinstance(pair, Mapping) and "name" in pair}


def attachments(prompt: Prompt) -> list[dict[str, Any]]:
    """Whatever of a prompt is bytes."""
    return [told for block in prompt.blocks if (told := _attachment(block)) is not None]


def overlooked(told: dict[str, Any]) -> bool:
    """An attachment of a kind that Copilot leaves out without a word: neither image nor document nor text."""
    mime = told["mimeType"]
    return not (mime.startswith("image/") or mime == "application/pdf" or TEXTUAL.match(mime))


def _attachment(block: Block) -> dict[str, Any] | None:
    match block:
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            return {"type": "blob", "data": data, "mimeType": mime, "displayName": kind}
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
            name = (non_empty(resource.get("uri")) or "file").rpartition("/")[2] or "file"
            return {"type": "blob", "data": data, "mimeType": mime, "displayName": name}
        case _:
            return None
