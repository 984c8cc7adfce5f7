"""MCP servers as real processes, listed by the official SDK: good ones, and all kinds of bad ones."""

from __future__ import annotations

import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.drivers.mcp_client import McpServers, SessionServers, pool, watcher
from gateway.drivers.mcp_client.server_config import ServerUnusable
from gateway.drivers.mcp_client.watcher import ServerState, describe_failure
from gateway.limits import MCP_SERVERS, PrincipalLimits
from gateway.settings import Settings
from tests.drivers.mcp_client.servers import FAKE, lines, pids, remote, serving, stdio
from tests.drivers.process_watch import LIMIT, alive, running

pytestmark = pytest.mark.anyio

START_TIMEOUT_SECONDS = 10.0
"""For a server that never answers; the others here start in less."""


class PoolUser:
    """A pool, and the changes that it reports."""

    def __init__(self, pool_servers: McpServers, home: Path) -> None:
        self.pool, self._cwd = pool_servers, home
        self.changes = 0
        """How often a change was reported."""
        self._change_seen = anyio.Event()

    def use(self, *pool_servers: dict[str, Any]) -> SessionServers:
        return self.pool.use(pool_servers, self._cwd, self._count_change)

    def _count_change(self) -> None:
        self.changes += 1
        self._change_seen.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(LIMIT):
            while not condition():
                self._change_seen = anyio.Event()
                with anyio.move_on_after(0.05):
                    await self._change_seen.wait()

    async def wait_until_known(self, servers: SessionServers) -> dict[str, ServerState]:
        """Until every server is connected or has failed."""
        await self.until(lambda: all(one.state.status != "connecting" for one in servers.known.values()))
        return {name: known.state for name, known in servers.known.items()}


@pytest.fixture
async def user(tmp_path: Path, note: Path) -> AsyncIterator[PoolUser]:
    async with anyio.create_task_group() as tasks:
        yield PoolUser(McpServers(tasks, private=True), tmp_path)
        tasks.cancel_scope.cancel()


@pytest.fixture
def more(tmp_path: Path) -> Path:
    return tmp_path / "more"


@pytest.fixture
def note(tmp_path: Path) -> Iterator[Path]:
    """At the end of every test the servers that wrote their process ids here have ended."""
    path = tmp_path / "note"
    yield path
    assert [pid for pid in pids(path) if alive(pid)] == []


def status(servers: SessionServers, name: str) -> str:
    return servers.known[name].state.status


def names(state: ServerState) -> list[str]:
    return [tool["name"] for tool in state.listing.tools]


@pytest.mark.parametrize("flags", [(), ("--modern",), ("--noise",)], ids=["", "the newer protocol", "greets on stdout"])
async def test_a_started_server_lists_its_tools_and_announces_changes(
    user: PoolUser, more: Path, note: Path, flags: tuple[str, ...]
) -> None:
    servers = user.use(stdio("calc", f"--more={more}", f"--note={note}", *flags))
    assert servers.known["calc"].state == ServerState("connecting")
    state = (await user.wait_until_known(servers))["calc"]
    assert (state.status, names(state), state.listing.complete) == ("connected", ["add"], True)
    assert state.listing.tools[0]["parameters"]["required"] == ["a", "b"]
    await anyio.Path(more).write_text("sub mul")
    await user.until(lambda: names(servers.known["calc"].state) == ["add", "sub", "mul"])
    servers.release()
    await user.until(lambda: not any(map(alive, pids(note))))


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_at_a_url_lists_its_tools_and_announces_changes(user: PoolUser, more: Path, kind: str) -> None:
    with serving(f"--{kind}", f"--more={more}") as url:
        servers = user.use(remote("calc", url, kind))
        assert names((await user.wait_until_known(servers))["calc"]) == ["add"]
        await anyio.Path(more).write_text("sub")
        await user.until(lambda: names(servers.known["calc"].state) == ["add", "sub"])
        servers.release()


async def test_pages_are_read_to_their_end(user: PoolUser) -> None:
    state = (await user.wait_until_known(user.use(stdio("calc", "--tools=100", "--page=7"))))["calc"]
    assert (len(state.listing.tools), state.listing.complete) == (100, True)


