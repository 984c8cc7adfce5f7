"""Which version is there: from the package where one is, by the program's own word where not, bounded and not twice."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from gateway.drivers.probe import Availability, check_version_command, find, probe, version
from gateway.drivers.probe.command import ReplyCache
from gateway.errors import AgentFault
from tests.drivers.process_watch import LIMIT, alive, until
from tests.drivers.programs import agent, npm_package, script, uv_tool

pytestmark = pytest.mark.anyio

VERSION = ("otter", "--version")
NPM = {"kind": "npm", "package": "@otter/cli"}


async def see(path: Path, *install: dict[str, str], version: tuple[str, ...] = VERSION, **environ: str) -> Availability:
    with anyio.fail_after(LIMIT):
        return await probe(agent("otter", path=path, version=version, install=install), environ)


# -- without starting anything


def leaving_a_trace(folder: Path) -> str:
    return f"touch {folder / 'started'}; echo 0.0.1"


async def test_the_version_of_an_npm_package_is_read_without_a_command(tmp_path: Path) -> None:
    npm_package(tmp_path, "@otter/cli", "2.7.1", "otter", leaving_a_trace(tmp_path))
    assert (await see(tmp_path / "bin", NPM)).version == "2.7.1"
    assert not (tmp_path / "started").exists()


async def test_so_does_one_that_its_file_does_not_name_if_the_program_is_its_own(tmp_path: Path) -> None:
    npm_package(tmp_path, "otter-fork", "3.0.0-beta.2", "otter", leaving_a_trace(tmp_path))
    assert (await see(tmp_path / "bin", NPM)).version == "3.0.0-beta.2"
    assert not (tmp_path / "started").exists()


async def test_the_version_of_a_uv_tool_is_read_without_a_command(tmp_path: Path) -> None:
    uv_tool(tmp_path, "otter-agent", "0.19.0", "otter", leaving_a_trace(tmp_path))
    found = await see(tmp_path / "bin", {"kind": "uv", "package": "otter_agent[acp]"})
    assert found.version == "0.19.0"
    assert not (tmp_path / "started").exists()


async def test_a_runner_s_package_is_not_the_agent_s(tmp_path: Path) -> None:
    """`npx otter` is started by a program that belongs to npm."""
    npm_package(tmp_path, "npm", "11.0.0", "otter", "exit 0")
    assert (await see(tmp_path / "bin", NPM, version=())).version is None
    asks_the_agent = ("otter", "run", "--version")
    assert (await see(tmp_path / "bin", NPM, version=asks_the_agent)).version is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"name": "@otter/cli"}', '{"name": 7, "version": "1.0.0"}'])
async def test_a_package_file_without_a_version_is_ignored(tmp_path: Path, text: str) -> None:
    npm_package(tmp_path, "@otter/cli", "2.7.1", "otter", "echo 'otter 5.4.3 (stable)'")
    (tmp_path / "lib" / "node_modules" / "@otter" / "cli" / "package.json").write_text(text)
    assert (await see(tmp_path / "bin", NPM)).version == "5.4.3"


# -- by its own word


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0", "0.166.0"),
        ("omp/18.2.3", "18.2.3"),
        ("OpenClaw 2026.9.6 (eb377ac)", "2026.9.6"),
        ("otter v1.0.0-rc.1+build.5", "1.0.0-rc.1+build.5"),
        ("GitHub Copilot CLI 1.0.102.\nRun copilot update to check for updates.", "1.0.102"),
        ("no number at all", None),
    ],
)
async def test_it_is_read_from_the_programs_output(tmp_path: Path, output: str, version: str | None) -> None:
    (tmp_path / "output").write_text(output)
    script(tmp_path / "otter", f"cat {tmp_path / 'output'}")
    found = await see(tmp_path)
    assert (found.status, found.version) == ("ready", version)


async def test_what_comes_on_stderr_counts_too(tmp_path: Path) -> None:
    script(tmp_path / "otter", "echo 1.2.3 >&2")
    assert (await see(tmp_path)).version == "1.2.3"


async def test_the_command_runs_once_until_the_program_changes(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    program = script(tmp_path / "otter", f"echo . >> {calls}; echo 1.0.$(wc -l < {calls} | tr -d ' ')")
    assert [(await see(tmp_path)).version for _ in range(3)] == ["1.0.1"] * 3
    os.utime(program, ns=(1, 1))
    assert (await see(tmp_path)).version == "1.0.2"


async def test_many_who_look_at_once_ask_once(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    script(tmp_path / "otter", f"echo . >> {calls}; echo 1.0.0")
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(see, tmp_path)
    assert calls.read_text() == ".\n"


async def test_a_program_that_fails_at_that_is_broken(tmp_path: Path) -> None:
    script(tmp_path / "otter", "echo 'cannot find module left-pad' >&2; exit 3")
    found = await see(tmp_path, NPM)
    assert (found.status, found.hint) == ("broken", "npm install -g @otter/cli")
    assert found.reason == "`otter --version` fails with code 3: cannot find module left-pad"


async def test_a_program_that_cannot_be_executed_is_broken(tmp_path: Path) -> None:
    (tmp_path / "otter").write_bytes(b"\x7fELF but not really")
    (tmp_path / "otter").chmod(0o755)
    found = await see(tmp_path)
    assert (found.status, "'otter' cannot be run" in (found.reason or "")) == ("broken", True)


async def test_a_secret_in_its_stderr_is_masked(tmp_path: Path) -> None:
    script(tmp_path / "otter", 'echo "the key $OTTER_KEY is wrong" >&2; exit 3')
    definition = agent("otter", path=tmp_path, version=VERSION, command={"inherit_env": ["OTTER_*"]})
    found = await probe(definition.model_copy(), {"OTTER_KEY": "sk-otter-123456", "PATH": "/usr/bin:/bin"})
    assert "sk-otter-123456" not in repr(found)


async def test_one_that_never_ends_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its child has closed its output and left its group, as daemons do."""
    monkeypatch.setattr(version, "TIMEOUT_SECONDS", 2.0)
    pids = tmp_path / "pids"
    stays = f"echo $$ >> {pids}; exec sleep 600"
    script(tmp_path / "otter", f"setsid sh -c '{stays}' > /dev/null 2>&1 & {stays}")
    found = await see(tmp_path)
    assert (found.status, found.version) == ("ready", None)
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 2
    until(lambda: not any(map(alive, started)))


