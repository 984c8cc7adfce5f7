"""An MCP server as a client configures it → how it is reached. Pure.

In: an object as ACP writes it (`name`, and `command args env` or `type url headers`). Out: what is equal for all
sessions that have the same server, whatever they call it. Its secrets are never shown, not even by `repr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from gateway.drivers.environment import MIN_SECRET_CHARS
from gateway.drivers.mcp_entry import to_config_entry
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.errors import BadInput

Pairs = tuple[tuple[str, str], ...]
MAX_KIND_CHARS = 40
"""Of an unknown transport's name in a reason."""


class ServerUnusable(Exception):
    """Why the tools of a server cannot be listed, in a sentence for people."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One distinct server."""

    kind: Literal["stdio", "http", "sse"]
    cwd: Path = Path()
    """stdio: the directory in which it is started."""
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Pairs = field(default=(), repr=False)
    sandbox: SandboxPolicy | None = field(default=None, repr=False)
    """stdio: the sandbox of the session's agent, which starts the same server."""
    url: str = field(default="", repr=False)
    headers: Pairs = field(default=(), repr=False)

    def mask_secrets(self, text: str) -> str:
        """Without the values that only the server and its operator should know."""
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, "***") if len(secret) >= MIN_SECRET_CHARS else text
        return text

    def _secrets(self) -> Iterator[str]:
        for _, value in (*self.env, *self.headers):
            yield value
            yield from value.split()  # `Bearer …`
        yield from self.command[1:]
        if self.url:
            parts = urlsplit(self.url)
            yield from (value for _, value in parse_qsl(parts.query))
            yield from (part for part in (parts.username, parts.password, parts.query) if part)


def read_server(server: Mapping[str, Any], cwd: Path, sandbox: SandboxPolicy | None = None) -> ServerConfig:
    """`sandbox`: of the session's agent. Raises `ServerUnusable`."""
    try:
        _, entry = to_config_entry(server)
        return _read_stdio(entry, cwd, sandbox) if "command" in entry else _read_remote(entry)
    except BadInput as exc:
        raise ServerUnusable(exc.detail) from exc
    except ValueError as exc:  # `urlsplit` cannot parse the URL
        raise ServerUnusable("its url cannot be read") from exc


def transport_name(server: Mapping[str, Any]) -> str:
    """As the configuration names it, also where the gateway cannot use it."""
    kind = server.get("type")
    return "stdio" if "command" in server else kind if isinstance(kind, str) else "http"


def _read_stdio(entry: Mapping[str, Any], cwd: Path, sandbox: SandboxPolicy | None) -> ServerConfig:
    args = entry.get("args", [])
    if not isinstance(args, list | tuple):
        raise ServerUnusable("its args must be a list")
    command = [entry["command"], *args]
    if not command[0] or not all(isinstance(part, str) for part in command):
        raise ServerUnusable("its command and args must be strings")
    return ServerConfig("stdio", cwd, tuple(command), _to_pairs(entry.get("env")), sandbox)


def _read_remote(entry: Mapping[str, Any]) -> ServerConfig:
    kind, url = entry.get("type"), entry.get("url")
    if kind not in ("http", "sse"):
        raise ServerUnusable(f"it is reached by {str(kind)[:MAX_KIND_CHARS]!r}, which only the agent can use")
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ServerUnusable("its url must begin with http:// or https:// and name a host")
    return ServerConfig("http" if kind == "http" else "sse", url=url, headers=_to_pairs(entry.get("headers")))


def _to_pairs(values: Mapping[str, str] | None) -> Pairs:
    return tuple(sorted((values or {}).items()))
