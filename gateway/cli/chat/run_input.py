"""What was typed → what a run asks: the user's message, and `forwardedProps.gateway`."""

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


def message(prompt: str, images: Sequence[Path]) -> dict[str, Any]:
    """`-` is what stdin says."""
    text = sys.stdin.read() if prompt == "-" else prompt
    content: Any = text
    if images:
        content = [{"type": "text", "text": text}, *map(_image, images)]
    return {"id": f"user-{uuid4().hex[:12]}", "role": "user", "content": content}


def _image(path: Path) -> dict[str, Any]:
    kind, _ = guess_type(path)
    if kind is None or not kind.startswith("image/"):
        raise ConfigError(f"--image {path}: by its name this is no image")
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"--image {path}: cannot be read: {exc.strerror}") from exc
    return {"type": "image", "source": {"type": "data", "value": b64encode(data).decode(), "mimeType": kind}}


def schema(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return orjson.loads(path.read_bytes())
    except OSError as exc:
        raise ConfigError(f"--schema {path}: cannot be read: {exc.strerror}") from exc
    except ValueError as exc:
        raise ConfigError(f"--schema {path}: not JSON: {exc}") from exc


def run_input(thread_id: str, messages: list[dict[str, Any]], wishes: dict[str, Any]) -> dict[str, Any]:
    """`RunAgentInput`. Wishes that were not made are not in it: an agent may not know them."""
    made = {name: wish for name, wish in wishes.items() if wish is not None}
    return {
        "threadId": thread_id,
        "runId": new_run(),
        "protocolVersion": "1.0",
        "state": {},
        "messages": messages,
        "tools": [],
        "context": [],
        "forwardedProps": {"gateway": made} if made else {},
    }


def new_run() -> str:
    return f"run-{uuid4().hex[:12]}"
