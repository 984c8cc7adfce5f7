"""A hostile agent tries to leave its sandbox.

The incident: an agent follows instructions that it reads in a repository (CVE-2025-59536 and its like), and then has
all that the gateway's user has: keys, other processes, the network, the gateway itself. The attack: a program that is
nothing but an agent's process, with each of these attempts. The promise: in the sandbox every attempt fails; the same
attempts succeed without it, so the tests can fail.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from gateway.drivers.sandbox.bubblewrap import unusable_reason
from tests.support.gateway import Gateway, events_of, run_input, text_of
from tests.support.project import ROOT

INTRUDER = ROOT / "tests" / "fakes" / "intruder.py"
CANARY = "canary-0123456789"
WAIT_SECONDS = 20.0

pytestmark = pytest.mark.skipif(unusable_reason() is not None, reason=f"needs bubblewrap: {unusable_reason()}")

AGENT = """
id = "{name}"
driver = "cli"
options = ["cwd", "approvals"]
[identity]
name = "Intruder"
[command]
run = [{python}, {program}]
[cli]
dialect = "text"
process = "turn"
transport = "stdio-raw"
[sandbox]
home_write = ["~/.state/"]
[trust]
untrusted_start = "restricted"
[trust.untrusted.files]
OWN_SETTINGS = "ignore the project"
[limits]
{limits}
"""
ACP_AGENT = """
id = "terminals"
driver = "acp"
options = ["mcpServers"]
[identity]
name = "Intruder"
[command]
run = [{python}, {program}, "--acp"]
[acp]
terminal = true
"""
LIMITS = {
    "intruder": "",
    "forks": "processes = 40",
    "memory": "memory = 268435456",
    "files": "file_bytes = 4194304",
    "processor": "cpu_seconds = 1",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One gateway, and what is around it that no agent in a sandbox may reach."""

    gateway: Gateway
    home: Path
    work: Path
    tcp_port: int
    unix_path: Path
    abstract_name: str

    def attempt(self, attempt: str, agent: str = "intruder", **arguments: Any) -> dict[str, Any]:
        """Its outcome; `error` instead where the agent did not survive it."""
        events = self.gateway.run(agent, json.dumps({"attempt": attempt, **arguments}))
        if events[-1]["type"] == "RUN_ERROR":
            return {"succeeded": False, "error": events[-1]}
        outcome: dict[str, Any] = json.loads(text_of(events))
        return outcome


@contextmanager
def open_stage(
    folder: Path,
    sandbox: str,
    *more: str,
    store: Path | None = None,
    trust: bool = True,
    variables: dict[str, str] | None = None,
) -> Iterator[Stage]:
    """`more`: flags of the gateway. `variables`: of its environment."""
    home, work, agents = folder / "home", folder / "work", folder / "agents"
    for needed in (home / ".ssh", work / ".git" / "hooks", agents):
        needed.mkdir(parents=True, exist_ok=True)
    (home / ".ssh" / "id").write_text(CANARY)
    (work / ".git" / "config").write_text("[core]\n")
    values = {"python": json.dumps(sys.executable), "program": json.dumps(str(INTRUDER))}
    for name, limits in LIMITS.items():
        (agents / f"{name}.toml").write_text(AGENT.format(name=name, limits=limits, **values))
    (agents / "terminals.toml").write_text(ACP_AGENT.format(**values))
    flags = ("--agents", str(agents), "--workspace", str(work), "--sandbox", sandbox, *more)
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        unix_path = folder / "socket"
        name = f"agui-gateway-test-{uuid4().hex}"
        for address in (str(unix_path), f"\0{name}"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(address)
            listener.listen()
        url = None if store is None else f"sqlite://{store}"
        env = {"HOME": str(home), **(variables or {})}
        gateway = stack.enter_context(Gateway(folder / "gateway", *flags, store=url, env=env, trust=trust))
        yield Stage(gateway, home, work, tcp.getsockname()[1], unix_path, f"@{name}")


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("inside"), "bubblewrap") as stage:
        yield stage


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("outside"), "none") as stage:
        yield stage


