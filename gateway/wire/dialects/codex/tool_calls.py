"""Items of Codex that are tool calls → a name, arguments, and what came of it.

In: an item of a thread, whole, as `item/started` or `item/completed` told it; `exec`'s items in the same words. Out:
what AG-UI shows of a call. Functions over one item: which call is open is `lane`'s to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.wire.acp.results import read_result
from gateway.wire.acp.terminals import Terminals
from gateway.wire.fields import count, items, json_text, non_empty, obj, present, text, without_meta

Item = dict[str, Any]
Content = str | list[dict[str, Any]]

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_NO_TERMINALS = Terminals("", None)
"""Content of MCP has none."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of item."""

    name: Callable[[Item], str]
    arguments: Callable[[Item], dict[str, Any]]
    result: Callable[[Item], Content]
    late: bool = False
    """What it was called with is known only when it is over."""


def call_name(item: Item) -> str:
    return KINDS[item["type"]].name(item)


def arguments(item: Item) -> str:
    return json_text(KINDS[item["type"]].arguments(item))


def result(item: Item) -> Content:
    """Never empty for a call that went wrong."""
    content = KINDS[item["type"]].result(item)
    if content:
        return content
    match status(item):
        case None | "completed":
            return content
        case "declined":
            return "The user declined this call."
        case other:
            code = count(item.get("exitCode"))
            return f"The agent reports: {other}." if code is None else f"The agent reports: {other}, exit code {code}."


def status(item: Item) -> str | None:
    return non_empty(item.get("status"))


def shown(item: Item) -> dict[str, Any]:
    """Beside the call: what Codex itself says of it."""
    facts = {key: item.get(key) for key in ("exitCode", "durationMs", "source", "savedPath", "success")}
    about = {"id": item.get("id"), "type": item.get("type"), "status": status(item)}
    plain = {key: value for key, value in facts.items() if isinstance(value, str | int | bool)}
    return {"codex": present(about | plain)}


# -- commands and files


def _command(item: Item) -> dict[str, Any]:
    return present({"command": text(item.get("command")), "cwd": text(item.get("cwd"))})


def _output(item: Item) -> Content:
    return text(item.get("aggregatedOutput")) or ""


def changes(item: Item) -> list[dict[str, Any]]:
    """`kind` is an object to the app server, a word to `exec`."""
    found = []
    for change in items(item.get("changes")):
        kind = change.get("kind")
        about = {"path": text(change.get("path")), "kind": kind if isinstance(kind, str) else obj(kind).get("type")}
        moved = text(obj(kind).get("move_path"))
        found.append(present(about | {"movedTo": moved, "diff": text(change.get("diff"))}))
    return found


def patch_lines(item: Item) -> list[str]:
    return [f"{change.get('kind', 'change')} {change.get('path', '')}".strip() for change in changes(item)]


def _patched(item: Item) -> Content:
    return "\n".join(patch_lines(item)) if status(item) == "completed" else ""


# -- tools of others


def _mcp_name(item: Item) -> str:
    return ".".join(part for part in (non_empty(item.get("server")), non_empty(item.get("tool"))) if part) or "mcp"


def _mcp_result(item: Item) -> Content:
    given = obj(item.get("result"))
    blocks = [{"type": "content", "content": without_meta(block)} for block in items(given.get("content"))]
    structured = given.get("structuredContent")
    content = read_result(blocks, without_meta(structured), _NO_TERMINALS).content
    return content or text(obj(item.get("error")).get("message")) or ""


def _dynamic_name(item: Item) -> str:
    return ".".join(part for part in (non_empty(item.get("namespace")), non_empty(item.get("tool"))) if part) or "tool"


def _dynamic_result(item: Item) -> Content:
    parts = [part for one in items(item.get("contentItems")) if (part := _part(one)) is not None]
    return _joined(parts)


def _function_name(item: Item) -> str:
    return non_empty(item.get("name")) or "function"


