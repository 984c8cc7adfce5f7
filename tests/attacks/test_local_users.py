"""Another user of the machine, at a gateway on loopback that asks for no token.

The incident: any UNIX user could register an agent with the gateway of another, and have its command run as that user
(opencode's CVE-2026-22812 is the same). 127.0.0.1 belongs to everybody on the machine.

The promise: the kernel tells who is at the other end. The gateway's own user and root pass, nobody else does, not by
IPv6, not by an early close, not through a proxy of root. The person at the machine notices nothing of this.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gateway.web.auth.socket_owner import SocketOwner, find_owner
from tests.attacks.callers import (
    ANSWER_LIMIT,
    GATEWAY_UID,
    STRANGER_UID,
    UserGateway,
    curl_as,
    needs_other_users,
    run_as,
)
from tests.support.gateway import Gateway
from tests.web.problem import problem_in

DEFINITION = '{"driver": "acp", "identity": {"name": "x"}, "command": {"run": ["/bin/sh", "-c", "id"]}}'
PUT = ("-X", "PUT", "-H", "content-type: application/json", "-d", DEFINITION)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that runs as a user without rights."""
    folder = tmp_path_factory.mktemp("others")
    for parent in (folder, *folder.parents):
        if parent != Path("/") and parent.stat().st_uid == 0 and parent != Path("/tmp"):
            parent.chmod(0o755)
    with UserGateway(folder / "home", GATEWAY_UID) as gateway:
        yield gateway


@needs_other_users
def test_another_user_is_refused_and_told_what_to_do(gateway: Gateway) -> None:
    status, problem = curl_as(STRANGER_UID, f"{gateway.url}/agents")
    assert (status, problem["code"]) == (401, "LOCAL_USER_REFUSED")
    assert str(STRANGER_UID) in problem["detail"] and "token" in problem["detail"]


@needs_other_users
@pytest.mark.parametrize("flags", [PUT, ("-X", "DELETE"), ("-H", "x-forwarded-for: 127.0.0.1", *PUT)])
def test_another_user_registers_no_agent(gateway: Gateway, flags: tuple[str, ...]) -> None:
    status, problem = curl_as(STRANGER_UID, f"{gateway.url}/agents/owned", *flags)
    assert (status, problem["code"]) == (401, "LOCAL_USER_REFUSED")
    assert gateway.client.get("/agents/owned").status_code == 404


@needs_other_users
def test_another_user_gets_the_consoles_files_and_the_health_only(gateway: Gateway) -> None:
    assert curl_as(STRANGER_UID, f"{gateway.url}/healthz")[0] == 200
    assert curl_as(STRANGER_UID, f"{gateway.url}/console/main.js")[0] == 200
    assert curl_as(STRANGER_UID, f"{gateway.url}/", "-H", "accept: text/html")[0] == 200
    assert curl_as(STRANGER_UID, f"{gateway.url}/")[0] == 401


@needs_other_users
@pytest.mark.parametrize(("uid", "status"), [(GATEWAY_UID, 200), (None, 200), (STRANGER_UID, 401)])
def test_its_own_user_and_root_pass(others: Gateway, uid: int | None, status: int) -> None:
    assert curl_as(uid, f"{others.url}/agents")[0] == status


