"""Items of Codex that are tool calls → name, arguments and result.

In: an item of a thread, from `item/started` or `item/completed`; items of `exec` in the same form. Out: the parts of an
AG-UI tool call. Functions of one item: `items` knows which calls are open.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.events import Event
from gateway.wire.acp.results import read_result as read_acp_result
from gateway.wire.acp.terminals import Terminals
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import count, items, json_text, non_empty, obj, present, strings, text, without_meta
from gateway.wire.tool_calls import Content, ToolCall

Item = dict[str, Any]

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
FAILED_STATUSES = ("failed", "declined")
_NO_TERMINALS = Terminals("", None)
"""MCP content refers to no terminals."""


@dataclass(frozen=True, slots=True)
class ToolKind:
    """One type of item."""

    name: Callable[[Item], str]
    arguments: Callable[[Item], dict[str, Any]]
    result: Callable[[Item], Content]
    has_late_arguments: bool = False
    """The arguments are known only when the call is completed."""


@dataclass(slots=True)
class CodexToolCall(ToolCall):
    item: Item | None = None
    """The newest version of the item; None once Codex has completed it."""

    @property
    def is_open(self) -> bool:
        """Codex has not completed it, even if its turn is over and the client has a substitute result."""
        return self.item is not None

    def begin(self, item: Item) -> list[Event]:
        self.item = item
        started = self.start(read_metadata(item))
        return started if TOOL_KINDS[item["type"]].has_late_arguments else [*started, *self.end_arguments(item)]

    def end_arguments(self, item: Item) -> list[Event]:
        return self.end(TOOL_KINDS[item["type"]].arguments(item))

    def complete(self, item: Item) -> list[Event]:
        self.item = None
        return [*self.end_arguments(item), *self.answer(read_result(item), read_metadata(item), is_error(item))]

    def complete_late(self) -> None:
        """Codex completes the call after its turn."""
        self.item = None

    def open_terminal(self, activity_id: str) -> LiveOutput:
        """The live output of a command."""
        if self.output is None:
            cwd = text(self.item.get("cwd")) if self.item is not None else None
            fields = present({"terminalId": self.agent_id, "toolCallId": self.id, "cwd": cwd})
            self.output = LiveOutput(activity_id, "terminal", self.subagent, fields)
        return self.output

    def forget_output(self) -> None:
        """In a new turn the output is a new activity."""
        self.output = None


def read_result(item: Item) -> Content:
    """The result; never empty for a call that failed."""
    content = TOOL_KINDS[item["type"]].result(item)
    if content:
        return content
    match read_status(item):
        case None | "completed":
            return content
        case "declined":
            return "The user declined this call."
        case status:
            code = count(item.get("exitCode"))
            return (
                f"The agent reports: {status}." if code is None else f"The agent reports: {status}, exit code {code}."
            )


def read_status(item: Item) -> str | None:
    return non_empty(item.get("status"))


def is_error(item: Item) -> bool | None:
    """None: Codex does not report it."""
    if item.get("success") is False or read_status(item) in FAILED_STATUSES:
        return True
    return False if read_status(item) == "completed" else None


def read_metadata(item: Item) -> dict[str, Any]:
    """Codex's own fields of the call."""
    fields = {key: item.get(key) for key in ("exitCode", "durationMs", "source", "savedPath", "success")}
    known = {key: value for key, value in fields.items() if isinstance(value, str | int | bool)}
    return {"codex": present({"id": item.get("id"), "type": item.get("type"), "status": read_status(item)} | known)}


def read_changes(item: Item) -> list[dict[str, Any]]:
    """The changes of a patch. `kind` is an object in the app server's items, a string in those of `exec`."""
    changes = []
    for change in items(item.get("changes")):
        kind = change.get("kind")
        fields = {
            "path": text(change.get("path")),
            "kind": kind if isinstance(kind, str) else obj(kind).get("type"),
            "movedTo": text(obj(kind).get("move_path")),
            "diff": text(change.get("diff")),
        }
        changes.append(present(fields))
    return changes


def describe_changes(item: Item) -> list[str]:
    return [f"{change.get('kind', 'change')} {change.get('path', '')}".strip() for change in read_changes(item)]


# -- names


def _fixed(name: str) -> Callable[[Item], str]:
    return lambda item: name


def _joined(*fields: str, default: str) -> Callable[[Item], str]:
    return lambda item: ".".join(name for field in fields if (name := non_empty(item.get(field)))) or default


def _collab_name(item: Item) -> str:
    camel_case = non_empty(item.get("tool")) or "agents"
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), camel_case)


