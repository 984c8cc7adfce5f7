"""`agui-gateway agents`: a table for users, JSON for programs, and quickly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.load import bundled, load_folder
from tests.behaviour.acp.harness import toml
from tests.cli.pseudo_terminal import TIMEOUT_SECONDS, Terminal, environment, run_command
from tests.drivers.programs import BASE, npm_package, script
from tests.web.agent_folder import write_agent

KEYS = [
    *("id", "name", "driver", "status", "version", "reason", "hint", "program", "transport"),
    *("platform", "prerequisites", "signedIn"),
]
NEVER_NEEDED = ("starlette", "uvicorn", "httpx", "ag_ui", "google.protobuf", "jsonschema", "rich", "gateway.web.app")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """One agent of each status, in `agents`; none of the bundled ones is on this PATH."""
    agents = tmp_path / "agents"
    write_agent(agents, "typo", "async def agent(turn)\n    yield 'never'\n")
    npm_package(tmp_path, "@otter/cli", "2.7.1", "otter", "exit 0")
    script(tmp_path / "bin" / "lynx", "exit 1")
    write(agents, "otter", tmp_path, install=[{"kind": "npm", "package": "@otter/cli"}])
    sign = {"kind": "env", "name": "NO_SUCH_KEY", "hint": "run `lynx login`"}
    write(agents, "lynx", tmp_path, version=(), auth=[sign])
    write(agents, "bear", tmp_path, install=[{"kind": "uv", "package": "bear[acp]"}])
    return tmp_path


def write(agents: Path, name: str, home: Path, version: tuple[str, ...] | None = None, **more: Any) -> None:
    version_command = (name, "--version") if version is None else version
    command = {"run": [name], "version": version_command, "env": {"PATH": f"{home / 'bin'}:{BASE}"}}
    keys = {"id": name, "driver": "acp", "identity": {"name": name.title()}, "command": command, **more}
    (agents / f"{name}.toml").write_text("\n".join(f"{key} = {toml(value)}" for key, value in keys.items()), "utf-8")


def list_agents(machine: Path) -> dict[str, dict[str, Any]]:
    result = run_command(machine, "agents", "--agents", "agents", "--json", env={"PATH": str(machine / "empty")})
    assert (result.returncode, result.stderr) == (0, "")
    return {row["id"]: row for row in json.loads(result.stdout)}


def test_json_has_every_agent_with_every_key(machine: Path) -> None:
    rows = list_agents(machine)
    listed = {each.id for each in load_folder(bundled()).values() if each.transport_of is None}
    assert listed | {"otter", "lynx", "bear", "typo"} == rows.keys()
    assert all(list(row) == KEYS for row in rows.values())


def test_each_status_has_its_next_step(machine: Path) -> None:
    rows = list_agents(machine)
    assert [rows[name]["status"] for name in ("demo", "echo", "otter")] == ["ready"] * 3
    assert (rows["otter"]["version"], rows["otter"]["program"]) == ("2.7.1", str(machine / "bin" / "otter"))
    assert (rows["lynx"]["status"], rows["lynx"]["hint"]) == ("needs-auth", "run `lynx login`")
    assert (rows["bear"]["status"], rows["bear"]["hint"]) == ("not-installed", "uv tool install 'bear[acp]'")
    assert (rows["typo"]["status"], "SyntaxError" in rows["typo"]["reason"]) == ("broken", True)


def test_in_a_pipe_it_is_plain_text_in_columns_the_ready_ones_first(machine: Path) -> None:
    result = run_command(machine, "agents", "--agents", "agents", env={"PATH": str(machine / "empty"), "NO_COLOR": ""})
    heading, *lines = result.stdout.splitlines()
    assert "\x1b" not in result.stdout
    at = heading.index("status")
    statuses = [row[at:].split()[0] for row in lines]
    assert statuses == sorted(statuses, key=["ready", "needs-auth", "broken", "not-installed"].index)
    [bear] = [row for row in lines if row.startswith("bear ")]
    assert bear[heading.index("next step") :] == "uv tool install 'bear[acp]'"


@pytest.mark.parametrize("colours", [True, False])
def test_in_a_terminal_it_is_a_table(machine: Path, colours: bool) -> None:
    variables = {"PATH": str(machine / "empty"), "NO_COLOR": "" if colours else "1"}
    with Terminal(machine, "agents", "--agents", "agents", **variables) as terminal:
        assert terminal.end() == 0
    assert "✓ ready" in terminal.screen and "! needs-auth" in terminal.screen and "✗ broken" in terminal.screen
    assert "○ not-installed" in terminal.screen and "uv tool install 'bear[acp]'" in terminal.screen
    assert ("\x1b[32m" in terminal.raw, "\x1b" in terminal.raw) == (colours, colours)


def test_a_mistake_in_a_file_is_reported(machine: Path) -> None:
    (machine / "agents" / "wrong.toml").write_text('id = "wrong"\ndriver = "python"\nentry = "a:b"\n')
    result = run_command(machine, "agents", "--agents", "agents")
    assert (result.returncode, result.stdout) == (2, "")
    assert "agents/wrong.toml: identity: is missing" in result.stderr


def test_it_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Most of the time is spent importing: the server's modules alone take three times as long as the whole command."""
    code = f"""
import sys
sys.argv = ["agui-gateway", "agents"]
from gateway.cli import main
main(standalone_mode=False)
print(sorted(set({NEVER_NEEDED}) & set(sys.modules)), file=sys.stderr)
"""
    env = environment(tmp_path, PATH=str(tmp_path / "empty"))
    line = [sys.executable, "-c", code]
    result = subprocess.run(line, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert (result.returncode, result.stderr) == (0, "[]\n")
    assert "demo " in result.stdout