async def test_a_cancelled_caller_ends_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script(tmp_path / "otter", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(see, tmp_path)
        await anyio.to_thread.run_sync(until, pid.exists)
        tasks.cancel_scope.cancel()
    until(lambda: not alive(int(pid.read_text())))


async def test_the_version_command_is_run_without_the_cache(tmp_path: Path) -> None:
    script(tmp_path / "otter", "echo 1.0.0")
    script(tmp_path / "lynx", "exit 4")
    works, fails = (find(agent(name, path=tmp_path, version=(name, "--version")), {}) for name in ("otter", "lynx"))
    assert works is not None and fails is not None
    assert await check_version_command(works) == "`otter --version` answered"
    with pytest.raises(AgentFault, match="fails with code 4"):
        await check_version_command(fails)


# -- answers that are kept


async def test_an_answer_is_good_for_its_time_and_then_fetched_again() -> None:
    now, fetched = 0.0, 0

    async def fetch() -> int:
        nonlocal fetched
        fetched += 1
        return fetched

    kept: ReplyCache[int] = ReplyCache(lambda: now)
    assert [await kept.get("a", fetch, lambda _: 10.0) for _ in range(2)] == [1, 1]
    assert await kept.get("b", fetch, lambda _: 10.0) == 2
    now = 10.0
    assert await kept.get("a", fetch, lambda _: 10.0) == 3


async def test_a_caller_fetches_itself_when_the_task_it_waits_for_is_cancelled() -> None:
    kept: ReplyCache[str] = ReplyCache()
    began = anyio.Event()

    async def never() -> str:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def at_once() -> str:
        return "second"

    async with anyio.create_task_group() as tasks:
        first = anyio.CancelScope()

        async def give_up() -> None:
            with first:
                await kept.get("a", never, lambda _: 10.0)

        tasks.start_soon(give_up)
        await began.wait()
        first.cancel()
        with anyio.fail_after(LIMIT):
            assert await kept.get("a", at_once, lambda _: 10.0) == "second"
