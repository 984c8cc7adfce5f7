"""Starts a process in a sandbox, and serves its network as long as it lives.

In: a command with its environment, a policy. Out: the process. Raises `AgentFault`: `SANDBOX_UNAVAILABLE` when the
sandbox cannot be set up, otherwise as for a process without one.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from uuid import uuid4

from anyio import to_thread

from gateway.background import Tasks
from gateway.drivers.process import Process, SupervisorOptions, spawn
from gateway.drivers.process.cgroups import Cgroups, find_cgroups
from gateway.drivers.process.resource_limits import supervisor_options
from gateway.drivers.sandbox.bubblewrap import bubblewrap_arguments
from gateway.drivers.sandbox.hosts import HostRule, rules_of_environment
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.drivers.sandbox.programs import program_paths
from gateway.drivers.sandbox.proxy import Proxy
from gateway.errors import AgentFault

FORWARDER = Path(__file__).with_name("forwarder.py")
FIRST_PROXY_PORT = 3128
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
NO_PROXY = "localhost,127.0.0.1,::1"
MAX_HOME_FILE_BYTES = 16 * 1024 * 1024
"""A larger file is not copied into the sandbox: the copy is in memory."""
BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Program:
    """A command as it is to be started."""

    command: Sequence[str]
    env: Mapping[str, str]
    """The whole environment."""
    cwd: Path
    """In a sandbox: the session's folder instead, if this one is not inside."""
    port: int | None
    """The loopback port on which it will listen for the gateway."""
    agent: str
    """The agent's name, for the log."""


async def start_program(program: Program, policy: SandboxPolicy | None, tasks: Tasks) -> Process:
    """As the policy demands, with its limits. None: with neither."""
    if policy is None:
        return await spawn(program.command, cwd=program.cwd, env=program.env, tasks=tasks)
    options = supervisor_options(policy.limits, own_cgroups(), is_sandboxed=policy.is_wrapped)
    if policy.is_wrapped:
        return await _start_sandboxed(program, policy, options, tasks)
    return await spawn(program.command, cwd=program.cwd, env=program.env, tasks=tasks, options=options)


@cache
def own_cgroups() -> Cgroups | None:
    """Looked for once: the gateway moves into a cgroup of its own."""
    return find_cgroups()


async def _start_sandboxed(
    program: Program, policy: SandboxPolicy, options: SupervisorOptions, tasks: Tasks
) -> Process:
    rules = (*policy.hosts, *rules_of_environment(program.env))
    with ExitStack() as files, ExitStack() as sockets:
        counted = policy.limits.processes if options.cgroup is None else None
        sandbox = await to_thread.run_sync(_prepare, program, policy, rules, counted, files, sockets)
        proxy = await Proxy.open(sandbox.proxy_path, rules, program.agent)
        try:
            process = await spawn(
                sandbox.command,
                cwd=policy.folders[0],
                env={**program.env, **_proxy_variables(sandbox.proxy_port)},
                tasks=tasks,
                options=replace(options, sandbox_files=sandbox.files),
                port_socket=sandbox.port_socket,
            )
        except AgentFault as exc:
            await proxy.aclose()
            raise _explain(exc, program.command[0]) from exc
        except BaseException:
            await proxy.aclose()
            raise
        tasks.start_soon(_serve, proxy, process, sockets.pop_all())
        return process


@dataclass(frozen=True, slots=True)
class PreparedSandbox:
    command: Sequence[str]
    files: tuple[int, ...]
    """Open files that the sandbox inherits."""
    proxy_path: Path
    proxy_port: int
    port_socket: Path | None