async def test_bad_servers_fail_with_a_reason_and_delay_no_other(
    user: PoolUser, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "START_TIMEOUT_SECONDS", START_TIMEOUT_SECONDS)
    servers = user.use(
        stdio("crashing", "--crash", WHO="hunter2hunter2"),
        stdio("hanging", "--hang", f"--note={note}"),
        stdio("flooding", "--flood", f"--note={note}"),
        {"name": "missing", "command": "/no/such/program", "args": [], "env": []},
        remote("unreachable", "http://127.0.0.1:9/mcp"),
        remote("metadata", "http://169.254.169.254/mcp"),
        remote("unknown", "http://no-such-host.invalid/mcp"),
        {"name": "odd", "type": "acp", "id": "1"},
    )
    states = await user.wait_until_known(servers)
    assert {state.status for state in states.values()} == {"failed"}
    assert {name: state.reason for name, state in states.items() if name != "unknown"} == {
        "crashing": "it exited with code 1: the cellar is flooded, reports ***",
        "hanging": "it did not answer in time",
        "flooding": "it floods the gateway with more than 8 MiB; its tools are not listed",
        "missing": "'/no/such/program' cannot be run: No such file or directory",
        "unreachable": "ConnectError: All connection attempts failed",
        "metadata": "169.254.169.254 (169.254.169.254) is not connected to: "
        "it is a link-local or metadata address, which no agent has",
        "odd": "it is reached by 'acp', which only the agent can use",
    }
    assert "no-such-host.invalid cannot be resolved" in str(states["unknown"].reason)
    await user.until(lambda: not any(map(alive, pids(note))))


async def test_a_server_with_ten_thousand_tools_is_listed_as_far_as_is_kept(user: PoolUser) -> None:
    with serving("--http", "--tools=10000", "--page=300") as url:
        states = await user.wait_until_known(user.use(stdio("pipe", "--tools=10000"), remote("web", url)))
    assert [(len(one.listing.tools), one.listing.complete) for one in states.values()] == [(512, False), (512, False)]


async def test_a_header_is_sent_and_a_server_that_refuses_without_it_has_failed(user: PoolUser) -> None:
    with serving("--http", "--secret=x-key") as url:
        states = await user.wait_until_known(
            user.use(remote("with", url, x_key="hunter2hunter2"), remote("without", url))
        )
    assert (states["with"].status, names(states["with"])) == ("connected", ["add"])
    assert states["without"].status == "failed"


