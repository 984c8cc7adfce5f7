"""The operator's API keys in programs that a client names.

Attack: a client names a stdio MCP server. Agents start it with their own environment, and so it finds the key that pays
for the model. Promise: no variable that looks like a secret reaches it but those that the client itself set; neither
from the agent nor from the gateway, which starts it too, to list its tools. `tests/live/test_mcp_secrets.py` does the
same with the real Claude Code.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.drivers.environment import looks_secret
from gateway.drivers.mcp_launch import launcher
from tests.attacks.mcp_stage import ENV_SECRET, make_stage, read_environments, write_server
from tests.behaviour.acp.harness import OPTIONS, Talk
from tests.drivers.process_watch import until

KEY = "sk-operator-0123456789abcdef"
KEYS = {"ANTHROPIC_API_KEY": KEY, "AWS_SECRET_ACCESS_KEY": KEY, "GITHUB_TOKEN": KEY, "DB_PASSWORD": KEY}


def test_neither_the_agent_nor_the_gateway_passes_on_the_operators_keys(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, probe_mcp_stdio=True)
    command = stage.command("keyed", "--full") | {"inherit_env": ["*"]}
    stage.agent("keyed", command=command, options=[*OPTIONS, "mcpServers"])
    stage._env |= KEYS
    server, note = write_server(tmp_path)
    with stage:
        talk = Talk(stage, "keyed", mcpServers=[server])
        assert talk.say("hello")[-1]["type"] == "RUN_FINISHED"
        until(lambda: len(read_environments(note)) == 2)  # the agent's instance and the gateway's
        environs = [Path(f"/proc/{pid}/environ").read_bytes() for pid in stage.processes("keyed")]
        assert any(KEY.encode() in environ for environ in environs), "the agent itself has it"
    environments = read_environments(note)
    assert all(KEY not in environment.values() for environment in environments), environments
    assert all(environment["OWN_TOKEN"] == ENV_SECRET for environment in environments)
    assert all(environment["PATH"] for environment in environments)


@pytest.mark.parametrize("name", [*KEYS, "openai_api_key", "GOOGLE_APPLICATION_CREDENTIALS", "PATH", "HOME", "LANG"])
def test_the_launcher_and_the_gateway_agree_on_what_looks_like_a_secret(name: str) -> None:
    assert launcher.is_secret(name.encode()) == looks_secret(name)


def test_the_launcher_becomes_the_command_and_has_the_variables_of_its_file(tmp_path: Path) -> None:
    variables = tmp_path / "variables"
    variables.write_bytes(b"OWN_TOKEN=a=b\0A_KEY=\0PLAIN=theirs\0")
    line = [sys.executable, "-I", "-S", launcher.__file__, str(variables), "/usr/bin/env"]
    env = {**KEYS, "PLAIN": "ours", "OTHER": "c", "PATH": os.environ["PATH"]}
    done = subprocess.run(line, env=env, capture_output=True, text=True, timeout=30)
    given = dict(each.split("=", 1) for each in done.stdout.splitlines())
    wanted = {"OWN_TOKEN": "a=b", "A_KEY": "", "PLAIN": "theirs", "OTHER": "c", "PATH": os.environ["PATH"]}
    assert {name: value for name, value in given.items() if name in {**env, **wanted}} == wanted
    for command in ([*line[:5], "no-such-program"], [*line[:4], "/no/such/file", "/usr/bin/env"]):
        missing = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
        assert (missing.returncode, missing.stdout) == (127, "") and "cannot be run" in missing.stderr