# -- arguments


def _fields(*names: str) -> Callable[[Item], dict[str, Any]]:
    return lambda item: present({name: item.get(name) for name in names})


def _texts(*names: str) -> Callable[[Item], dict[str, Any]]:
    return lambda item: present({name: text(item.get(name)) for name in names})


def _tool_arguments(item: Item) -> dict[str, Any]:
    arguments = item.get("arguments")
    return arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}


def _collab_arguments(item: Item) -> dict[str, Any]:
    fields = _texts("prompt", "model", "reasoningEffort")(item)
    return fields | present({"agents": strings(item.get("receiverThreadIds"))})


def _search_arguments(item: Item) -> dict[str, Any]:
    return present({"query": text(item.get("query")), "action": item.get("action") or None})


# -- results


def _content(field: str) -> Callable[[Item], Content]:
    """A field with text, or with content items of OpenAI's API."""
    return lambda item: _to_content(item.get(field))


def _to_content(value: Any) -> Content:
    if isinstance(value, str):
        return value
    parts = [part for content_item in items(value) if (part := _to_part(content_item)) is not None]
    if any(part["type"] != "text" for part in parts):
        return parts
    return "\n".join(part["text"] for part in parts)


def _to_part(content_item: Item) -> dict[str, Any] | None:
    """Codex writes content items in either spelling."""
    match content_item:
        case {"type": "inputText" | "input_text", "text": str(content)}:
            return {"type": "text", "text": content}
        case {"type": "inputImage", "imageUrl": str(url)} | {"type": "input_image", "image_url": str(url)}:
            return _to_media_part("image", url)
        case {"type": "inputAudio", "audioUrl": str(url)} | {"type": "input_audio", "audio_url": str(url)}:
            return _to_media_part("audio", url)
        case _:
            return None


def _to_media_part(kind: str, url: str) -> dict[str, Any]:
    if match := DATA_URL.fullmatch(url):
        return {"type": kind, "source": {"type": "data", "mimeType": match[1], "value": match[2]}}
    return {"type": kind, "source": {"type": "url", "value": url}}


def _patch_result(item: Item) -> Content:
    return "\n".join(describe_changes(item)) if read_status(item) == "completed" else ""


def _mcp_result(item: Item) -> Content:
    result = obj(item.get("result"))
    blocks = [{"type": "content", "content": without_meta(block)} for block in items(result.get("content"))]
    content = read_acp_result(blocks, without_meta(result.get("structuredContent")), _NO_TERMINALS).content
    return content or text(obj(item.get("error")).get("message")) or ""


def _collab_result(item: Item) -> Content:
    states = obj(item.get("agentsStates"))
    fields = {thread_id: _texts("status", "message")(obj(state)) for thread_id, state in states.items()}
    return json_text(fields) if fields else ""


def _search_result(item: Item) -> Content:
    results = item.get("results")
    return json_text(results) if isinstance(results, list) and results else ""


def _image_result(item: Item) -> Content:
    if (data := non_empty(item.get("result"))) is not None:
        return [{"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": data}}]
    return non_empty(obj(item.get("failure")).get("message")) or non_empty(item.get("savedPath")) or ""


def _no_result(item: Item) -> Content:
    return ""


TOOL_KINDS: dict[str, ToolKind] = {
    "commandExecution": ToolKind(_fixed("shell"), _texts("command", "cwd"), _content("aggregatedOutput")),
    "fileChange": ToolKind(_fixed("apply_patch"), lambda item: {"changes": read_changes(item)}, _patch_result),
    "mcpToolCall": ToolKind(_joined("server", "tool", default="mcp"), _tool_arguments, _mcp_result),
    "dynamicToolCall": ToolKind(
        _joined("namespace", "tool", default="tool"), _tool_arguments, _content("contentItems")
    ),
    "functionCallOutput": ToolKind(_joined("name", default="function"), _fields("namespace"), _content("output")),
    "collabAgentToolCall": ToolKind(_collab_name, _collab_arguments, _collab_result),
    "webSearch": ToolKind(_fixed("web_search"), _search_arguments, _search_result, has_late_arguments=True),
    "imageView": ToolKind(_fixed("view_image"), _fields("path"), _no_result),
    "imageGeneration": ToolKind(
        _fixed("image_generation"), _fields("revisedPrompt"), _image_result, has_late_arguments=True
    ),
    "sleep": ToolKind(_fixed("sleep"), _fields("durationMs"), _no_result),
}
"""Type of an item that is a tool call → how to read it."""