@needs_other_users
def test_another_user_opens_no_websocket(gateway: Gateway) -> None:
    flags = ("-H", "upgrade: websocket", "-H", "connection: upgrade", "-H", "sec-websocket-version: 13")
    key = ("-H", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==")
    status, problem = curl_as(STRANGER_UID, f"{gateway.url}/agents/echo/socket", *flags, *key)
    assert (status, problem["code"]) == (401, "LOCAL_USER_REFUSED")


CLOSE_EARLY = """
    for each in $(seq 200); do
        exec 3<>/dev/tcp/127.0.0.1/{port}
        printf 'PUT /agents/early HTTP/1.1\\r\\nhost: localhost\\r\\ncontent-type: application/json\\r\\n' >&3
        printf 'content-length: %s\\r\\n\\r\\n%s' {length} '{body}' >&3
        exec 3>&-
    done
"""


@needs_other_users
def test_a_user_who_closes_early_does_not_pass_as_root(gateway: Gateway) -> None:
    """The kernel names root as the owner of a socket that is closed already."""
    script = textwrap.dedent(CLOSE_EARLY)
    port = httpx.URL(gateway.url).port
    run_as(STRANGER_UID, "bash", "-c", script.format(port=port, length=len(DEFINITION), body=DEFINITION))
    assert gateway.client.get("/agents/early").status_code == 404


@linux_only
def test_a_closed_socket_has_no_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        peer, own = accepted.getpeername(), accepted.getsockname()
        assert find_owner(peer, own) == SocketOwner(os.geteuid(), os.fstat(client.fileno()).st_ino)
        client.close()
        assert find_owner(peer, own) is None
        accepted.close()


@linux_only
@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::ffff:127.0.0.1")],
)
def test_every_way_to_write_loopback_has_its_owner(
    family: socket.AddressFamily, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel's answer and, where that is not allowed, by the table in /proc."""
    with (
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server,
        socket.socket(family) as client,
    ):
        client.connect((host, server.getsockname()[1]))
        accepted, _ = server.accept()
        with accepted:
            peer, own = accepted.getpeername()[:2], accepted.getsockname()[:2]
            inode = os.fstat(client.fileno()).st_ino
            assert find_owner(peer, own) == SocketOwner(os.geteuid(), inode)

            def refuse(*args: object) -> None:
                raise OSError("not allowed")

            monkeypatch.setattr("gateway.web.auth.socket_owner._ask_kernel", refuse)
            assert find_owner(peer, own) == SocketOwner(os.geteuid(), inode)
            assert find_owner(own, peer) is None or find_owner(own, peer) != SocketOwner(os.geteuid(), inode)


@needs_other_users
def test_a_proxy_of_root_does_not_let_everybody_pass(others: Gateway) -> None:
    """Root itself passes; what comes through a proxy that runs as root may come from anybody."""
    assert curl_as(None, f"{others.url}/agents")[0] == 200
    status, problem = curl_as(None, f"{others.url}/agents", "-H", "x-forwarded-for: 192.0.2.7")
    assert (status, problem["code"]) == (401, "LOCAL_USER_UNKNOWN")


def test_the_person_at_the_machine_needs_no_token(gateway: Gateway) -> None:
    assert gateway.client.get("/agents").status_code == 200
    assert [event["type"] for event in gateway.run("echo")][-1] == "RUN_FINISHED"


# -- where the system does not tell


@pytest.fixture(scope="module")
def with_token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, str]]:
    """A gateway that knows its user by a token which it has made, and the token."""
    home = tmp_path_factory.mktemp("token")
    with Gateway(home, env={"AGUI_GATEWAY_LOCAL_AUTH": "token"}) as gateway:
        yield gateway, (home / "agui-gateway" / "local-token").read_text().strip()


def test_the_local_token_is_its_owners_alone_and_lets_in(with_token: tuple[Gateway, str]) -> None:
    gateway, token = with_token
    file = gateway.log.parent / "agui-gateway" / "local-token"
    assert (file.stat().st_mode & 0o777, token[:4], len(token) >= 40) == (0o600, "agw_", True)
    refused = gateway.client.get("/agents")
    assert str(file) in problem_in(refused, 401, "UNAUTHORIZED")["detail"]
    assert gateway.client.get("/agents", headers={"authorization": f"Bearer {token}"}).status_code == 200
    assert gateway.client.get("/agents", headers={"authorization": f"Bearer {token}x"}).status_code == 401


@needs_other_users
def test_the_local_token_cannot_be_read_by_another_user(with_token: tuple[Gateway, str]) -> None:
    gateway, token = with_token
    file = gateway.log.parent / "agui-gateway" / "local-token"
    assert token not in run_as(STRANGER_UID, "cat", str(file))
    assert token not in run_as(STRANGER_UID, "ps", "axww")


def test_the_gateways_own_commands_find_the_local_token(with_token: tuple[Gateway, str]) -> None:
    gateway, token = with_token
    env = os.environ | {"XDG_DATA_HOME": str(gateway.log.parent)}
    command = [sys.executable, "-m", "gateway", "run", "echo", "--url", gateway.url, "hello there"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=ANSWER_LIMIT)
    assert (done.returncode, "hello there" in done.stdout, token in done.stdout + done.stderr) == (0, True, False)


def test_a_local_token_that_others_could_read_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "agui-gateway" / "local-token"
    file.parent.mkdir()
    file.write_text("agw_" + "x" * 43)
    file.chmod(0o644)
    env = os.environ | {"XDG_DATA_HOME": str(tmp_path), "AGUI_GATEWAY_LOCAL_AUTH": "token"}
    command = [sys.executable, "-m", "gateway", "serve", "--port", "0", "--store", "memory:"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=ANSWER_LIMIT, cwd=tmp_path)
    assert done.returncode != 0 and "others than you may read it" in done.stderr