async def test_a_private_address_needs_the_operators_permission(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        user = PoolUser(McpServers(tasks, private=False), tmp_path)
        state = (await user.wait_until_known(user.use(remote("calc", "http://localhost:9/mcp"))))["calc"]
    assert "private address" in str(state.reason)


async def test_no_server_is_started_where_the_operator_forbids_it(tmp_path: Path, note: Path) -> None:
    async with anyio.create_task_group() as tasks:
        user = PoolUser(McpServers(tasks, private=False, stdio=False), tmp_path)
        state = (await user.wait_until_known(user.use(stdio("calc", f"--note={note}"))))["calc"]
    assert "probe_mcp_stdio is off" in str(state.reason)
    assert pids(note) == []


async def test_a_server_that_dies_has_no_tools_any_more(user: PoolUser, tmp_path: Path, note: Path) -> None:
    servers = user.use(stdio("calc", f"--die={tmp_path / 'now'}", f"--note={note}"))
    assert names((await user.wait_until_known(servers))["calc"]) == ["add"]
    await anyio.Path(tmp_path / "now").touch()
    await user.until(lambda: servers.known["calc"].state.status == "failed")
    assert servers.known["calc"].state == ServerState("failed", "it exited with code 3: that was it")


async def test_sessions_with_the_same_server_share_it_until_the_last_has_left(user: PoolUser, note: Path) -> None:
    one = user.use(stdio("calc", f"--note={note}"))
    other = user.use(stdio("numbers", f"--note={note}"))
    await user.wait_until_known(one)
    assert names(other.known["numbers"].state) == ["add"]
    assert len(pids(note)) == 1
    one.release()
    third = user.use(stdio("again", f"--note={note}"))
    assert third.known["again"].state.status == "connected"
    other.release()
    third.release()
    third.release()
    await user.until(lambda: not any(map(alive, pids(note))))
    assert len(pids(note)) == 1


async def test_what_a_server_has_started_ends_with_it(user: PoolUser, note: Path) -> None:
    servers = user.use(stdio("calc", "--child", f"--note={note}"))
    await user.wait_until_known(servers)
    assert len(running(str(note))) == 1
    servers.release()
    await user.until(lambda: not running(str(note)))


async def test_a_session_that_ends_at_once_ends_its_server(user: PoolUser, note: Path) -> None:
    servers = user.use(stdio("calc", "--hang", f"--note={note}"))
    await user.until(lambda: bool(pids(note)))
    servers.release()
    await user.until(lambda: not any(map(alive, pids(note))))


async def test_a_server_that_failed_is_retried_by_a_later_run_only(
    user: PoolUser, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = stdio("calc", "--crash", f"--note={note}")
    servers = user.use(crashing)
    await user.wait_until_known(servers)
    servers.retry_failed()
    servers.release()
    servers = user.use(crashing)
    assert status(servers, "calc") == "failed"
    assert len(pids(note)) == 1
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.0)
    servers.retry_failed()
    assert status(servers, "calc") == "connecting"
    await user.wait_until_known(servers)
    assert len(pids(note)) == 2


async def test_a_server_that_announces_changes_without_end_is_listed_at_intervals(
    user: PoolUser, note: Path, more: Path
) -> None:
    servers = user.use(stdio("calc", f"--more={more}", f"--note={note}"))
    await user.wait_until_known(servers)
    started_at, known = time.monotonic(), len(lines(note))
    for number in range(30):
        await anyio.Path(more).write_text(f"tool{number}")
        await user.until(lambda expected=number: sum("announced" in line for line in lines(note)) > expected)  # type: ignore[misc]
    await user.until(lambda: names(servers.known["calc"].state) == ["add", "tool29"])
    listings = sum(line == "listed" for line in lines(note)[known:])
    assert listings <= (time.monotonic() - started_at) / watcher.MIN_LIST_INTERVAL_SECONDS + 2


async def test_the_servers_of_a_session_are_bounded(user: PoolUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_SERVERS_PER_SESSION", 2)
    missing = {"command": "/no/such/program", "args": [], "env": []}
    servers = user.use(*({"name": f"server{number}", **missing} for number in range(3)))
    assert "only 2 MCP servers of a session" in str(servers.known["server2"].state.reason)


async def test_the_servers_of_all_sessions_are_bounded(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        user = PoolUser(McpServers(tasks, private=True, max_servers=1), tmp_path)
        servers = user.use(remote("one", "http://127.0.0.1:9"), remote("two", "http://127.0.0.1:10"))
        assert "the tools of 1 MCP servers already" in str(servers.known["two"].state.reason)
        tasks.cancel_scope.cancel()


async def test_the_servers_of_one_principal_are_bounded_and_those_of_another_are_not(tmp_path: Path) -> None:
    limits = PrincipalLimits(Settings(max_mcp_servers=8))
    async with anyio.create_task_group() as tasks:
        servers = McpServers(tasks, private=True, max_servers=8, limits=limits)
        configs = [remote(str(port), f"http://127.0.0.1:{port}") for port in (9, 10, 11)]
        greedy = servers.use(configs, tmp_path, lambda: None, "greedy")
        assert "max_mcp_servers_per_principal" in str(greedy.known["11"].state.reason)
        again = servers.use(configs[:2], tmp_path, lambda: None, "greedy")  # the same servers take no further place
        other = servers.use(configs, tmp_path, lambda: None, "other")
        assert "max_mcp_servers_per_principal" in str(other.known["11"].state.reason)
        for session in (greedy, again, other):
            session.release()
        assert limits.held(MCP_SERVERS, "greedy") == limits.held(MCP_SERVERS, "other") == 0
        tasks.cancel_scope.cancel()


def test_the_reason_is_the_gateways_own_before_a_librarys() -> None:
    both = ExceptionGroup("", [OSError("x"), ExceptionGroup("", [ServerUnusable("it is asleep")])])
    assert describe_failure(both) == "it is asleep"
    assert describe_failure(ExceptionGroup("", [OSError("no\nway"), ValueError()])) == "OSError: no"
    assert describe_failure(ValueError()) == "ValueError"


def test_the_sdk_is_imported_only_with_the_first_server() -> None:
    """The SDK takes most of a second. The gateway has one HTTP library, httpx2; httpx is for the command line."""
    code = "import sys, gateway.web.app, gateway.runs.engine; sys.exit(bool({'mcp', 'httpx'} & {*sys.modules}))"
    assert subprocess.run([FAKE[0], "-c", code], check=False).returncode == 0
