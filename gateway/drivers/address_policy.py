"""Which addresses the gateway may connect to, and the one HTTP transport that holds every request to it.

In: a URL from a definition or from a client. Out: a connection to an address that was resolved and checked here. A host
name is resolved once for each request and the connection goes to the very address that was checked, so a name that
means another address a moment later (DNS rebinding) gains nothing. Never: a proxy of the environment, which would
resolve names itself; a redirect, which `pinned_client` does not follow, because it would take the token of the request
along to a host that the redirect names.

Everything that talks HTTP from here uses `httpx2`, because the MCP SDK's transports take a client of that library.
"""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Iterable, Mapping
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import anyio
import httpx2

LINK_LOCAL = tuple(map(ip_network, ("169.254.0.0/16", "fe80::/10")))
METADATA = tuple(map(ip_network, ("fd00:ec2::254/128", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32")))
"""Metadata services of clouds, which give a machine its own secrets, beside 169.254.169.254."""
IPV4_IN_IPV6 = tuple(map(ip_network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")))
"""Networks of IPv6 whose last 32 bits are an IPv4 address: IPv4-compatible addresses and the two prefixes of NAT64."""
NOT_GLOBAL = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            *("::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23"),
            *("2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10"),
            "ff00::/8",
        ),
    )
)
"""The networks of IANA's special-purpose registries that are not reachable globally, as of 2026-11
(https://www.iana.org/assignments/iana-ipv4-special-registry/, https://www.iana.org/assignments/iana-ipv6-special-registry/);
with them those that were withdrawn: IPv4-compatible (`::/96`), 6to4 (`192.88.99.0/24`), site-local (`fec0::/10`).
`ipaddress` knows only those of its own release of Python."""

LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=3.0)
"""No bound on connections: a run never waits for one, and the number of runs is bounded elsewhere. An idle connection
is closed before the other side closes it, at five seconds or later: a request on a closed connection is lost."""

Address = IPv4Address | IPv6Address

for library in ("httpx2", "httpcore2"):  # they log URLs, which may hold secrets
    logging.getLogger(library).setLevel(logging.CRITICAL)


class AddressRefused(httpx2.TransportError):
    """The policy forbids this address; the text has the reason."""


class HostNotFound(httpx2.ConnectError):
    """The host name cannot be resolved."""


def refusal_reason(text: str, *, private: bool) -> str | None:
    """Why the gateway must not connect to this address; None: it may. `private`: private addresses are allowed, because
    the operator's own file names the URL or the operator allows them."""
    for address in _embedded_addresses(ip_address(text.partition("%")[0])):
        if _is_in(address, (*LINK_LOCAL, *METADATA)):
            return "it is a link-local or metadata address, which no agent has"
        if not private and (not address.is_global or _is_in(address, NOT_GLOBAL)):
            return "it is a private address; the setting allow_private_addresses permits those"
    return None


def _is_in(address: Address, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _embedded_addresses(address: Address) -> Iterable[Address]:
    """The address, and the IPv4 address inside it where it is another form of one."""
    yield address
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is None and _is_in(address, IPV4_IN_IPV6) and int(address) > 1:  # 0 and 1: `::` and `::1`
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            yield inner


class PinnedClient(httpx2.AsyncClient):
    """A client that refuses a URL which it cannot read as it refuses an address. The library raises an exception for
    it that is no `httpx2.HTTPError`, so callers would take it for a defect of the gateway."""

    def build_request(self, *args: Any, **kwargs: Any) -> httpx2.Request:
        try:
            return super().build_request(*args, **kwargs)
        except (httpx2.InvalidURL, ValueError) as exc:
            raise AddressRefused(f"the URL cannot be read: {exc}") from exc


def pinned_client(
    *,
    private: bool,
    timeout: httpx2.Timeout,
    headers: Mapping[str, str] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> httpx2.AsyncClient:
    """A client that connects only to addresses the policy allows. `transport`: one that wraps a `PinnedTransport`."""
    return PinnedClient(
        transport=transport or PinnedTransport(private=private),
        timeout=timeout,
        headers=dict(headers or {}),
        trust_env=False,
        follow_redirects=False,
    )


class PinnedTransport(httpx2.AsyncHTTPTransport):
    """Connects only to addresses that `refusal_reason` lets pass. Raises `AddressRefused` and `HostNotFound`."""

    def __init__(self, *, private: bool) -> None:
        super().__init__(verify=_ssl_context(), trust_env=False, limits=LIMITS)
        self._private = private

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        *others, last = await self._resolve(request)
        for address in others:
            try:
                return await super().handle_async_request(_pin(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # nothing was sent; another address of the host may have a listener
        return await super().handle_async_request(_pin(request, last))

    async def _resolve(self, request: httpx2.Request) -> list[str]:
        """The host's addresses, if the policy allows every one of them."""
        host = request.url.host
        try:
            addresses = await resolve_host(host)
        except (OSError, ValueError) as exc:  # ValueError: a name that no resolver takes, with a NUL or an empty label
            reason = exc.strerror if isinstance(exc, OSError) else exc
            raise HostNotFound(f"{host} cannot be resolved: {reason}", request=request) from exc
        for address in addresses:
            if (reason := refusal_reason(address, private=self._private)) is not None:
                raise AddressRefused(f"{host} ({address}) is not connected to: {reason}", request=request)
        return addresses


async def resolve_host(host: str) -> list[str]:
    """Its addresses. Raises `OSError` or `ValueError` where it has none."""
    if _is_address(host):
        return [host]
    entries = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@cache
def _ssl_context() -> ssl.SSLContext:
    """One for all transports: reading the certificates takes 50 ms, and a mounted gateway may have a hundred agents."""
    return httpx2.create_ssl_context(trust_env=False)


def _is_address(host: str) -> bool:
    """Then there is nothing to resolve, which would take a thread."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _pin(request: httpx2.Request, address: str) -> httpx2.Request:
    """The same request to this address. The host name stays in the Host header and in the check of the certificate."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
