"""What the gateway wants → parameters of Codex's requests.

In: `Begin`, `Prompt` and the definition's `[cli.params]`. Out: the parameters of `thread/start`, `thread/resume`,
`thread/fork`, `turn/start` and `thread/settings/update`. Codex keeps what a turn sets for the turns after it.

Of `[cli.params]`: `thread` goes as it is into the three requests that open a thread (`approvalPolicy`, `sandbox`,
`config`, `developerInstructions`, `modelProvider`, …); `modes` are those that a run may choose from, name →
`{approvalPolicy, sandbox, collaboration}`, and `mode` is the one that `thread` amounts to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.wire.acp.content import inline_text
from gateway.wire.dialects.base import Begin, Block, Prompt
from gateway.wire.dialects.codex.ignored_notifications import NOISE
from gateway.wire.fields import non_empty, obj, text

INITIALIZE: dict[str, Any] = {
    "clientInfo": {"name": "agui_gateway", "title": "AG-UI gateway", "version": "1"},
    "capabilities": {
        "experimentalApi": True,  # modes, settings between turns, questions to the user
        "requestAttestation": False,
        "optOutNotificationMethods": sorted(NOISE),
    },
}
SANDBOXES: dict[str, dict[str, Any]] = {
    "read-only": {"type": "readOnly", "networkAccess": False},
    "danger-full-access": {"type": "dangerFullAccess"},
}
"""The words of `sandbox` as the objects of `sandboxPolicy`; that of `workspace-write` names its folders."""


def thread_params(begin: Begin) -> dict[str, Any]:
    """For each of the three ways to open a thread. A thread that comes back would keep the permissions that it had,
    so they are always told."""
    params = dict(obj(begin.params.get("thread")))
    config = dict(obj(params.pop("config", None)))
    if begin.mcp_servers:
        given = {name: server for one in begin.mcp_servers for name, server in _server(one)}
        config["mcp_servers"] = {**obj(config.get("mcp_servers")), **given}
    if begin.directories:
        config["sandbox_workspace_write.writable_roots"] = list(begin.directories)
    return {"cwd": begin.cwd, **params} | ({"config": config} if config else {})


def _server(server: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """ACP's shape → that of Codex's configuration."""
    name = non_empty(server.get("name"))
    if name is None:
        return []
    if (command := non_empty(server.get("command"))) is not None:
        told: dict[str, Any] = {"command": command, "args": server.get("args"), "env": _pairs(server.get("env"))}
    else:
        told = {"url": server.get("url"), "http_headers": _pairs(server.get("headers"))}
    return [(name, {key: value for key, value in told.items() if value})]


def _pairs(told: Any) -> dict[str, Any]:
    if isinstance(told, Mapping):
        return dict(told)
    listed = told if isinstance(told, list | tuple) else ()
    return {pair["name"]: pair.get("value", "") for pair in listed if isinstance(pair, Mapping) and "name" in pair}


def modes(begin: Begin) -> dict[str, dict[str, Any]]:
    return {name: obj(mode) for name, mode in obj(begin.params.get("modes")).items()}


def mode_params(mode: dict[str, Any], begin: Begin, model: str | None, effort: str | None) -> dict[str, Any]:
    """What sets a mode, in a turn or between turns."""
    found: dict[str, Any] = {}
    if (policy := mode.get("approvalPolicy")) is not None:
        found["approvalPolicy"] = policy
    if (sandbox := text(mode.get("sandbox"))) is not None:
        found["sandboxPolicy"] = SANDBOXES.get(sandbox) or _workspace(begin)
    if model is not None:  # which this setting insists on
        settings = {"model": model, "reasoning_effort": effort, "developer_instructions": None}
        found["collaborationMode"] = {"mode": text(mode.get("collaboration")) or "default", "settings": settings}
    return found


def _workspace(begin: Begin) -> dict[str, Any]:
    keys = {"networkAccess": False, "excludeTmpdirEnvVar": False, "excludeSlashTmp": False}
    return {"type": "workspaceWrite", "writableRoots": list(begin.directories), **keys}


def turn_params(prompt: Prompt) -> dict[str, Any]:
    params: dict[str, Any] = {"input": [_item(block, file) for block, file in _with_files(prompt)]}
    wanted = {"model": prompt.model, "effort": prompt.thinking.get("effort"), "summary": prompt.thinking.get("summary")}
    params |= {key: value for key, value in wanted.items() if value is not None}
    if prompt.output_schema is not None:
        params["outputSchema"] = dict(prompt.output_schema)
    return params


def _item(block: Block, file: str | None) -> dict[str, Any]:
    if block.get("type") == "image" and isinstance(block.get("data"), str):
        url = f"data:{non_empty(block.get('mimeType')) or 'image/png'};base64,{block['data']}"
        return {"type": "image", "url": url}
    return text_input(_words(block, file))


def text_input(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words, "text_elements": []}


def plain_text(prompt: Prompt) -> str:
    """All of a prompt that is text, for a door that takes nothing else. Images go by files."""
    told = (_words(block, file) for block, file in _with_files(prompt) if block.get("type") != "image")
    return "\n\n".join(words for words in told if words)


def _with_files(prompt: Prompt) -> list[tuple[Block, str | None]]:
    return [(block, prompt.files.get(number)) for number, block in enumerate(prompt.blocks)]


def _words(block: Block, file: str | None) -> str:
    words = inline_text(block)
    if words is not None:
        return words
    kind = non_empty(block.get("type")) or "file"
    return f"The user attached a file: {file}" if file else f"The user attached a {kind} that cannot be shown here."
