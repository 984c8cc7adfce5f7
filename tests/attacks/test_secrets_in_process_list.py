"""Secrets in the arguments of a process, which every user of the machine can read (`ps`, `/proc/*/cmdline`).

Attack: a client names an MCP server with a bearer token; another user of the machine lists the processes. Promise: the
secret is in no argument. An agent that takes its servers by the command line gets a file that only the gateway's user
can read, and that is gone with the session. `tests/live/test_mcp_secrets.py` does the same with the real Claude Code.
"""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_folder
from tests.attacks.mcp_stage import HEADER_SECRET, REMOTE, command_lines
from tests.drivers.process_watch import until
from tests.support.gateway import Gateway, run_input, types_of
from tests.support.project import ROOT

CATALOG = load_folder(bundled())


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that finds a scripted Claude Code on its PATH. It starts the bundled agent as it is."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m tests.fakes.claude "$@"\n')
    program.chmod(0o755)
    files = tmp_path / "tmp"
    files.mkdir()
    env = {
        "PATH": f"{program.parent}:/usr/bin:/bin",
        "TMPDIR": str(files),
        "AGUI_GATEWAY_ALLOW_PRIVATE_ADDRESSES": "true",
    }
    with Gateway(tmp_path / "home", env=env) as running:
        yield running


def test_claudes_servers_are_in_a_private_file_while_the_session_lasts(gateway: Gateway, tmp_path: Path) -> None:
    props = {"gateway": {"mcpServers": [REMOTE]}}
    events = gateway.run("claude", "hello", threadId="t1", forwardedProps=props)
    assert types_of(events)[-1] == "RUN_FINISHED", events[-1]
    shown = command_lines()
    [path] = set(re.findall(r"--mcp-config (\S+)", shown))
    assert HEADER_SECRET not in shown
    file = Path(path)
    assert file.is_relative_to(tmp_path / "tmp") and HEADER_SECRET in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    gateway.client.delete("/agents/claude/threads/t1")
    until(lambda: not file.exists())


def test_the_file_of_a_gateway_that_was_killed_is_removed_by_the_next(gateway: Gateway) -> None:
    props = {"gateway": {"mcpServers": [REMOTE]}}
    gateway.run("claude", "hello", threadId="t1", forwardedProps=props)
    [path] = set(re.findall(r"--mcp-config (\S+)", command_lines()))
    gateway.kill()
    assert Path(path).exists()
    gateway.start()
    gateway.run("claude", "hello", threadId="t2", forwardedProps={"gateway": {"mcpServers": [{**REMOTE, "name": "b"}]}})
    assert not Path(path).parent.exists()


def test_no_bundled_agent_gets_a_secret_as_an_argument() -> None:
    """`{json}` of `mcpServers` has headers and variables; `{token}` opens the agent's own server."""
    found = [
        f"{agent_id}: {part}"
        for agent_id, definition in CATALOG.items()
        for part in _arguments(definition)
        if "{token}" in part
    ]
    found += [f"{agent_id}: {part}" for agent_id, definition in CATALOG.items() for part in _mcp_arguments(definition)]
    assert len(CATALOG) > 20 and found == []


def _ways(definition: AgentDefinition) -> list[Any]:
    return [definition, *definition.fallback]


def _arguments(definition: AgentDefinition) -> list[str]:
    parts: list[str] = []
    for way in _ways(definition):
        parts += [*(way.command.run if way.command else ()), *(way.command.version if way.command else ())]
        if way.cli is not None:
            flags = [getattr(way.cli.flags, name) for name in type(way.cli.flags).model_fields]
            tables = [flag for flag in flags if flag is not None and not isinstance(flag, dict)]
            grouped = [flag for group in flags if isinstance(group, dict) for flag in group.values()]
            tables += [flag for flag in grouped if not isinstance(flag, str)]
            parts += [part for table in tables for part in table.args]
    return parts


def _mcp_arguments(definition: AgentDefinition) -> list[str]:
    mcp = [way.cli.flags.mcp for way in _ways(definition) if way.cli is not None and way.cli.flags.mcp is not None]
    return [part for flag in mcp for part in flag.args if "{json}" in part]


def test_two_threads_do_not_share_a_file(gateway: Gateway) -> None:
    for thread, server in (("a", REMOTE), ("b", {**REMOTE, "name": "other"})):
        body = run_input("hello", threadId=thread, forwardedProps={"gateway": {"mcpServers": [server]}})
        assert gateway.client.post("/agents/claude", json=body).status_code == 200
    assert len(set(re.findall(r"--mcp-config (\S+)", command_lines()))) == 2
