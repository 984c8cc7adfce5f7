"""MCP servers as real processes, asked for their tools by the official SDK: good ones, and all kinds of bad ones."""

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
from tests.drivers.mcp_client.servers import FAKE, lines, pids, remote, serving, stdio
from tests.drivers.process_watch import LIMIT, alive, running

pytestmark = pytest.mark.anyio

SOON = 10.0
"""For a server that will never answer: longer than the others here take to start is not needed."""


class Desk:
    """What tests do with a pool."""

    def __init__(self, servers: McpServers, home: Path) -> None:
        self.pool, self._home = servers, home
        self.words = 0
        """How often something was told to be another."""
        self._told = anyio.Event()

    def use(self, *servers: dict[str, Any]) -> SessionServers:
        return self.pool.use(servers, self._home, self._changed)

    def _changed(self) -> None:
        self.words += 1
        self._told.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(LIMIT):
            while not condition():
                self._told = anyio.Event()
                with anyio.move_on_after(0.05):
                    await self._told.wait()

    async def settled(self, using: SessionServers) -> dict[str, ServerState]:
        """When it is known what became of each."""
        await self.until(lambda: all(one.state.status != "connecting" for one in using.known.values()))
        return {name: known.state for name, known in using.known.items()}


@pytest.fixture
async def desk(tmp_path: Path, note: Path) -> AsyncIterator[Desk]:
    async with anyio.create_task_group() as tasks:
        yield Desk(McpServers(tasks, private=True), tmp_path)
        tasks.cancel_scope.cancel()


@pytest.fixture
def more(tmp_path: Path) -> Path:
    return tmp_path / "more"


@pytest.fixture
def note(tmp_path: Path) -> Iterator[Path]:
    """Whatever a test does, the servers that noted themselves here are gone at its end."""
    path = tmp_path / "note"
    yield path
    assert [pid for pid in pids(path) if alive(pid)] == []


def status(using: SessionServers, name: str) -> str:
    return using.known[name].state.status


def names(state: ServerState) -> list[str]:
    return [tool["name"] for tool in state.listing.tools]


@pytest.mark.parametrize("flags", [(), ("--modern",), ("--noise",)], ids=["", "the newer protocol", "greets on stdout"])
async def test_a_server_that_is_started_tells_its_tools_and_when_they_are_others(
    desk: Desk, more: Path, note: Path, flags: tuple[str, ...]
) -> None:
    using = desk.use(stdio("calc", f"--more={more}", f"--note={note}", *flags))
    assert using.known["calc"].state == ServerState("connecting")
    state = (await desk.settled(using))["calc"]
    assert (state.status, names(state), state.listing.complete) == ("connected", ["add"], True)
    assert state.listing.tools[0]["parameters"]["required"] == ["a", "b"]
    await anyio.Path(more).write_text("sub mul")
    await desk.until(lambda: names(using.known["calc"].state) == ["add", "sub", "mul"])
    using.release()
    await desk.until(lambda: not any(map(alive, pids(note))))


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_server_at_a_url_tells_its_tools_and_when_they_are_others(desk: Desk, more: Path, kind: str) -> None:
    with serving(f"--{kind}", f"--more={more}") as url:
        using = desk.use(remote("calc", url, kind))
        assert names((await desk.settled(using))["calc"]) == ["add"]
        await anyio.Path(more).write_text("sub")
        await desk.until(lambda: names(using.known["calc"].state) == ["add", "sub"])
        using.release()


async def test_pages_are_read_to_their_end(desk: Desk) -> None:
    state = (await desk.settled(desk.use(stdio("calc", "--tools=100", "--page=7"))))["calc"]
    assert (len(state.listing.tools), state.listing.complete) == (100, True)


async def test_bad_servers_fail_with_the_reason_and_keep_nobody(
    desk: Desk, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "START_TIMEOUT_SECONDS", SOON)
    using = desk.use(
        stdio("crashing", "--crash", WHO="hunter2hunter2"),
        stdio("hanging", "--hang", f"--note={note}"),
        stdio("flooding", "--flood", f"--note={note}"),
        {"name": "missing", "command": "/no/such/program", "args": [], "env": []},
        remote("nobody", "http://127.0.0.1:9/mcp"),
        remote("metadata", "http://169.254.169.254/mcp"),
        remote("unknown", "http://no-such-host.invalid/mcp"),
        {"name": "odd", "type": "acp", "id": "1"},
    )
    found = await desk.settled(using)
    assert {state.status for state in found.values()} == {"failed"}
    assert {name: state.reason for name, state in found.items() if name != "unknown"} == {
        "crashing": "it exited with code 1: the cellar is flooded, says ***",
        "hanging": "it did not answer in time",
        "flooding": "it floods the gateway with more than 8 MiB; its tools are not listed",
        "missing": "'/no/such/program' cannot be run: No such file or directory",
        "nobody": "ConnectError: All connection attempts failed",
        "metadata": "169.254.169.254 (169.254.169.254) is not connected to: "
        "it is a link-local or metadata address, which no agent has",
        "odd": "it is reached by 'acp', which only the agent can use",
    }
    assert "no-such-host.invalid cannot be resolved" in str(found["unknown"].reason)
    await desk.until(lambda: not any(map(alive, pids(note))))


async def test_a_server_with_ten_thousand_tools_is_listed_as_far_as_is_kept(desk: Desk) -> None:
    with serving("--http", "--tools=10000", "--page=300") as url:
        found = await desk.settled(desk.use(stdio("pipe", "--tools=10000"), remote("web", url)))
    assert [(len(one.listing.tools), one.listing.complete) for one in found.values()] == [(512, False), (512, False)]


