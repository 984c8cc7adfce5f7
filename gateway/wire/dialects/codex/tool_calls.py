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
from gateway.wire.acp.results import outcome
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


# -- commands and files


def _command_arguments(item: Item) -> dict[str, Any]:
    return present({"command": text(item.get("command")), "cwd": text(item.get("cwd"))})


def _command_output(item: Item) -> Content:
    return text(item.get("aggregatedOutput")) or ""


def read_changes(item: Item) -> list[dict[str, Any]]:
    """`kind` is an object in the app server's items, a string in those of `exec`."""
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


def _patch_result(item: Item) -> Content:
    return "\n".join(describe_changes(item)) if read_status(item) == "completed" else ""


# -- MCP and client tools


def _dotted_name(namespace: str, default: str) -> Callable[[Item], str]:
    def read_name(item: Item) -> str:
        return ".".join(name for key in (namespace, "tool") if (name := non_empty(item.get(key)))) or default

    return read_name


def _mcp_result(item: Item) -> Content:
    result = obj(item.get("result"))
    blocks = [{"type": "content", "content": without_meta(block)} for block in items(result.get("content"))]
    structured = result.get("structuredContent")
    content = outcome(blocks, without_meta(structured), _NO_TERMINALS).content
    return content or text(obj(item.get("error")).get("message")) or ""


def _dynamic_result(item: Item) -> Content:
    return _join_parts(item.get("contentItems"))


def _function_name(item: Item) -> str:
    return non_empty(item.get("name")) or "function"


def _function_result(item: Item) -> Content:
    output = item.get("output")
    return output if isinstance(output, str) else _join_parts(output)


def _to_part(content: Item) -> dict[str, Any] | None:
    """A content item of OpenAI's API, in either spelling."""
    match content:
        case {"type": "inputText" | "input_text", "text": str(content_text)}:
            return {"type": "text", "text": content_text}
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


def _join_parts(content_items: Any) -> Content:
    """Content parts, or a string if there is only text."""
    parts = [part for content in items(content_items) if (part := _to_part(content)) is not None]
    if any(part["type"] != "text" for part in parts):
        return parts
    return "\n".join(part["text"] for part in parts)


def _tool_arguments(item: Item) -> dict[str, Any]:
    arguments = item.get("arguments")
    return arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}


# -- built-in tools


def _to_snake_case(name: str) -> str:
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)


def _collab_name(item: Item) -> str:
    return _to_snake_case(non_empty(item.get("tool")) or "agents")


def _collab_arguments(item: Item) -> dict[str, Any]:
    fields = {key: text(item.get(key)) for key in ("prompt", "model", "reasoningEffort")}
    return present(fields | {"agents": strings(item.get("receiverThreadIds"))})


def _collab_result(item: Item) -> Content:
    states = {
        thread_id: present({key: text(obj(state).get(key)) for key in ("status", "message")})
        for thread_id, state in obj(item.get("agentsStates")).items()
    }
    return json_text(states) if states else ""


def _search_arguments(item: Item) -> dict[str, Any]:
    return present({"query": text(item.get("query")), "action": item.get("action") or None})


def _search_result(item: Item) -> Content:
    results = item.get("results")
    return json_text(results) if isinstance(results, list) and results else ""


def _image_result(item: Item) -> Content:
    data, failure = non_empty(item.get("result")), non_empty(obj(item.get("failure")).get("message"))
    if data is not None:
        return [{"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": data}}]
    return failure or non_empty(item.get("savedPath")) or ""


def _no_result(item: Item) -> Content:
    return ""


def _fixed(name: str) -> Callable[[Item], str]:
    return lambda item: name


def _fields(*names: str) -> Callable[[Item], dict[str, Any]]:
    return lambda item: present({name: item.get(name) for name in names})


TOOL_KINDS: dict[str, ToolKind] = {
    "commandExecution": ToolKind(_fixed("shell"), _command_arguments, _command_output),
    "fileChange": ToolKind(_fixed("apply_patch"), lambda item: {"changes": read_changes(item)}, _patch_result),
    "mcpToolCall": ToolKind(_dotted_name("server", "mcp"), _tool_arguments, _mcp_result),
    "dynamicToolCall": ToolKind(_dotted_name("namespace", "tool"), _tool_arguments, _dynamic_result),
    "functionCallOutput": ToolKind(_function_name, _fields("namespace"), _function_result),
    "collabAgentToolCall": ToolKind(_collab_name, _collab_arguments, _collab_result),
    "webSearch": ToolKind(_fixed("web_search"), _search_arguments, _search_result, True),
    "imageView": ToolKind(_fixed("view_image"), _fields("path"), _no_result),
    "imageGeneration": ToolKind(
        _fixed("image_generation"), _fields("revisedPrompt"), _image_result, has_late_arguments=True
    ),
    "sleep": ToolKind(_fixed("sleep"), _fields("durationMs"), _no_result),
}
"""Type of an item that is a tool call → how to read it."""
