"""Requests that the gateway, or an agent on its behalf, is made to send to services of its own network (SSRF).

Attack: a client names an MCP server at an address that only the gateway's machine can reach, in every spelling that
some program takes for one; or an administrator's definition of a remote agent does. Promise: the agent does not get the
server, the gateway does not connect, the refusal names the host and the setting, and no spelling is an internal error.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gateway.drivers.address_policy import refusal_reason
from tests.attacks.mcp_stage import make_stage
from tests.behaviour.acp.harness import Stage, Talk
from tests.support.gateway import run_input

SPELLINGS = [
    "127.0.0.1",
    "localhost",
    "localhost.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[fec0::1]",
    "[fe80::1]",
    "[2002:7f00:1::]",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "10.0.0.1",
    "100.64.0.1",
    "192.88.99.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "127%2e0.0.1",
    "a@127.0.0.1",
    "127.0.0.1\\@example.com",
    "example.com\\@127.0.0.1",
    "127.0.0.1\t",
    "",
    "[::1",
    "a..b",
    "x" * 300,
    "127.0.0.1\x00.example.com",
]


class Trap:
    """A service of the machine that nobody may reach."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with make_stage(tmp_path_factory.mktemp("requests"), allow_private_addresses=False) as running:
        yield running


def refusal(stage: Stage, server: dict[str, Any]) -> dict[str, Any]:
    body = Talk(stage, mcpServers=[server]).input("hello")
    response = stage.client.post("/agents/plain", json=body)
    assert response.status_code == 422, response.text
    problem: dict[str, Any] = response.json()
    return problem


@pytest.mark.parametrize("host", SPELLINGS, ids=ascii)
def test_an_agent_does_not_get_a_server_of_this_machines_network(stage: Stage, trap: Trap, host: str) -> None:
    before = len(stage.received("plain", method="session/new"))
    problem = refusal(stage, {"type": "http", "name": "s", "url": f"http://{host}:{trap.port}/mcp", "headers": []})
    assert problem["code"] == "MCP_ADDRESS_REFUSED"
    assert problem["pointer"] == "/forwardedProps/gateway/mcpServers/0/url"
    assert len(stage.received("plain", method="session/new")) == before
    assert trap.connections == 0


def test_the_refusal_names_the_host_and_the_setting(stage: Stage) -> None:
    detail = refusal(stage, {"type": "http", "name": "s", "url": "http://localhost:1/mcp"})["detail"]
    assert "localhost" in detail and "allow_private_addresses" in detail


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "unix:/run/docker.sock", 7, {}, [""]])
def test_a_url_of_another_kind_is_refused(stage: Stage, url: Any) -> None:
    assert refusal(stage, {"type": "http", "name": "s", "url": url})["code"] == "MCP_ADDRESS_REFUSED"


def test_a_server_that_is_a_command_and_a_url_is_held_to_both(stage: Stage) -> None:
    server = {"name": "s", "command": "/bin/cat", "args": [], "url": "http://127.0.0.1/"}
    assert refusal(stage, server)["code"] == "MCP_ADDRESS_REFUSED"


def test_a_waiting_message_cannot_bring_one_either(stage: Stage) -> None:
    props = {"gateway": {"mcpServers": [{"type": "http", "name": "s", "url": "http://127.0.0.1/"}]}}
    body = {"message": {"role": "user", "content": "hello"}, "forwardedProps": props}
    response = stage.client.post("/agents/plain/threads/waits/messages", json=body)
    if response.status_code == 202:  # accepted before it was checked: then it must fail
        assert response.json()["status"] == "failed", response.text
    else:
        assert response.status_code == 422, response.text


@pytest.mark.parametrize("host", SPELLINGS, ids=ascii)
def test_no_spelling_of_a_remote_agents_host_is_an_internal_error(stage: Stage, trap: Trap, host: str) -> None:
    url = f"http://{host}:{trap.port}/agent"
    definition = {"driver": "remote", "identity": {"name": "r"}, "remote": {"url": url, "retries": 0}}
    put = stage.client.put("/agents/far", json=definition)
    assert put.status_code in (200, 201, 422), put.text
    if put.status_code != 422:
        events = stage.client.post("/agents/far", json=run_input("hello"))
        assert "INTERNAL" not in events.text and events.status_code < 500 or events.status_code in (502, 503)
        assert "Traceback" not in stage.log.read_text()
        stage.client.delete("/agents/far")
    assert trap.connections == 0


@pytest.mark.parametrize(
    "address",
    ["::127.0.0.1", "::7", "64:ff9b:1::1", "64:ff9b:1:ffff::", "fec0::1", "feff::1", "100:0:0:1::5", "3fff::1"]
    + ["5f00::1", "192.88.99.9", "2001:db8::1", "224.0.0.1", "ff02::1", "255.255.255.255", "198.18.0.1", "0.0.0.0"],
)
def test_special_purpose_addresses_are_not_connected_to(address: str) -> None:
    assert refusal_reason(address, private=False) is not None


@pytest.mark.parametrize("address", ["::169.254.169.254", "64:ff9b:1::a9fe:a9fe", "::ffff:169.254.1.1", "fd20:ce::254"])
def test_metadata_services_are_refused_even_where_private_addresses_are_allowed(address: str) -> None:
    assert refusal_reason(address, private=True) is not None


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"])
def test_public_addresses_are_not_refused(address: str) -> None:
    assert refusal_reason(address, private=False) is None


def test_with_the_setting_the_agent_gets_a_local_server(tmp_path: Path, trap: Trap) -> None:
    with make_stage(tmp_path) as stage:
        server = {"type": "http", "name": "s", "url": f"http://127.0.0.1:{trap.port}/mcp", "headers": []}
        assert Talk(stage, mcpServers=[server]).say("hello")[-1]["type"] == "RUN_FINISHED"
        [opened] = stage.received("plain", method="session/new")
        assert opened["params"]["mcpServers"] == [server]
        problem = stage.client.post(
            "/agents/plain",
            json=Talk(stage, mcpServers=[{**server, "url": "http://169.254.169.254/"}]).input("hello"),
        )
        assert problem.status_code == 422, "metadata services stay closed"
