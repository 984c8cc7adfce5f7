"""Arguments of the command line → `RunAgentInput`: the user's message and `forwardedProps.gateway`."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Sequence
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from gateway.errors import ConfigError


def build_message(prompt: str, images: Sequence[Path]) -> dict[str, Any]:
    """The user's message; a prompt of `-` is read from stdin."""
    text = sys.stdin.read() if prompt == "-" else prompt
    content: Any = text
    if images:
        content = [{"type": "text", "text": text}, *map(_read_image, images)]
    return {"id": f"user-{uuid4().hex[:12]}", "role": "user", "content": content}


def _read_image(path: Path) -> dict[str, Any]:
    kind, _ = guess_type(path)
    if kind is None or not kind.startswith("image/"):
        raise ConfigError(f"--image {path}: this is not the name of an image file")
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"--image {path}: cannot be read: {exc.strerror}") from exc
    return {"type": "image", "source": {"type": "data", "value": b64encode(data).decode(), "mimeType": kind}}


def read_schema(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return orjson.loads(path.read_bytes())
    except OSError as exc:
        raise ConfigError(f"--schema {path}: cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise ConfigError(f"--schema {path}: not JSON: {exc}") from exc


def build_run_input(thread_id: str, messages: list[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
    """`RunAgentInput`. Options that are not set are left out: an agent may not support them."""
    chosen = {name: value for name, value in options.items() if value is not None}
    return {
        "threadId": thread_id,
        "runId": new_run_id(),
        "protocolVersion": "1.0",
        "state": {},
        "messages": messages,
        "tools": [],
        "context": [],
        "forwardedProps": {"gateway": chosen} if chosen else {},
    }


def new_run_id() -> str:
    return f"run-{uuid4().hex[:12]}"
