"""Which hosts an agent in a sandbox may connect to. Pure.

In: patterns from the agent's file and the settings, the agent's environment, the MCP servers of a run. Out: whether a
host and a port match, and whether the operator has named them, in which case they may have a private address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from gateway.catalog.sandbox import check_host

DEFAULT_PORTS = (80, 443)
BASE_URL_SUFFIXES = ("_BASE_URL", "_API_BASE", "_API_URL", "_ENDPOINT")
"""Of variables that tell an agent where its model is. Such a variable in the gateway's own environment is the
operator's choice of a host."""


@dataclass(frozen=True, slots=True)
class HostRule:
    host: str
    """A name, an address, or `*.` and a name: its subdomains."""
    port: int | None = None
    """None: 80 and 443."""
    allows_private: bool = False
    """The operator has named it, so it may be at a private address."""

    def matches(self, host: str, port: int) -> bool:
        if port not in (DEFAULT_PORTS if self.port is None else (self.port,)):
            return False
        name = host.lower().rstrip(".")
        if is_loopback(self.host) and is_loopback(name):
            return True
        return name.endswith(self.host[1:]) if self.host.startswith("*.") else name == self.host

    @property
    def loopback_port(self) -> int | None:
        """The port that is forwarded inside, because programs do not use a proxy for loopback."""
        return self.port if self.allows_private and is_loopback(self.host) else None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


def parse_rule(text: str, *, allows_private: bool = False) -> HostRule:
    """Raises `ValueError`."""
    pattern = check_host(text)
    if pattern.startswith("["):
        host, _, port = pattern[1:].partition("]")
        return HostRule(host, int(port[1:]) if port else None, allows_private)
    host, _, port = pattern.partition(":")
    return HostRule(host, int(port) if port else None, allows_private)


def rules_of_environment(env: Mapping[str, str]) -> list[HostRule]:
    """For the base URLs in the environment."""
    return [
        rule
        for name, value in sorted(env.items())
        if name.endswith(BASE_URL_SUFFIXES) and (rule := _rule_of_url(value, allows_private=True)) is not None
    ]


def rules_of_servers(servers: Iterable[Mapping[str, Any]], *, allows_private: bool) -> tuple[HostRule, ...]:
    """For the URLs of the MCP servers that a run names, which were held against the address policy."""
    urls = (server["url"] for server in servers if isinstance(server.get("url"), str))
    rules = (_rule_of_url(url, allows_private=allows_private) for url in urls)
    return tuple(rule for rule in rules if rule is not None)


def _rule_of_url(url: str, *, allows_private: bool) -> HostRule | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "ws": 80, "https": 443, "wss": 443}.get(parts.scheme)
    except ValueError:
        return None
    return None if port is None or not parts.hostname else HostRule(parts.hostname.lower(), port, allows_private)


def find_rule(rules: Iterable[HostRule], host: str, port: int) -> HostRule | None:
    """The rule that permits it, one that permits private addresses if there is one."""
    matching = [rule for rule in rules if rule.matches(host, port)]
    return max(matching, key=lambda rule: rule.allows_private, default=None)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
