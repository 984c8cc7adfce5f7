"""Parameters of the gateway's requests to Codex.

In: `SessionStart`, `Prompt` and the `[cli.params]` of the agent's TOML file. Out: the parameters of `thread/start`,
`thread/resume`, `thread/fork`, `turn/start` and `thread/settings/update`. Codex keeps the settings of a turn for the
turns after it.

Of `[cli.params]`: `thread` is passed unchanged to the three requests that open a thread (`approvalPolicy`, `sandbox`,
`config`, `developerInstructions`, `modelProvider`, …); `modes` are those that a run may choose, name →
`{approvalPolicy, sandbox, collaboration}`; `mode` is the one that `thread` amounts to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.wire.acp.content import inline_text
from gateway.wire.dialects.base import Block, Prompt, SessionStart, parse_message
from gateway.wire.dialects.codex.notifications import IGNORED
from gateway.wire.fields import non_empty, obj, text
from gateway.wire.requests import tag_of

NOTIFICATION_START = b'{"method":"'
THREAD_KEY = b'"threadId":"'

INITIALIZE: dict[str, Any] = {
    "clientInfo": {"name": "agui_gateway", "title": "AG-UI gateway", "version": "1"},
    "capabilities": {
        "experimentalApi": True,  # modes, settings between turns, questions to the user
        "requestAttestation": False,
        "optOutNotificationMethods": sorted(IGNORED),
    },
}
SANDBOX_POLICIES: dict[str, dict[str, Any]] = {
    "read-only": {"type": "readOnly", "networkAccess": False},
    "danger-full-access": {"type": "dangerFullAccess"},
}
"""Value of `sandbox` → `sandboxPolicy`; the policy of `workspace-write` also lists its directories."""


def thread_params(start: SessionStart) -> dict[str, Any]:
    """For all three ways to open a thread. A resumed thread would keep its old permissions, so they are always set."""
    params = dict(obj(start.params.get("thread")))
    config = dict(obj(params.pop("config", None)))
    if start.mcp_servers:
        servers = {name: config for server in start.mcp_servers for name, config in _server_config(server)}
        config["mcp_servers"] = {**obj(config.get("mcp_servers")), **servers}
    if start.directories:
        config["sandbox_workspace_write.writable_roots"] = list(start.directories)
    return {"cwd": start.cwd, **params} | ({"config": config} if config else {})


def _server_config(server: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """An MCP server in ACP's form → Codex's configuration."""
    name = non_empty(server.get("name"))
    if name is None:
        return []
    if (command := non_empty(server.get("command"))) is not None:
        config: dict[str, Any] = {"command": command, "args": server.get("args"), "env": _pairs(server.get("env"))}
    else:
        config = {"url": server.get("url"), "http_headers": _pairs(server.get("headers"))}
    return [(name, {key: value for key, value in config.items() if value})]


def _pairs(entries: Any) -> dict[str, Any]:
    if isinstance(entries, Mapping):
        return dict(entries)
    pairs = entries if isinstance(entries, list | tuple) else ()
    return {pair["name"]: pair.get("value", "") for pair in pairs if isinstance(pair, Mapping) and "name" in pair}


def read_modes(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: obj(mode) for name, mode in obj(params.get("modes")).items()}


def mode_params(mode: dict[str, Any], start: SessionStart, model: str | None, effort: str | None) -> dict[str, Any]:
    """The parameters that set a mode, in a turn or between turns."""
    params: dict[str, Any] = {}
    if (policy := mode.get("approvalPolicy")) is not None:
        params["approvalPolicy"] = policy
    if (sandbox := text(mode.get("sandbox"))) is not None:
        params["sandboxPolicy"] = SANDBOX_POLICIES.get(sandbox) or _workspace_policy(start)
    if model is not None:  # `collaborationMode` requires it
        settings = {"model": model, "reasoning_effort": effort, "developer_instructions": None}
        params["collaborationMode"] = {"mode": text(mode.get("collaboration")) or "default", "settings": settings}
    return params


def _workspace_policy(start: SessionStart) -> dict[str, Any]:
    flags = {"networkAccess": False, "excludeTmpdirEnvVar": False, "excludeSlashTmp": False}
    return {"type": "workspaceWrite", "writableRoots": list(start.directories), **flags}


def turn_params(prompt: Prompt) -> dict[str, Any]:
    params: dict[str, Any] = {"input": [_to_input(block, file) for block, file in _with_files(prompt)]}
    thinking = prompt.thinking
    options = {"model": prompt.model, "effort": thinking.get("effort"), "summary": thinking.get("summary")}
    params |= {key: value for key, value in options.items() if value is not None}
    if prompt.output_schema is not None:
        params["outputSchema"] = dict(prompt.output_schema)
    return params


def _to_input(block: Block, file: str | None) -> dict[str, Any]:
    if block.get("type") == "image" and isinstance(block.get("data"), str):
        url = f"data:{non_empty(block.get('mimeType')) or 'image/png'};base64,{block['data']}"
        return {"type": "image", "url": url}
    return text_input(_block_text(block, file))


def text_input(message: str) -> dict[str, Any]:
    return {"type": "text", "text": message, "text_elements": []}


def prompt_text(prompt: Prompt) -> str:
    """The prompt for a command line that takes text only. Images are passed as files."""
    texts = (_block_text(block, file) for block, file in _with_files(prompt) if block.get("type") != "image")
    return "\n\n".join(block_text for block_text in texts if block_text)


def _with_files(prompt: Prompt) -> list[tuple[Block, str | None]]:
    return [(block, prompt.files.get(number)) for number, block in enumerate(prompt.blocks)]


def _block_text(block: Block, file: str | None) -> str:
    if (content := inline_text(block)) is not None:
        return content
    kind = non_empty(block.get("type")) or "file"
    return f"The user attached a file: {file}" if file else f"The user attached a {kind} that cannot be shown here."


def read_owner(message: bytes) -> str | None:
    """The tag of the session whose request is answered, or the thread that a message is about. A notification has one
    thread id, which no text can imitate, because quotes in texts are escaped. Any other message is parsed, and parsed
    again by `read`."""
    at = message.find(THREAD_KEY) if message.startswith(NOTIFICATION_START) else -1
    if at >= 0 and message.find(THREAD_KEY, at + 1) < 0:
        start = at + len(THREAD_KEY)
        return message[start : message.find(b'"', start)].decode("utf-8", "replace")
    fields = obj(parse_message(message))
    if "method" not in fields:
        return tag_of(fields.get("id"))
    params = obj(fields.get("params"))
    return non_empty(params.get("threadId")) or non_empty(obj(params.get("thread")).get("id"))
