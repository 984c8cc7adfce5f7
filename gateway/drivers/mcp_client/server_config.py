"""An MCP server as a session is given it → how it is reached. Pure.

In: an object as ACP writes it (`name`, and `command args env` or `type url headers`). Out: what is the same for all
sessions that have the same server, whatever they call it. Its secrets are never shown, not even by `repr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from gateway.drivers.cli.command import mcp_entry
from gateway.drivers.environment import SHORTEST_SECRET
from gateway.errors import BadInput

Pairs = tuple[tuple[str, str], ...]


class Unusable(Exception):
    """Why a server's tools cannot be had, in words for people."""


@dataclass(frozen=True, slots=True)
class Server:
    """One distinct server."""

    kind: Literal["stdio", "http", "sse"]
    cwd: Path = Path()
    """stdio: where it is started."""
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Pairs = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    headers: Pairs = field(default=(), repr=False)

    def masked(self, text: str) -> str:
        """Without what only the server and whoever configured it should know."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, "***") if len(secret) >= SHORTEST_SECRET else text
        return text

    def _secrets(self) -> Iterator[str]:
        for _, value in (*self.env, *self.headers):
            yield value
            yield from value.split()  # `Bearer …`
        yield from self.command[1:]
        if self.url:
            parts = urlsplit(self.url)
            yield from (value for _, value in parse_qsl(parts.query))
            yield from (word for word in (parts.username, parts.password, parts.query) if word)


def read(told: Mapping[str, Any], cwd: Path) -> Server:
    """Raises `Unusable`."""
    try:
        _, entry = mcp_entry(told)
        return _stdio(entry, cwd) if "command" in entry else _remote(entry)
    except BadInput as exc:
        raise Unusable(exc.detail) from exc
    except ValueError as exc:  # no URL at all
        raise Unusable("its url cannot be read") from exc


def transport(told: Mapping[str, Any]) -> str:
    """What it says of itself, also where it cannot be reached."""
    kind = told.get("type")
    return "stdio" if "command" in told else kind if isinstance(kind, str) else "http"


def _stdio(entry: Mapping[str, Any], cwd: Path) -> Server:
    words = [entry["command"], *_list(entry.get("args", []))]
    if not all(isinstance(word, str) and word for word in words[:1]) or not all(isinstance(w, str) for w in words):
        raise Unusable("its command and args must be strings")
    return Server("stdio", cwd, tuple(words), _pairs(entry.get("env")))


def _remote(entry: Mapping[str, Any]) -> Server:
    kind, url = entry.get("type"), entry.get("url")
    if kind not in ("http", "sse"):
        raise Unusable(f"it is reached by {str(kind)[:40]!r}, which only the agent can")
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise Unusable("its url must begin with http:// or https:// and name a host")
    return Server("http" if kind == "http" else "sse", url=url, headers=_pairs(entry.get("headers")))


def _list(told: Any) -> list[Any]:
    if not isinstance(told, list | tuple):
        raise Unusable("its args must be a list")
    return list(told)


def _pairs(told: Mapping[str, str] | None) -> Pairs:
    return tuple(sorted((told or {}).items()))
