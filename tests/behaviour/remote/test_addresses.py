"""Where a remote agent may be: checked after the name was looked up, for every request."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from gateway.drivers.address_policy import AddressRefused, PinnedTransport, refusal_reason
from tests.support.gateway import Gateway

NEVER = ["169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"]
NEVER += ["fd00:ec2::254", "100.100.100.200", "2002:a9fe:a9fe::"]
PRIVATE = ["127.0.0.1", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "fd12::1", "224.0.0.1"]
PRIVATE += ["::ffff:127.0.0.1", "2002:7f00:1::", "::"]
PUBLIC = ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", NEVER)
def test_a_link_local_address_is_refused_whoever_names_it(address: str) -> None:
    assert refusal_reason(address, private=True)
    assert refusal_reason(address, private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_for_files_only(address: str) -> None:
    assert refusal_reason(address, private=True) is None
    assert refusal_reason(address, private=False)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_for_everybody(address: str) -> None:
    if not address.startswith("::ffff:"):
        assert refusal_reason(address, private=False) is None
    assert refusal_reason(address, private=True) is None


def test_a_name_counts_as_what_it_means_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """One good address among bad ones does not help."""

    async def lookup(host: str, port: int, **more: Any) -> Sequence[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("8.8.8.8", "169.254.169.254")]

    async def ask() -> None:
        async with httpx2.AsyncClient(transport=PinnedTransport(private=True)) as client:
            await client.get("http://innocent.example/")

    monkeypatch.setattr(anyio, "getaddrinfo", lookup)
    with pytest.raises(AddressRefused, match=r"innocent\.example \(169\.254\.169\.254\)"):
        anyio.run(ask)


def test_a_name_with_an_address_that_nobody_listens_at_is_reached_at_the_other(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lookup(host: str, port: int, **more: Any) -> Sequence[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.9", "127.0.0.1")]

    async def ask() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=PinnedTransport(private=True)) as client:
            return await client.get(gateway.url.replace("127.0.0.1", "localhost") + "/agents")

    monkeypatch.setattr(anyio, "getaddrinfo", lookup)
    answer = anyio.run(ask)
    assert answer.status_code == 200, "the name stays in the Host header: the gateway checks that"


def test_a_registered_agent_may_not_be_on_loopback_unless_that_is_set(gateway: Gateway, tmp_path: Path) -> None:
    remote = {"url": f"{gateway.url}/agents/echo", "retries": 0}
    body = {"driver": "remote", "identity": {"name": "Near"}, "remote": remote}
    for allowed, ends in (("false", "RUN_ERROR"), ("true", "RUN_FINISHED")):
        env = {"AGUI_GATEWAY_ALLOW_PRIVATE_ADDRESSES": allowed}
        with Gateway(tmp_path / allowed, env=env) as near:
            assert near.client.put("/agents/inner", json=body).status_code == 201
            last = near.run("inner")[-1]
            assert last["type"] == ends
            if allowed == "false":
                assert "private address" in last["message"]
                told = near.client.get("/agents/inner").json()
                assert told["availability"]["status"] == "broken"


def test_a_redirect_is_not_followed(gateway: Gateway, tmp_path: Path) -> None:
    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(307)
            self.send_header("location", f"{gateway.url}/agents/echo")
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *words: Any) -> None:
            return None

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        agents = tmp_path / "agents"
        agents.mkdir()
        text = f'id = "moved"\ndriver = "remote"\nidentity.name = "M"\nremote.url = "http://127.0.0.1:{server.server_port}"\n'
        (agents / "moved.toml").write_text(text)
        with Gateway(tmp_path / "home", "--agents", str(agents)) as near:
            last = near.run("moved")[-1]
        server.shutdown()
    assert (last["type"], "307" in last["message"]) == ("RUN_ERROR", True)
