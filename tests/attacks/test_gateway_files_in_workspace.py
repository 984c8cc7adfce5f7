"""An agent that changes the program it runs under (the class of OpenClaw CVE-2026-25253 and -25593).

Attack: the gateway's own files lie in the folder that its agents work in. An agent that may do no more than read and
write files there reads the store, gives itself a token, or writes an agent's file, whose Python module the gateway
imports at once. Promise: the gateway does not start so; and where such a file comes to lie in the workspace later, no
session reads, writes or works in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.support.gateway import text_of

TIMEOUT_SECONDS = 60.0
AGENT = 'id = "mine"\ndriver = "python"\nentry = "mine:agent"\n[identity]\nname = "Mine"\n'


def serve(workspace: Path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Ends at once: every start here must be refused."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AGUI_GATEWAY_")}
    outside = workspace.parent / "outside"
    folders = {f"XDG_{kind}_HOME": str(outside) for kind in ("DATA", "CONFIG")}
    return subprocess.run(
        [sys.executable, "-m", "gateway", "serve", "--port", "0", "--workspace", str(workspace), *flags],
        cwd=workspace.parent,
        env={**inherited, **folders, "NO_COLOR": "1", **env},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "own").mkdir(parents=True)
    (folder / "own" / "mine.toml").write_text(AGENT)
    canary = tmp_path / "canary"
    (folder / "own" / "mine.py").write_text(f"open({str(canary)!r}, 'w').close()\nasync def agent(turn): yield ''\n")
    (folder / "tokens.txt").write_text("0123456789abcdef0123\n")
    (folder / "tokens.txt").chmod(0o600)
    (folder / "other.toml").write_text("max_runs = 3\n")
    return folder


CASES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "store": (("--store", "sqlite://{workspace}/gateway.db"), {}),
    "store by a variable": ((), {"AGUI_GATEWAY_STORE": "sqlite://{workspace}/a/b/gateway.db"}),
    "store by a relative path": (("--store", "sqlite:workspace/gateway.db"), {}),
    "token file": (("--token-file", "{workspace}/tokens.txt", "--store", "memory:"), {}),
    "settings file": (("--config", "{workspace}/other.toml", "--store", "memory:"), {}),
    "trust file": (("--store", "memory:"), {"AGUI_GATEWAY_TRUST_FILE": "{workspace}/trust.json"}),
    "homes": (("--store", "memory:"), {"AGUI_GATEWAY_HOMES": "{workspace}/homes"}),
    "credentials": (("--store", "memory:"), {"AGUI_GATEWAY_CREDENTIALS_DIR": "{workspace}"}),
    "agents": (("--agents", "{workspace}/own", "--store", "memory:"), {}),
    "agents by a path with dots": (("--agents", "{workspace}/../workspace/own", "--store", "memory:"), {}),
    "data folder": (("--store", "memory:"), {"XDG_DATA_HOME": "{workspace}"}),
    "configuration folder": (("--store", "memory:"), {"XDG_CONFIG_HOME": "{workspace}"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_gateway_does_not_start_with_its_own_files_in_the_workspace(workspace: Path, case: str) -> None:
    flags, env = CASES[case]
    filled = [flag.format(workspace=workspace) for flag in flags]
    done = serve(workspace, *filled, **{name: value.format(workspace=workspace) for name, value in env.items()})
    assert (done.returncode, done.stdout) == (2, "")
    assert f"is inside the workspace {workspace}" in done.stderr and "--workspace DIR" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (workspace.parent / "canary").exists()


@pytest.mark.parametrize("inside", ["the link", "the target"])
def test_a_link_does_not_hide_them(workspace: Path, tmp_path: Path, inside: str) -> None:
    """A link in the workspace can be pointed elsewhere by whoever writes there; a link to it leads there."""
    if inside == "the link":
        named, target = workspace / "agents", tmp_path / "real"
        (workspace / "own").rename(target)
    else:
        named, target = tmp_path / "agents", workspace / "own"
    named.symlink_to(target)
    done = serve(workspace, "--agents", str(named), "--store", "memory:")
    assert done.returncode == 2 and "is inside the workspace" in done.stderr
    assert not (tmp_path / "canary").exists()


def test_a_workspace_that_is_a_link_is_seen_through(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(workspace)
    done = serve(tmp_path / "alias", "--agents", str(workspace / "own"), "--store", "memory:")
    assert done.returncode == 2 and f"is inside the workspace {workspace}" in done.stderr


def test_a_file_that_comes_to_lie_in_the_workspace_is_not_served(tmp_path: Path) -> None:
    stage = Stage(tmp_path).agent("plain", acp={"fs": True})
    with stage:
        # As an operator might, who moves a folder and leaves a link behind.
        moved = stage.workspace / "agents"
        stage.agents.rename(moved)
        stage.agents.symlink_to(moved)
        (stage.workspace / "notes.txt").write_text("free to read")
        talk = Talk(stage)
        assert "free to read" in text_of(talk.say(f"read {stage.workspace / 'notes.txt'}"))
        assert "belongs to the gateway" in text_of(talk.say(f"read {moved / 'plain.toml'}"))
        assert "belongs to the gateway" in text_of(talk.say(f"write {moved / 'evil.toml'} x"))
        assert not (moved / "evil.toml").exists()
        refusal = stage.post("plain", Talk(stage, cwd="agents").input("hello"))
        assert (refusal.status_code, refusal.json()["code"]) == (422, "PATH_WITHHELD")


def test_what_an_agent_writes_next_to_its_work_is_never_imported(tmp_path: Path) -> None:
    """The names that were in force when they lay in the workspace."""
    canary = tmp_path / "canary"
    with Stage(tmp_path).agent("plain", acp={"fs": True}) as stage:
        talk = Talk(stage)
        (stage.workspace / "tools").mkdir()
        for name in ("gateway.toml", "tools/evil.toml", "tools/evil.py"):
            talk.say(f"write {stage.workspace / name} open({str(canary)!r},'w')")
        ids = {agent["id"] for agent in stage.asks("/agents")["agents"]}
        stage.terminate()
        stage.start()
        assert {agent["id"] for agent in stage.asks("/agents")["agents"]} == ids
    assert not canary.exists()
