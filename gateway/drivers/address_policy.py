"""Which addresses may be connected to, and a transport that holds every request to it.

In: a definition's URL, whatever it names. Out: a connection to an address that was looked up and checked here. A name
is resolved once for each request and the connection goes to the very address that was checked: a name that means
another address a moment later (DNS rebinding) gains nothing. Proxies of the environment are not used, for they would
look names up themselves.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import anyio
import httpx

LINK_LOCAL = tuple(map(ip_network, ("169.254.0.0/16", "fe80::/10")))
METADATA = tuple(map(ip_network, ("fd00:ec2::254/128", "100.100.100.200/32", "192.0.0.192/32")))
"""Where clouds tell a machine its own secrets, beside 169.254.169.254."""
NAT64 = ip_network("64:ff9b::/96")

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=3.0)
"""A run has its connection at once: how many there may be is bounded elsewhere. One that is kept is given up before
the other side does that, at five seconds or later: to find out only by a request is to lose the request."""

Address = IPv4Address | IPv6Address


def refusal(text: str, *, private: bool) -> str | None:
    """Why this address must not be connected to; None: it may. `private`: the operator's own file names it."""
    for address in meant(ip_address(text.partition("%")[0])):
        if any(address in network for network in (*LINK_LOCAL, *METADATA) if network.version == address.version):
            return "it is a link-local or metadata address, which no agent has"
        if not private and (not address.is_global or address.is_multicast):
            return "it is a private address (allow_private_addresses lets registered agents have one)"
    return None


def meant(address: Address) -> Iterable[Address]:
    """The address, and the IPv4 one inside it where it is a form of one."""
    yield address
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is None and address in NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            yield inner


class Refused(Exception):
    """By the policy; the text says why."""


async def allowed(host: str, *, private: bool) -> list[str]:
    """The host's addresses, if every one of them may be connected to. Raises `Refused`, or `OSError` where nobody
    knows the name."""
    addresses = [host] if _is_address(host) else await _looked_up(host)
    for address in addresses:
        if (why := refusal(address, private=private)) is not None:
            raise Refused(f"{host} ({address}) is not connected to: {why}")
    return addresses


async def _looked_up(host: str) -> list[str]:
    found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@cache
def certificates() -> ssl.SSLContext:
    """Whom to believe. One for all: to read them takes 50 ms, and a mounted gateway may have a hundred agents."""
    return httpx.create_ssl_context(trust_env=False)


class NotConnected(httpx.TransportError):
    """By the policy."""


class PinnedTransport(httpx.AsyncHTTPTransport):
    """Connects to nothing but what `refusal` lets pass."""

    def __init__(self, *, private: bool) -> None:
        super().__init__(verify=certificates(), trust_env=False, limits=LIMITS)
        self._private = private

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        *others, last = await self._addresses(request)
        for address in others:
            try:
                return await super().handle_async_request(_pinned(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # nothing was sent: a name may have an address that nobody listens at
        return await super().handle_async_request(_pinned(request, last))

    async def _addresses(self, request: httpx.Request) -> list[str]:
        try:
            return await allowed(request.url.host, private=self._private)
        except Refused as exc:
            raise NotConnected(str(exc), request=request) from exc
        except OSError as exc:
            raise httpx.ConnectError(f"{request.url.host} cannot be looked up: {exc}", request=request) from exc


def _is_address(host: str) -> bool:
    """Then there is nothing to look up, which would take a thread."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _pinned(request: httpx.Request, address: str) -> httpx.Request:
    """The name stays in the Host header and in the check of the certificate."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
