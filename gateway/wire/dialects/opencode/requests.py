"""Calls to `opencode serve`: paths and bodies, and what of an answer is handed on. Its answers may hold API keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gateway.wire.dialects.base import Block, Prompt, SessionStart
from gateway.wire.fields import count, items, non_empty, obj, present, text

RULE = {"permission", "pattern", "action"}
RETRIES = 2
"""How often the model is asked again for an answer that fits the schema."""


def located(path: str, cwd: str) -> str:
    return f"{path}?directory={quote(cwd, safe='')}"


def session_path(session_id: str, rest: str = "") -> str:
    return f"/session/{quote(session_id, safe='')}{rest}"


def rules(begin: SessionStart) -> list[dict[str, Any]]:
    """`params.permission`, and the further directories, which may be entered without asking."""
    told = [rule for rule in items(begin.params.get("permission")) if rule.keys() >= RULE]
    entered = [
        {"permission": "external_directory", "pattern": f"{folder.rstrip('/')}/*", "action": "allow"}
        for folder in begin.directories
    ]
    return told + entered


def mcp_body(server: Mapping[str, Any]) -> dict[str, Any]:
    name = server.get("name")
    if "command" in server:
        command = [server["command"], *(server.get("args") or ())]
        config: dict[str, Any] = {"type": "local", "command": command, "environment": _named(server.get("env"))}
    else:
        config = {"type": "remote", "url": server.get("url"), "headers": _named(server.get("headers"))}
    return {"name": name, "config": {key: value for key, value in config.items() if value}}


def mcp_failure(body: Any, name: Any) -> str | None:
    """Why the server cannot be used; None: it can."""
    status = obj(obj(body).get(name)) if isinstance(name, str) else {}
    if status.get("status") in ("connected", "disabled"):
        return None
    return text(status.get("error")) or text(status.get("status")) or "no reason given"


def prompt_body(prompt: Prompt, system: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"parts": _parts(prompt.blocks)}
    if prompt.model is not None:
        provider, _, model = prompt.model.partition("/")
        body["model"] = {"providerID": provider, "modelID": model}
    if prompt.mode is not None:
        body["agent"] = prompt.mode
    if isinstance(variant := prompt.thinking.get("variant"), str):
        body["variant"] = variant
    if isinstance(system, str):
        body["system"] = system
    if prompt.output_schema is not None:
        schema = dict(prompt.output_schema)
        body["format"] = {"type": "json_schema", "schema": schema, "retryCount": RETRIES}
    return body


def listed_models(body: Any) -> list[dict[str, Any]]:
    """In the words of `[[models]]`. The providers' options, with their keys, stay here."""
    told = obj(body)
    return [
        _model(provider_id, name, obj(model))
        for provider in items(told.get("providers"))
        if (provider_id := non_empty(provider.get("id"))) is not None
        for name, model in obj(provider.get("models")).items()
    ]


def _model(provider: str, name: str, model: dict[str, Any]) -> dict[str, Any]:
    abilities, limit, cost = obj(model.get("capabilities")), obj(model.get("limit")), obj(model.get("cost"))
    takes = obj(abilities.get("input"))
    price = {
        "input": _money(cost.get("input")),
        "cached_input": _money(obj(cost.get("cache")).get("read")),
        "output": _money(cost.get("output")),
    }
    told = {
        "id": f"{provider}/{name}",
        "name": text(model.get("name")),
        "provider": provider,
        "context": count(limit.get("context")),
        "output": count(limit.get("output")),
        "thinking": _flag(abilities.get("reasoning")),
        "tools": _flag(abilities.get("toolcall")),
        "image_input": _flag(takes.get("image")),
        "file_input": _flag(takes.get("pdf")),
        "deprecated": model.get("status") == "deprecated",
        "price": present(price) if any(price.values()) else None,  # all zero: nobody knows
        "efforts": list(obj(model.get("variants"))) if isinstance(model.get("variants"), dict) else None,
    }
    return {key: value for key, value in told.items() if value is not None}


def _parts(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    found = []
    for number, block in enumerate(blocks, 1):
        match block:
            case {"type": "text", "text": str(words)}:
                found.append({"type": "text", "text": words})
            case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime)}:
                found.append(_file(mime, data, f"{mime.partition('/')[0]}-{number}"))
            case {"type": "resource", "resource": {"blob": str(data)} as resource}:
                mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
                name = (non_empty(resource.get("uri")) or "").rpartition("/")[2]
                found.append(_file(mime, data, name or f"file-{number}"))
    return found


def _file(mime: str, data: str, name: str) -> dict[str, Any]:
    return {"type": "file", "mime": mime, "filename": name, "url": f"data:{mime};base64,{data}"}


def _named(pairs: Any) -> dict[str, str]:
    """`[{"name", "value"}]`, or an object already."""
    if isinstance(pairs, Mapping):
        return {str(name): str(value) for name, value in pairs.items()}
    listed = items(list(pairs)) if isinstance(pairs, list | tuple) else []
    return {str(pair["name"]): str(pair["value"]) for pair in listed if "name" in pair and "value" in pair}


def _money(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return value if good else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
