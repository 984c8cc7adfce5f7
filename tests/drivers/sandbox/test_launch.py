"""Processes in a real sandbox: their network, their port, their end."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from gateway.drivers.cli.transports.server import port_client
from gateway.drivers.process import Process
from gateway.drivers.process.resource_limits import ResourceLimits
from gateway.drivers.sandbox import bubblewrap
from gateway.drivers.sandbox.bubblewrap import unusable_reason
from gateway.drivers.sandbox.hosts import HostRule, parse_rule
from gateway.drivers.sandbox.launch import Program, start_program
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.errors import AgentFault

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(unusable_reason() is not None, reason=f"needs bubblewrap: {unusable_reason()}"),
]

FETCH = "curl --silent --show-error --max-time 10 "
LIMIT_SECONDS = 30.0


class Stage:
    def __init__(self, folder: Path) -> None:
        self.work, self.home = folder / "work", folder / "home"
        self.exchange = folder / "x" / "e"
        for path in (self.work, self.home, self.exchange):
            path.mkdir(parents=True)

    @asynccontextmanager
    async def start(
        self, command: str | list[str], *hosts: HostRule, port: int | None = None, **fields: Any
    ) -> AsyncIterator[Process]:
        run = ["/bin/sh", "-c", command] if isinstance(command, str) else command
        policy = SandboxPolicy("bubblewrap", folders=(self.work,), exchange=self.exchange, hosts=hosts, **fields)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        async with anyio.create_task_group() as tasks:
            with anyio.fail_after(LIMIT_SECONDS):
                async with await start_program(Program(run, env, self.work, port, "test"), policy, tasks) as process:
                    yield process
            tasks.cancel_scope.cancel()

    async def output(self, command: str, *hosts: HostRule, **fields: Any) -> str:
        async with self.start(f"{command} 2>&1", *hosts, **fields) as process:
            return await read_all(process)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def read_all(process: Process) -> str:
    text = b""
    while data := await process.read():
        text += data
    return text.decode()


@contextmanager
def web_server() -> Iterator[int]:
    """Answers every request with its first line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    line = client.recv(65536).split(b"\r\n")[0]
                    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(line)}\r\nConnection: close\r\n\r\n"
                    client.sendall(head.encode() + line)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


async def test_a_loopback_port_that_the_operator_lists_is_the_same_inside(stage: Stage) -> None:
    with web_server() as port:
        rule = parse_rule(f"127.0.0.1:{port}", allows_private=True)
        command = f"{FETCH} http://127.0.0.1:{port}/direct; {FETCH} --noproxy '' http://localhost:{port}/proxy"
        text = await stage.output(command, rule)
    assert "GET /direct HTTP/1.1" in text
    assert "GET /proxy HTTP/1.1" in text, "an absolute URL becomes the server's path"


async def test_a_private_address_needs_the_operators_word(stage: Stage) -> None:
    with web_server() as port:
        text = await stage.output(f"{FETCH} --noproxy '' http://127.0.0.1:{port}/x", parse_rule(f"127.0.0.1:{port}"))
    assert "it is a private address" in text


async def test_a_link_local_address_is_never_connected_to(stage: Stage) -> None:
    text = await stage.output(f"{FETCH} http://169.254.169.254/", parse_rule("169.254.169.254", allows_private=True))
    assert "link-local or metadata address" in text


async def test_the_gateway_reaches_the_port_of_a_process_inside(stage: Stage) -> None:
    (stage.work / "page.txt").write_text("from inside")
    port = 8017
    async with stage.start(["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1"], port=port) as process:
        async with port_client(process, timeout=httpx2.Timeout(5.0), base_url=f"http://127.0.0.1:{port}") as client:
            while True:
                try:
                    response = await client.get("/page.txt")
                    break
                except httpx2.TransportError:
                    assert process.exit_code is None, process.stderr_tail()
                    await anyio.sleep(0.05)
        assert response.text == "from inside"
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0, "it is not a port of this machine"
        socket_path = process.port_socket
        assert socket_path is not None and socket_path.exists()
    assert not socket_path.exists()


async def test_signals_and_exit_codes_are_the_agents_own(stage: Stage) -> None:
    async with stage.start("exit 7") as process:
        assert await process.wait() == 7
    async with stage.start("kill -ABRT $$") as process:
        assert await process.wait() == -signal.SIGABRT
    async with stage.start("trap 'echo stopped; exit 5' INT; echo ready; while :; do sleep 0.05; done") as process:
        assert await process.read() == b"ready\n"
        process.interrupt()
        assert await read_all(process) == "stopped\n"
        assert await process.wait() == 5


async def test_the_end_of_stdout_is_seen_while_the_process_goes_on(stage: Stage) -> None:
    async with stage.start("echo last; exec >&-; sleep 20") as process:
        assert await read_all(process) == "last\n"
        assert process.exit_code is None


async def test_a_program_that_is_missing_inside_is_named(stage: Stage) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with stage.start(["no-such-agent"]):
            pass
    [error] = raised.value.exceptions
    assert isinstance(error, AgentFault) and error.code == "AGENT_NOT_FOUND"
    assert "home_read" in error.detail


async def test_a_sandbox_that_cannot_be_set_up_is_an_error_with_the_reason(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "SYSTEM", ())
    with pytest.raises(ExceptionGroup) as raised:
        async with stage.start("true"):
            pass
    [error] = raised.value.exceptions
    assert isinstance(error, AgentFault) and error.code == "SANDBOX_UNAVAILABLE"
    assert "bwrap: " in error.detail and 'sandbox = "none"' in error.detail


async def test_home_files_are_copies_and_home_directories_are_read_only_or_writable(stage: Stage) -> None:
    for name in ("settings.json", "notes/a", "state/b", "state/hooks/c", "secret"):
        path = stage.home / ".agent" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    command = (
        "cd ~/.agent; cat settings.json; echo x > settings.json; cat settings.json; rm -f secret; ls;"
        "echo x > notes/a; echo after > state/b; echo x > state/hooks/c; echo x > new/file"
    )
    text = await stage.output(
        command,
        home_read=("~/.agent/settings.json", "~/.agent/notes/", "~/.agent/state/hooks/"),
        home_write=("~/.agent/state/", "~/.agent/new/"),
    )
    assert text.startswith("beforex\nnew\nnotes\nsettings.json\nstate\n"), text
    contents = {path.name: path.read_text() for path in (stage.home / ".agent").rglob("*") if path.is_file()}
    assert contents == {
        "settings.json": "before",
        "a": "before",
        "b": "after\n",
        "c": "before",
        "secret": "before",
        "file": "x\n",
    }


async def test_the_count_of_processes_is_limited(stage: Stage) -> None:
    limits = ResourceLimits(processes=20)
    async with stage.start("for i in $(seq 60); do sleep 20 & done; wait; echo done", limits=limits) as process:
        assert "done" not in await read_all(process)
        assert process.limit == "processes" and process.exit_code == -signal.SIGKILL