def _function_result(item: Item) -> Content:
    output = item.get("output")
    if isinstance(output, str):
        return output
    return _joined([part for one in items(output) if (part := _part(one)) is not None])


def _part(one: Item) -> dict[str, Any] | None:
    """OpenAI's content, in either spelling."""
    match one:
        case {"type": "inputText" | "input_text", "text": str(words)}:
            return {"type": "text", "text": words}
        case {"type": "inputImage", "imageUrl": str(url)} | {"type": "input_image", "image_url": str(url)}:
            return _media("image", url)
        case {"type": "inputAudio", "audioUrl": str(url)} | {"type": "input_audio", "audio_url": str(url)}:
            return _media("audio", url)
        case _:
            return None


def _media(kind: str, url: str) -> dict[str, Any]:
    if found := DATA_URL.fullmatch(url):
        return {"type": kind, "source": {"type": "data", "mimeType": found[1], "value": found[2]}}
    return {"type": kind, "source": {"type": "url", "value": url}}


def _joined(parts: list[dict[str, Any]]) -> Content:
    """Text alone is a string."""
    if any(part["type"] != "text" for part in parts):
        return parts
    return "\n".join(part["text"] for part in parts)


def _given(item: Item) -> dict[str, Any]:
    told = item.get("arguments")
    return told if isinstance(told, dict) else {} if told is None else {"arguments": told}


# -- Codex's own


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)


def _collab_name(item: Item) -> str:
    return _snake(non_empty(item.get("tool")) or "agents")


def _collab(item: Item) -> dict[str, Any]:
    about = {key: text(item.get(key)) for key in ("prompt", "model", "reasoningEffort")}
    return present(about | {"agents": _threads(item)})


def _threads(item: Item) -> list[str]:
    told = item.get("receiverThreadIds")
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []


def _collab_result(item: Item) -> Content:
    states = {key: present(_state(value)) for key, value in obj(item.get("agentsStates")).items()}
    return json_text(states) if states else ""


def _state(told: Any) -> dict[str, Any]:
    return {key: text(obj(told).get(key)) for key in ("status", "message")}


def _search(item: Item) -> dict[str, Any]:
    return present({"query": text(item.get("query")), "action": item.get("action") or None})


def _search_result(item: Item) -> Content:
    found = item.get("results")
    return json_text(found) if isinstance(found, list) and found else ""


def _image(item: Item) -> Content:
    data, failure = non_empty(item.get("result")), non_empty(obj(item.get("failure")).get("message"))
    if data is not None:
        return [{"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": data}}]
    return failure or non_empty(item.get("savedPath")) or ""


def _nothing(item: Item) -> Content:
    return ""


def _fixed(name: str) -> Callable[[Item], str]:
    return lambda item: name


def _fields(*names: str) -> Callable[[Item], dict[str, Any]]:
    return lambda item: present({name: item.get(name) for name in names})


KINDS: dict[str, Kind] = {
    "commandExecution": Kind(_fixed("shell"), _command, _output),
    "fileChange": Kind(_fixed("apply_patch"), lambda item: {"changes": changes(item)}, _patched),
    "mcpToolCall": Kind(_mcp_name, _given, _mcp_result),
    "dynamicToolCall": Kind(_dynamic_name, _given, _dynamic_result),
    "functionCallOutput": Kind(_function_name, _fields("namespace"), _function_result),
    "collabAgentToolCall": Kind(_collab_name, _collab, _collab_result),
    "webSearch": Kind(_fixed("web_search"), _search, _search_result, late=True),
    "imageView": Kind(_fixed("view_image"), _fields("path"), _nothing),
    "imageGeneration": Kind(_fixed("image_generation"), _fields("revisedPrompt"), _image, late=True),
    "sleep": Kind(_fixed("sleep"), _fields("durationMs"), _nothing),
}
"""Items that are calls of a tool."""