async def test_a_header_is_sent_and_without_it_the_server_is_told_to_have_refused(desk: Desk) -> None:
    with serving("--http", "--secret=x-key") as url:
        found = await desk.settled(desk.use(remote("with", url, x_key="hunter2hunter2"), remote("without", url)))
    assert (found["with"].status, names(found["with"])) == ("connected", ["add"])
    assert found["without"].status == "failed"


async def test_a_private_address_is_for_those_whom_the_operator_trusts(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        desk = Desk(McpServers(tasks, private=False), tmp_path)
        state = (await desk.settled(desk.use(remote("calc", "http://localhost:9/mcp"))))["calc"]
    assert "private address" in str(state.reason)


async def test_no_server_is_started_where_the_operator_does_not_want_it(tmp_path: Path, note: Path) -> None:
    async with anyio.create_task_group() as tasks:
        desk = Desk(McpServers(tasks, private=False, stdio=False), tmp_path)
        state = (await desk.settled(desk.use(stdio("calc", f"--note={note}"))))["calc"]
    assert "probe_mcp_stdio is off" in str(state.reason)
    assert pids(note) == []


async def test_a_server_that_dies_takes_its_tools_along(desk: Desk, tmp_path: Path, note: Path) -> None:
    using = desk.use(stdio("calc", f"--die={tmp_path / 'now'}", f"--note={note}"))
    assert names((await desk.settled(using))["calc"]) == ["add"]
    await anyio.Path(tmp_path / "now").touch()
    await desk.until(lambda: using.known["calc"].state.status == "failed")
    assert using.known["calc"].state == ServerState("failed", "it exited with code 3: that was it")


async def test_sessions_with_the_same_server_share_it_until_the_last_has_left(desk: Desk, note: Path) -> None:
    one = desk.use(stdio("calc", f"--note={note}"))
    other = desk.use(stdio("numbers", f"--note={note}"))
    await desk.settled(one)
    assert names(other.known["numbers"].state) == ["add"]
    assert len(pids(note)) == 1
    one.release()
    third = desk.use(stdio("again", f"--note={note}"))
    assert third.known["again"].state.status == "connected"
    other.release()
    third.release()
    third.release()
    await desk.until(lambda: not any(map(alive, pids(note))))
    assert len(pids(note)) == 1


async def test_what_a_server_has_started_ends_with_it(desk: Desk, note: Path) -> None:
    using = desk.use(stdio("calc", "--child", f"--note={note}"))
    await desk.settled(using)
    assert len(running(str(note))) == 1
    using.release()
    await desk.until(lambda: not running(str(note)))


async def test_a_session_that_leaves_at_once_leaves_nothing_behind(desk: Desk, note: Path) -> None:
    using = desk.use(stdio("calc", "--hang", f"--note={note}"))
    await desk.until(lambda: bool(pids(note)))
    using.release()
    await desk.until(lambda: not any(map(alive, pids(note))))


async def test_a_server_that_failed_is_tried_again_by_a_later_run_and_by_nobody_else(
    desk: Desk, note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = stdio("calc", "--crash", f"--note={note}")
    using = desk.use(crashing)
    await desk.settled(using)
    using.retry_failed()
    using.release()
    using = desk.use(crashing)
    assert status(using, "calc") == "failed"
    assert len(pids(note)) == 1
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.0)
    using.retry_failed()
    assert status(using, "calc") == "connecting"
    await desk.settled(using)
    assert len(pids(note)) == 2


async def test_a_server_that_says_without_end_that_it_changed_is_asked_now_and_then(
    desk: Desk, note: Path, more: Path
) -> None:
    using = desk.use(stdio("calc", f"--more={more}", f"--note={note}"))
    await desk.settled(using)
    begun, known = time.monotonic(), len(lines(note))
    for number in range(30):
        await anyio.Path(more).write_text(f"tool{number}")
        await desk.until(lambda told=number: sum("told" in line for line in lines(note)) > told)  # type: ignore[misc]
    await desk.until(lambda: names(using.known["calc"].state) == ["add", "tool29"])
    listings = sum(line == "listed" for line in lines(note)[known:])
    assert listings <= (time.monotonic() - begun) / watcher.MIN_LIST_INTERVAL_SECONDS + 2


async def test_so_many_servers_of_a_session_are_asked_and_no_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_SERVERS_PER_SESSION", 2)
    missing = {"command": "/no/such/program", "args": [], "env": []}
    using = desk.use(*({"name": f"server{number}", **missing} for number in range(3)))
    assert "only 2 MCP servers of a session" in str(using.known["server2"].state.reason)


async def test_so_many_servers_are_asked_at_the_same_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_SERVERS", 1)
    using = desk.use(remote("one", "http://127.0.0.1:9"), remote("two", "http://127.0.0.1:10"))
    assert "the tools of 1 MCP servers already" in str(using.known["two"].state.reason)


def test_the_reason_is_our_own_word_before_a_librarys() -> None:
    both = ExceptionGroup("", [OSError("x"), ExceptionGroup("", [ServerUnusable("it is asleep")])])
    assert describe_failure(both) == "it is asleep"
    assert describe_failure(ExceptionGroup("", [OSError("no\nway"), ValueError()])) == "OSError: no"
    assert describe_failure(ValueError()) == "ValueError"


def test_the_sdk_is_imported_only_with_the_first_server() -> None:
    """The SDK takes most of a second. The gateway has one HTTP library, httpx2; httpx is for the command line."""
    code = "import sys, gateway.web.app, gateway.runs.engine; sys.exit(bool({'mcp', 'httpx'} & {*sys.modules}))"
    assert subprocess.run([FAKE[0], "-c", code], check=False).returncode == 0
