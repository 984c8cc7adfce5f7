"""HTTP calls to `opencode serve`: what reads their answers, paths, bodies, and what the gateway uses of the answers.

In: what the gateway wants; `{"id", "status", "body"}` for an answer, status 0 with an `error` when there was none. Out:
`{"id": "<tag>-1", "method", "path", "body"}`, model definitions. The server answers calls in any order. Never hands on
a whole answer: answers may hold API keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gateway.events import Event
from gateway.wire.dialects.base import Block, Dialect, Prompt, SessionStart
from gateway.wire.fields import count, flag, items, named_values, non_empty, number, obj, present, text
from gateway.wire.requests import RequestTable, tag_of

ReadAnswer = Callable[[dict[str, Any]], list[Event]]

ID_SEPARATOR = "-"
RULE_KEYS = {"permission", "pattern", "action"}
MAX_SCHEMA_RETRIES = 2
"""How often opencode asks the model again for an answer that fits the output schema."""


class HttpCalls:
    """The calls of one thread, each with the function that reads its answer."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._open: RequestTable[ReadAnswer] = RequestTable(separator=ID_SEPARATOR)

    def start_session(self) -> None:
        self._open.begin(self._dialect.session_start.tag)

    def send(self, method: str, path: str, body: Any, read_answer: ReadAnswer) -> str:
        call_id = self._open.add(read_answer)
        directory = escape_segment(self._dialect.session_start.cwd)
        self._dialect.send({"id": call_id, "method": method, "path": f"{path}?directory={directory}", "body": body})
        return call_id

    def read_answer(self, answer: dict[str, Any]) -> list[Event]:
        read = self._open.pop(answer.get("id"))
        return [] if read is None else read(answer)


def read_owner(value: dict[str, Any]) -> str | None:
    """The tag of the thread whose call is answered, or the session that an event is about."""
    if "type" not in value:
        return tag_of(value.get("id"), ID_SEPARATOR)
    properties = obj(value.get("properties"))
    places = (properties, obj(properties.get("info")), obj(properties.get("part")))
    return next((session_id for place in places if (session_id := non_empty(place.get("sessionID")))), None)


def escape_segment(value: str) -> str:
    """One segment of a path. An id of the server's may hold half a surrogate pair, which no URL can carry."""
    return quote(value, safe="", errors="replace")


def session_path(session_id: str, rest: str = "") -> str:
    return f"/session/{escape_segment(session_id)}{rest}"


def permission_rules(start: SessionStart) -> list[dict[str, Any]]:
    """`params.permission`, and leave to enter the additional directories without asking."""
    rules = [rule for rule in items(start.params.get("permission")) if rule.keys() >= RULE_KEYS]
    directories = [
        {"permission": "external_directory", "pattern": f"{directory.rstrip('/')}/*", "action": "allow"}
        for directory in start.directories
    ]
    return rules + directories


def mcp_body(server: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in server:
        config: dict[str, Any] = {
            "type": "local",
            "command": [server["command"], *(server.get("args") or ())],
            "environment": named_values(server.get("env")),
        }
    else:
        config = {"type": "remote", "url": server.get("url"), "headers": named_values(server.get("headers"))}
    return {"name": server.get("name"), "config": {key: value for key, value in config.items() if value}}


def mcp_failure(body: Any, name: Any) -> str | None:
    """Why the MCP server cannot be used; None: it can."""
    status = obj(obj(body).get(name)) if isinstance(name, str) else {}
    if status.get("status") in ("connected", "disabled"):
        return None
    return text(status.get("error")) or text(status.get("status")) or "no reason given"


def prompt_body(prompt: Prompt, mode: str | None, system: Any) -> dict[str, Any]:
    """`mode`: the session's; opencode would take its default for a prompt that names none."""
    body: dict[str, Any] = {"parts": _to_parts(prompt.blocks)}
    if prompt.model is not None:
        provider, _, model = prompt.model.partition("/")
        body["model"] = {"providerID": provider, "modelID": model}
    if mode is not None:
        body["agent"] = mode
    if isinstance(variant := prompt.thinking.get("variant"), str):
        body["variant"] = variant
    if isinstance(system, str):
        body["system"] = system
    if prompt.output_schema is not None:
        schema = dict(prompt.output_schema)
        body["format"] = {"type": "json_schema", "schema": schema, "retryCount": MAX_SCHEMA_RETRIES}
    return body


def read_models(body: Any) -> list[dict[str, Any]]:
    """The models as `[[models]]` of an agent file has them. The providers' options, with their keys, are left out."""
    return [
        _to_model(provider_id, name, obj(model))
        for provider in items(obj(body).get("providers"))
        if (provider_id := non_empty(provider.get("id"))) is not None
        for name, model in obj(provider.get("models")).items()
    ]


def mark_default(models: list[dict[str, Any]], config: Any) -> list[dict[str, Any]]:
    """The models, with the one that a session without a choice uses: the configured one, or the only one."""
    name = models[0]["id"] if len(models) == 1 else non_empty(obj(config).get("model"))
    return [{**model, "default": True} if model["id"] == name else model for model in models]


def _to_model(provider_id: str, name: str, model: dict[str, Any]) -> dict[str, Any]:
    capabilities = obj(model.get("capabilities"))
    limit = obj(model.get("limit"))
    cost = obj(model.get("cost"))
    inputs = obj(capabilities.get("input"))
    price = {
        "input": _price(cost.get("input")),
        "cached_input": _price(obj(cost.get("cache")).get("read")),
        "cache_write": _price(obj(cost.get("cache")).get("write")) or None,
        "output": _price(cost.get("output")),
    }
    definition = {
        "id": f"{provider_id}/{name}",
        "name": text(model.get("name")),
        "provider": provider_id,
        "context": count(limit.get("context")),
        "output": count(limit.get("output")),
        "thinking": flag(capabilities.get("reasoning")),
        "tools": flag(capabilities.get("toolcall")),
        "image_input": flag(inputs.get("image")),
        "pdf_input": flag(inputs.get("pdf")),
        "deprecated": model.get("status") == "deprecated",
        "price": present(price) if any(price.values()) else None,  # all zero: the price is unknown
        "efforts": list(obj(model.get("variants"))) if isinstance(model.get("variants"), dict) else None,
    }
    return {key: value for key, value in definition.items() if value is not None}


def _to_parts(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    parts = []
    for index, block in enumerate(blocks, 1):
        match block:
            case {"type": "text", "text": str(content)}:
                parts.append({"type": "text", "text": content})
            case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime)}:
                parts.append(_to_file(mime, data, f"{mime.partition('/')[0]}-{index}"))
            case {"type": "resource", "resource": {"blob": str(data)} as resource}:
                mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
                name = (non_empty(resource.get("uri")) or "").rpartition("/")[2]
                parts.append(_to_file(mime, data, name or f"file-{index}"))
    return parts


def _to_file(mime: str, data: str, name: str) -> dict[str, Any]:
    return {"type": "file", "mime": mime, "filename": name, "url": f"data:{mime};base64,{data}"}


def _price(value: Any) -> float | None:
    price = number(value)
    return price if price is not None and price >= 0 else None
