"""The network of an agent in a sandbox: an HTTP proxy at a Unix socket, which connects only to permitted hosts.

In: `CONNECT host:port`, and requests for `http://` URLs. Out: a connection to an address that was resolved and checked
here, so a name that means another address a moment later gains nothing; or 403 and the reason, which is logged too.
Never: a private address, unless the operator has named the host and the port. One proxy serves one process.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream, SocketListener, SocketStream

from gateway.drivers.address_policy import refusal_reason
from gateway.drivers.process import Process
from gateway.drivers.sandbox.hosts import HostRule, find_rule, is_loopback

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 64 * 1024
MAX_CONNECTIONS = 512
"""Of one process at once."""
HEAD_TIMEOUT_SECONDS = 30.0
CONNECT_TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 64 * 1024
HOP_HEADERS = frozenset((b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive"))
"""Of a request to the proxy, not to the server."""

DISCONNECTED = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


class Refusal(Exception):
    """`status` and a sentence for the agent."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Target:
    host: str
    port: int
    head: bytes
    """Goes to the server first; empty: the client's bytes follow unchanged, after the answer 200."""


class Proxy:
    """Made by `open`."""

    def __init__(self, listener: SocketListener, rules: Sequence[HostRule], agent: str) -> None:
        self._listener = listener
        self._rules = rules
        self._agent = agent
        self._connections = 0

    @classmethod
    async def open(cls, path: Path, rules: Sequence[HostRule], agent: str) -> Proxy:
        """`agent`: its name, for the log."""
        return cls(await anyio.create_unix_listener(path, mode=0o600), rules, agent)

    async def serve(self, process: Process) -> None:
        """Until the process has ended."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._accept_all)
            await process.wait()
            tasks.cancel_scope.cancel()

    async def aclose(self) -> None:
        await self._listener.aclose()

    async def _accept_all(self) -> None:
        with suppress(anyio.ClosedResourceError):
            await self._listener.serve(self._accept)

    async def _accept(self, client: SocketStream) -> None:
        self._connections += 1
        try:
            async with client:
                await self._answer(client)
        except DISCONNECTED:
            return
        except Exception:  # a defect in one connection must not end the gateway
            log.exception("a connection of %s to its proxy failed", self._agent)
        finally:
            self._connections -= 1

    async def _answer(self, client: SocketStream) -> None:
        try:
            if self._connections > MAX_CONNECTIONS:
                raise Refusal("503 Service Unavailable", f"more than {MAX_CONNECTIONS} connections are open")
            head, rest = await _read_head(client)
            target = parse_head(head)
            server = await self._connect(target)
        except Refusal as exc:
            level = logging.WARNING if exc.status.startswith("403") else logging.INFO
            log.log(level, "%s in its sandbox: %s", self._agent, exc.reason)
            await client.send(_refuse(exc))
            return
        async with server:
            if not target.head:
                await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await server.send(target.head + rest)
            await relay(client, server)

    async def _connect(self, target: Target) -> SocketStream:
        rule = find_rule(self._rules, target.host, target.port)
        place = f"{target.host}:{target.port}"
        if rule is None:
            raise Refusal(
                "403 Forbidden",
                f"{place} is not among the hosts that this agent may connect to. The operator can permit it with "
                f"--sandbox-hosts {target.host if target.port in (80, 443) else place}",
            )
        last = Refusal("502 Bad Gateway", f"{place} cannot be reached")
        for address in await _resolve(rule.host if is_loopback(rule.host) else target.host):
            if (reason := refusal_reason(address, private=rule.allows_private)) is not None:
                raise Refusal("403 Forbidden", f"{place} ({address}) is not connected to: {reason.partition(' (')[0]}")
            try:
                with anyio.fail_after(CONNECT_TIMEOUT_SECONDS):
                    return await anyio.connect_tcp(address, target.port)
            except (OSError, TimeoutError) as exc:
                last = Refusal("502 Bad Gateway", f"{place} cannot be reached: {exc or 'no answer in time'}")
        raise last


async def _read_head(client: ByteStream) -> tuple[bytes, bytes]:
    """The request line with the headers, and what came after them."""
    data = b""
    try:
        with anyio.fail_after(HEAD_TIMEOUT_SECONDS):
            while b"\r\n\r\n" not in data:
                if len(data) > MAX_HEAD_BYTES:
                    raise Refusal("431 Request Header Fields Too Large", "a request's headers are too large")
                data += await client.receive(CHUNK_BYTES)
    except TimeoutError:
        raise Refusal("408 Request Timeout", "a request was not complete in time") from None
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def parse_head(head: bytes) -> Target:
    """Raises `Refusal`."""
    line, *headers = head.split(b"\r\n")
    try:
        method, url, version = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
        host, port = parts.hostname or "", parts.port or (443 if method == "CONNECT" else 80)
    except ValueError:
        raise Refusal("400 Bad Request", "a request to the proxy cannot be read") from None
    if method == "CONNECT":
        return Target(host, port, b"")
    if parts.scheme != "http" or not host:
        raise Refusal("400 Bad Request", "the proxy takes CONNECT, and requests for http:// URLs")
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    kept = [header for header in headers if header.partition(b":")[0].strip().lower() not in HOP_HEADERS]
    lines = [f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""]
    return Target(host, port, b"\r\n".join(lines))


async def relay(client: SocketStream, server: SocketStream) -> None:
    """Both directions, until both have ended, or one of the two is gone."""
    async with anyio.create_task_group() as tasks:

        async def copy(source: SocketStream, sink: SocketStream) -> None:
            try:
                while True:
                    await sink.send(await source.receive(CHUNK_BYTES))
            except anyio.EndOfStream:
                with suppress(*DISCONNECTED):
                    await sink.send_eof()
            except DISCONNECTED:
                tasks.cancel_scope.cancel()

        tasks.start_soon(copy, client, server)
        await copy(server, client)


async def _resolve(host: str) -> list[str]:
    with suppress(ValueError):
        return [str(ip_address(host))]
    try:
        entries = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise Refusal("502 Bad Gateway", f"{host} cannot be resolved: {exc}") from exc
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _refuse(refusal: Refusal) -> bytes:
    body = f"agui-gateway: {refusal.reason}\n".encode()
    head = (
        f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
