"""Forwarded headers of the proxies that the operator names (`proxy`), and of no other peer.

In: a peer's address and a request's headers. Out: the host and the scheme that the proxy's client used, the client's
address, and the user that the proxy has authenticated. `X-Forwarded-*` and, where there is none, `Forwarded` (RFC 7239,
https://www.rfc-editor.org/rfc/rfc7239) are read; of several entries the last counts, which the nearest proxy wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.datastructures import Headers

from gateway.errors import BadRequest, Forbidden, Unauthorized
from gateway.identity import PROXY_PREFIX, Caller

FORWARDED_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")
"""A request that has one of them came through a proxy."""
MAX_USER_CHARS = 256
USER = re.compile(r"[\x21-\x7e]+")
"""Visible ASCII: a header that a proxy has joined from two has a space after its comma."""
FORWARDED_PAIR = re.compile(r'\s*([A-Za-z]+)\s*=\s*(?:"([^"\\]*)"|([^\s;,"]+))\s*')


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What a proxy says of its client."""

    host: str | None = None
    scheme: str | None = None
    client: str | None = None


class Proxies:
    def __init__(self, networks: Sequence[str], user_header: str | None, user_scopes: frozenset[str]) -> None:
        """`user_header`: the header in which a proxy names the user it has authenticated."""
        self._networks = tuple(ip_network(network) for network in networks)
        self._user_header = None if user_header is None else user_header.lower()
        self._user_scopes = user_scopes

    def trusts(self, host: str | None) -> bool:
        """Whether the peer is one of the named proxies."""
        return bool(self._networks) and host is not None and _contains(self._networks, host)

    def read(self, headers: Headers) -> Forwarded:
        """Of a request of a trusted proxy."""
        names = ("x-forwarded-host", "x-forwarded-proto", "x-forwarded-for")
        if any(name in headers for name in names):
            host, scheme, _ = (_last(headers.getlist(name)) for name in names)
            clients = ",".join(headers.getlist("x-forwarded-for")).split(",")
        else:
            pairs = _parse_forwarded(",".join(headers.getlist("forwarded")))
            host, scheme = (pairs[-1].get(name) if pairs else None for name in ("host", "proto"))
            clients = [pair.get("for", "") for pair in pairs]
        if scheme is not None and scheme.lower() not in ("http", "https"):
            raise BadRequest(f"the proxy says that its client used the scheme {scheme!r}; it is http or https")
        return Forwarded(host, None if scheme is None else scheme.lower(), self._find_client(clients))

    def _find_client(self, clients: Sequence[str]) -> str | None:
        """The last address that is not a proxy's: what stands before it, the client may have written itself."""
        for text in reversed(clients):
            host = _without_port(text.strip())
            if not _is_address(host):
                return None
            if not self.trusts(host):
                return host
        return None

    def find_user(self, headers: Headers, *, is_trusted: bool) -> Caller | None:
        """The user that a proxy names; None: it names none. Raises `Forbidden` where another peer sends the header,
        `Unauthorized` where it is not one plain name."""
        if self._user_header is None or self._user_header not in headers:
            return None
        if not is_trusted:
            detail = f"the header {self._user_header!r} is read from the gateway's proxies only (--proxy)"
            raise Forbidden(f"{detail}, and this request does not come from one", code="PROXY_NOT_TRUSTED")
        values = headers.getlist(self._user_header)
        if len(values) != 1 or len(values[0]) > MAX_USER_CHARS or not USER.fullmatch(values[0]):
            detail = f"the header {self._user_header!r} must be there once, with one user's name in visible ASCII"
            raise Unauthorized(f"{detail}: correct the proxy's configuration", code="PROXY_USER_INVALID")
        return Caller(PROXY_PREFIX + values[0], self._user_scopes, credential="proxy")

    def find_principal(self, principal: str) -> Caller | None:
        """The principal of an earlier request; None: proxies name none any more."""
        return None if self._user_header is None else Caller(principal, self._user_scopes, credential="proxy")


def _contains(networks: Sequence[IPv4Network | IPv6Network], host: str) -> bool:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in network for network in networks)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _without_port(text: str) -> str:
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _last(values: Sequence[str]) -> str | None:
    return values[-1].rpartition(",")[2].strip() or None if values else None


def _parse_forwarded(text: str) -> list[dict[str, str]]:
    """One table per proxy. A header that is not as the RFC writes it says nothing."""
    entries: list[dict[str, str]] = [{}]
    at = 0
    while at < len(text):
        if (match := FORWARDED_PAIR.match(text, at)) is not None:
            entries[-1][match[1].lower()] = match[2] if match[2] is not None else match[3]
            at = match.end()
        if at < len(text):
            if text[at] == ",":
                entries.append({})
            elif text[at] != ";":
                return []
            at += 1
    return [entry for entry in entries if entry]
