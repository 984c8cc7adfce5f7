"""The address policy, by the attacks that it stops: DNS rebinding, redirects, link-local addresses, proxies."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import anyio
import httpx2
import pytest

from gateway.drivers.address_policy import AddressRefused, HostNotFound, pinned_client, refusal_reason

pytestmark = pytest.mark.anyio

ALWAYS_REFUSED = [
    *("169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"),
    *("fd00:ec2::254", "100.100.100.200", "2002:a9fe:a9fe::"),
]
PRIVATE = [
    *("127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "fd12::1", "224.0.0.1"),
    *("::ffff:127.0.0.1", "2002:7f00:1::", "::"),
]
PUBLIC = ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"]
METADATA = "169.254.169.254"


@pytest.mark.parametrize("address", ALWAYS_REFUSED)
def test_a_link_local_address_is_refused_even_where_private_ones_are_allowed(address: str) -> None:
    assert refusal_reason(address, private=True)
    assert refusal_reason(address, private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_needs_permission(address: str) -> None:
    assert refusal_reason(address, private=True) is None
    assert refusal_reason(address, private=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    if not address.startswith("::ffff:"):
        assert refusal_reason(address, private=False) is None
    assert refusal_reason(address, private=True) is None


class Server(HTTPServer):
    """Answers with the Host header; `/away` redirects to a metadata service."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.requests += 1
        body = self.headers["host"].encode()
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("location", f"http://{METADATA}/latest/")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return None


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Resolver:
    """Resolves every name to the next entry of a list; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.lookups = 0

    async def getaddrinfo(self, host: str, port: int | None, **options: Any) -> list[Any]:
        self.lookups += 1
        addresses = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


async def get(url: str, *, private: bool = True) -> httpx2.Response:
    async with pinned_client(private=private, timeout=httpx2.Timeout(5.0)) as client:
        return await client.get(url)


async def test_a_name_that_means_another_address_after_the_check_gains_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding. One lookup serves check and connection, so there is no second answer to connect to."""
    resolver = Resolver(["127.0.0.1"], [METADATA])
    monkeypatch.setattr(anyio, "getaddrinfo", resolver.getaddrinfo)
    url = f"http://rebinding.example:{server.server_port}/"
    response = await get(url)
    assert (response.text, resolver.lookups) == (f"rebinding.example:{server.server_port}", 1)
    with pytest.raises(AddressRefused, match=r"rebinding\.example \(169\.254\.169\.254\)"):
        await get(url)
    assert server.requests == 1


async def test_one_refused_address_of_a_name_refuses_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anyio, "getaddrinfo", Resolver(["8.8.8.8", METADATA]).getaddrinfo)
    with pytest.raises(AddressRefused, match=r"innocent\.example \(169\.254\.169\.254\)"):
        await get("http://innocent.example/")


async def test_an_address_without_a_listener_is_followed_by_the_next(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anyio, "getaddrinfo", Resolver(["127.0.0.9", "127.0.0.1"]).getaddrinfo)
    assert (await get(f"http://two.example:{server.server_port}/")).status_code == 200


async def test_a_redirect_is_not_followed_and_would_be_checked(server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/away"
    assert (await get(url)).status_code == 302
    async with pinned_client(private=True, timeout=httpx2.Timeout(5.0)) as client:
        with pytest.raises(AddressRefused):
            await client.get(url, follow_redirects=True)


async def test_a_proxy_of_the_environment_is_not_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await get(f"http://127.0.0.1:{server.server_port}/")).status_code == 200


async def test_a_private_address_is_refused_to_those_without_permission(server: Server) -> None:
    with pytest.raises(AddressRefused, match="private address"):
        await get(f"http://127.0.0.1:{server.server_port}/", private=False)
    assert server.requests == 0


async def test_a_name_that_cannot_be_resolved_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(host: str, port: int | None, **options: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(anyio, "getaddrinfo", fail)
    with pytest.raises(HostNotFound, match=r"nowhere\.example cannot be resolved: Name or service not known"):
        await get("http://nowhere.example/")