ATTEMPTS: dict[str, Callable[[Stage], dict[str, Any]]] = {
    "write to the home directory": lambda stage: _write_outside(stage, stage.home / ".profile"),
    "write beside the workspace": lambda stage: _write_outside(stage, stage.work.parent / "beside"),
    "write to the system's temporary directory": lambda stage: _write_outside(stage, Path(f"/tmp/x-{os.getpid()}")),
    "read a key": lambda stage: stage.attempt("read", path=str(stage.home / ".ssh" / "id")),
    "read a key by a link in the workspace": lambda stage: _read_by_link(stage),
    "read the system's passwords": lambda stage: stage.attempt("read", path="/etc/shadow"),
    "see other processes": lambda stage: stage.attempt("list_processes"),
    "signal the gateway": lambda stage: stage.attempt("signal_process", pid=stage.gateway.pid),
    "read the gateway's environment": lambda stage: stage.attempt("read_memory", pid=stage.gateway.pid),
    "connect to the gateway": lambda stage: stage.attempt("connect", host="127.0.0.1", port=_port(stage)),
    "connect to the gateway by the proxy": lambda stage: stage.attempt(
        "connect_by_proxy", host="127.0.0.1", port=_port(stage)
    ),
    "connect to a host that is not listed": lambda stage: stage.attempt(
        "connect_by_proxy", host="localhost", port=stage.tcp_port
    ),
    "connect to a Unix socket": lambda stage: stage.attempt("connect_unix", path=str(stage.unix_path)),
    "connect to an abstract Unix socket": lambda stage: stage.attempt("connect_unix", path=stage.abstract_name),
    "plant a git hook": lambda stage: stage.attempt("write", path=str(stage.work / ".git" / "hooks" / "pre-commit")),
    "change git's configuration": lambda stage: stage.attempt("write", path=str(stage.work / ".git" / "config")),
    "replace the repository": lambda stage: _replace_repository(stage),
}


def _port(stage: Stage) -> int:
    return int(stage.gateway.url.rpartition(":")[2])


def _write_outside(stage: Stage, path: Path) -> dict[str, Any]:
    """Inside, there may be a private directory by that name, which ends with the process."""
    outcome = stage.attempt("write", path=str(path))
    succeeded = path.exists()
    path.unlink(missing_ok=True)
    return {**outcome, "succeeded": succeeded}


def _read_by_link(stage: Stage) -> dict[str, Any]:
    link = stage.work / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(stage.home / ".ssh" / "id")
    return stage.attempt("read", path=str(link))


def _replace_repository(stage: Stage) -> dict[str, Any]:
    outcome = stage.attempt("rename", path=str(stage.work / ".git"), target=str(stage.work / "old"))
    if outcome["succeeded"]:
        (stage.work / "old").rename(stage.work / ".git")
    return outcome


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_to_leave_fails_in_the_sandbox_and_succeeds_without(
    name: str, inside: Stage, outside: Stage
) -> None:
    assert ATTEMPTS[name](outside)["succeeded"] is True, "the attempt itself works"
    outcome = ATTEMPTS[name](inside)
    assert outcome["succeeded"] is False, outcome
    assert "error" not in outcome, "the agent goes on"


def test_the_workspace_can_be_written(inside: Stage) -> None:
    assert inside.attempt("write", path=str(inside.work / "made"))["succeeded"] is True
    assert (inside.work / "made").read_text()


def test_the_store_and_the_tokens_are_not_visible_even_where_the_agent_may_write(tmp_path: Path) -> None:
    for sandbox in ("none", "bubblewrap"):
        state = tmp_path / sandbox / "home" / ".state"
        state.mkdir(parents=True)
        tokens = state / "tokens.txt"
        tokens.write_text(f"ann:{CANARY}-{CANARY}")
        tokens.chmod(0o600)
        with open_stage(tmp_path / sandbox, sandbox, "--token-file", str(tokens), store=state / "x.db") as stage:
            stage.gateway.client.headers["authorization"] = f"Bearer {CANARY}-{CANARY}"
            for path in (tokens, state / "x.db", state / "x.db-wal"):
                assert stage.attempt("read", path=str(path))["succeeded"] is (sandbox == "none"), path
            assert stage.attempt("write", path=str(state / "own"))["succeeded"] is True
            assert (state / "own").exists(), "the directory itself is the agent's"


def test_a_refusal_of_the_proxy_says_what_to_do(inside: Stage) -> None:
    outcome = inside.attempt("connect_by_proxy", host="collector.example", port=443)
    assert "403 Forbidden" in outcome["detail"] and "--sandbox-hosts collector.example" in outcome["detail"]
    assert "collector.example:443 is not among the hosts" in inside.gateway.log.read_text()


def test_a_git_file_cannot_name_a_directory_to_be_shown(tmp_path: Path) -> None:
    with open_stage(tmp_path, "bubblewrap") as stage:
        folder = stage.work / "cloned"
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {stage.home / '.ssh'}\n")
        order = json.dumps({"attempt": "read", "path": str(stage.home / ".ssh" / "id")})
        events = stage.gateway.run("intruder", order, forwardedProps={"gateway": {"cwd": str(folder)}})
        assert json.loads(text_of(events))["succeeded"] is False


def test_a_command_in_a_terminal_of_the_client_is_in_the_same_sandbox(inside: Stage, outside: Stage) -> None:
    command = "cat {}/.ssh/id; touch {}/terminal-was-here"
    for stage in (outside, inside):
        text = text_of(stage.gateway.run("terminals", command.format(stage.home, stage.work)))
        assert (CANARY in text) is (stage is outside), text
        assert (stage.work / "terminal-was-here").exists()