def _prepare(
    program: Program,
    policy: SandboxPolicy,
    rules: Sequence[HostRule],
    max_processes: int | None,
    files: ExitStack,
    sockets: ExitStack,
) -> PreparedSandbox:
    """All that takes file operations. `files` closes what the gateway does not need after the start; `sockets` removes
    the sockets' paths."""
    port, home = program.port, Path(program.env.get("HOME") or "/")
    loopback_ports = {rule.loopback_port for rule in rules} - {None, port}
    proxy_port = next(n for n in range(FIRST_PROXY_PORT, 65536) if n not in {*loopback_ports, port})
    proxy_path = _new_path(policy.exchange, sockets)
    home_files = _prepare_home(policy, home, files)
    passed = [fd for fd, _ in home_files]
    arguments = [f"socket={proxy_path}", f"proxy={proxy_port}", *(f"loopback={each}" for each in loopback_ports)]
    port_socket = None
    if port is not None:
        port_socket = _new_path(policy.exchange.parent, sockets)
        passed.append(_listen(port_socket, files))
        arguments.append(f"inbound={passed[-1]}:{port}")
    if max_processes is not None:
        arguments.append(f"processes={max_processes}")
    python = os.path.realpath(sys.executable)
    own = [Path(python).parent, Path(sys.prefix), Path(sys.base_prefix), FORWARDER.parent.parent]
    programs = [*program_paths(program.command, program.env.get("PATH", ""), home), *own]
    command = [
        *bubblewrap_arguments(policy, program.cwd, home, programs, home_files),
        *(python, "-I", "-S", str(FORWARDER), *arguments, "--", *program.command),
    ]
    return PreparedSandbox(command, tuple(passed), proxy_path, proxy_port, port_socket)


def _new_path(folder: Path, sockets: ExitStack) -> Path:
    path = folder / uuid4().hex[:12]
    sockets.callback(_remove, path)
    return path


async def _serve(proxy: Proxy, process: Process, sockets: ExitStack) -> None:
    with sockets:
        try:
            await proxy.serve(process)
        finally:
            await proxy.aclose()


def _prepare_home(policy: SandboxPolicy, home: Path, files: ExitStack) -> list[tuple[int, Path]]:
    """Creates the directories that the agent may write, and what it may not write inside of them. Opens the files of
    which it gets a copy; a file in a directory that the agent may write is made read-only instead."""
    writable = tuple(name for name in policy.home_write if name.endswith("/"))
    inner = [name for name in policy.home_read if name.startswith(writable)]
    for name in (*writable, *(name for name in inner if name.endswith("/"))):
        with suppress(OSError):
            (home / name[2:]).mkdir(parents=True, exist_ok=True, mode=0o700)
    opened = []
    for name in policy.home_read:
        path = home / name[2:]
        if name.endswith("/") or name in inner or not path.is_file():
            continue
        if path.stat().st_size <= MAX_HOME_FILE_BYTES:
            opened.append((files.enter_context(path.open("rb")).fileno(), path))
    return opened


def _listen(path: Path, files: ExitStack) -> int:
    """A Unix socket outside of the sandbox. The program inside accepts its connections, and cannot replace it."""
    listener = files.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(BACKLOG)
    return listener.fileno()


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _proxy_variables(port: int) -> dict[str, str]:
    url = f"http://127.0.0.1:{port}"
    names = [case for name in PROXY_VARIABLES for case in (name, name.lower())]
    return {**dict.fromkeys(names, url), "NO_PROXY": NO_PROXY, "no_proxy": NO_PROXY, "NODE_USE_ENV_PROXY": "1"}


def _explain(error: AgentFault, name: str) -> AgentFault:
    """Bubblewrap reports on stderr why it could not set up the sandbox."""
    lines = [line for line in str(error.extra.get("stderr") or "").splitlines() if line.startswith("bwrap: ")]
    if error.code == "AGENT_NOT_FOUND":
        return AgentFault(
            f"{name!r} cannot be run in its sandbox: it is not installed, or in a directory that the sandbox does not "
            "show. Name that directory in the agent's file: [sandbox] home_read",
            code=error.code,
            command=name,
        )
    if not lines:
        return error
    return AgentFault(
        f"The sandbox of {name!r} could not be set up: {lines[-1]}. The operator can change what is in it by [sandbox] "
        'in the agent\'s file, or run the agent without one: sandbox = "none"',
        code="SANDBOX_UNAVAILABLE",
        stderr=error.extra.get("stderr"),
    )
