"""Holds the URLs of MCP servers that clients name against the address policy, before an agent gets them.

In: the servers of a run. Out: nothing, or `Refused` with the host and the setting. The agent runs on this machine and
connects to any address that it gets: without this check a client could reach services that are for this machine only.

The agent resolves the name again and follows redirects by its own rules: a name that means another address a moment
later is not caught here. Where that matters, the agent's network has to be closed (`docs/deployment.md`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from gateway.drivers.address_policy import refusal_reason, resolve_host
from gateway.errors import Refused

CODE = "MCP_ADDRESS_REFUSED"
SCHEMES = ("http", "https", "ws", "wss")
URL_CHARACTERS = re.compile(r"[!-\[\]-~]+")
"""Printable ASCII without the backslash: browsers and Node.js read it as a slash, Python does not, and so the two would
find different hosts in one URL. For the same reason a host has no escapes."""
HOST_NAME = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")


async def check_mcp_addresses(servers: Sequence[Mapping[str, Any]], *, private: bool) -> None:
    """`private`: the operator allows private addresses. Raises `Refused`."""
    for number, server in enumerate(servers):
        if (url := server.get("url")) is not None:
            await _check_url(url, f"/forwardedProps/gateway/mcpServers/{number}/url", private)


async def _check_url(url: Any, pointer: str, private: bool) -> None:
    host = _read_host(url)
    if host is None:
        detail = "the URL of an MCP server is http(s):// or ws(s):// and a host name of ASCII letters or an address"
        raise Refused(detail, code=CODE, pointer=pointer)
    try:
        addresses = await resolve_host(host)
    except (OSError, ValueError) as exc:
        if private:
            return  # the agent reports that it cannot be reached
        advice = "if only the agent can resolve it, the setting allow_private_addresses permits it"
        raise Refused(
            f"the host {host!r} of an MCP server cannot be resolved; {advice}", code=CODE, pointer=pointer
        ) from exc
    for address in addresses:
        if (reason := refusal_reason(address, private=private)) is not None:
            detail = f"the agent does not get an MCP server at {host} ({address}): {reason}"
            raise Refused(detail, code=CODE, pointer=pointer)


def _read_host(url: Any) -> str | None:
    """None: the URL is none that every program reads in the same way."""
    if not isinstance(url, str) or not URL_CHARACTERS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    return host if parts.scheme in SCHEMES and host and HOST_NAME.fullmatch(host) else None