def test_an_mcp_server_that_the_gateway_starts_is_in_the_same_sandbox(inside: Stage, outside: Stage) -> None:
    """A client names it; the gateway starts it to list its tools."""
    for stage in (outside, inside):
        leak, ran = stage.work / "leak", stage.work / "ran"
        script = f"cp {stage.home}/.ssh/id {leak}; touch {ran}"
        server = {"name": "leak", "command": "/bin/sh", "args": ["-c", script], "env": []}
        stage.gateway.run("terminals", "true", forwardedProps={"gateway": {"mcpServers": [server]}})
        _wait_until(ran.exists)
        assert leak.exists() is (stage is outside)


def test_auto_is_a_sandbox_for_runs_that_nobody_watches(tmp_path: Path) -> None:
    with open_stage(tmp_path, "auto") as stage:
        order = json.dumps({"attempt": "read", "path": str(stage.home / ".ssh" / "id")})
        for approvals, is_readable in (("prompt", True), ("auto", False)):
            events = stage.gateway.run("intruder", order, forwardedProps={"gateway": {"approvals": approvals}})
            assert json.loads(text_of(events))["succeeded"] is is_readable, "the folder is trusted"


def test_auto_is_a_sandbox_in_an_untrusted_folder(tmp_path: Path) -> None:
    untrusted = {"AGUI_GATEWAY_UNKNOWN_FOLDER": "untrusted"}
    with open_stage(tmp_path, "auto", trust=False, variables=untrusted) as stage:
        assert stage.attempt("read", path=str(stage.home / ".ssh" / "id"))["succeeded"] is False
        outcome = stage.attempt("write", path=str(stage.work / "made"))
        assert outcome["succeeded"] is True, outcome
        outcome = stage.attempt("read_named_file", variable="OWN_SETTINGS")
        assert outcome["detail"] == "ignore the project", "the settings that keep it from the project's are there"


def test_a_sandbox_that_is_demanded_and_not_to_be_had_refuses_the_run(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with open_stage(tmp_path, "bubblewrap", variables={"PATH": str(empty)}) as stage:
        answer = stage.gateway.post("intruder", run_input(json.dumps({"attempt": "read", "path": "/etc/passwd"}))).text
        assert "SANDBOX_UNAVAILABLE" in answer and "succeeded" not in answer, answer


@pytest.mark.parametrize(
    ("agent", "limit", "attempt", "arguments"),
    [
        ("forks", "processes", "fork_many", {"count": 200}),
        ("files", "file_bytes", "fill_disk", {"path": "large", "megabytes": 16}),
        ("processor", "cpu_seconds", "burn", {"seconds": 4}),
    ],
)
def test_an_agent_that_reaches_a_limit_ends_and_the_run_names_the_limit(
    agent: str, limit: str, attempt: str, arguments: dict[str, Any], inside: Stage, outside: Stage
) -> None:
    assert outside.attempt(attempt, "intruder", **arguments)["succeeded"] is True, "without the limit it works"
    for stage in (inside, outside):  # limits hold with and without a sandbox
        outcome = stage.attempt(attempt, agent, **arguments)
        assert f"`{limit}`" in outcome["error"]["message"], outcome


def test_an_agent_gets_no_more_memory_than_its_limit(inside: Stage, outside: Stage) -> None:
    assert outside.attempt("fill_memory", megabytes=512)["succeeded"] is True
    for stage in (inside, outside):
        assert "MemoryError" in stage.attempt("fill_memory", "memory", megabytes=512)["detail"]


def test_a_daemon_does_not_outlive_its_agent(inside: Stage, outside: Stage) -> None:
    """Without a sandbox the supervisor ends it; with one, the end of its process namespace does."""
    for stage in (inside, outside):
        path = stage.work / "daemon"
        path.unlink(missing_ok=True)
        assert stage.attempt("leave_daemon", path=str(path))["succeeded"] is True
        _wait_until(partial(_is_gone, path))


def _wait_until(is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not is_done():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def _is_gone(path: Path) -> bool:
    """The daemon is known by its argument: its process id in the sandbox says nothing."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                line = Path(f"/proc/{name}/cmdline").read_bytes().decode("utf-8", "replace")
                if line.rstrip("\0").endswith(str(path)) and "time.sleep(60)" in line:
                    return False
    return True


def test_the_snapshot_says_what_the_sandbox_is(inside: Stage, outside: Stage) -> None:
    for stage, kind in ((inside, "bubblewrap"), (outside, "none")):
        body = run_input("x")
        events = events_of(stage.gateway.post("terminals", body).text)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        query = {"thread": body["threadId"]}
        told = stage.gateway.client.get("/agents/terminals/capabilities", params=query).json()
        assert told["execution"]["sandboxed"] is (kind == "bubblewrap")
        assert told["custom"]["gateway"]["sandbox"]["kind"] == kind
        why = stage.gateway.client.get("/agents/terminals/capabilities", params={**query, "explain": "1"}).json()
        assert "the sandbox of its process" in json.dumps(why)
