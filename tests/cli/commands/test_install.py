"""`agui-gateway install` and `agui-gateway plugins`: the command is shown first, and run only after a yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.pseudo_terminal import run_command
from tests.drivers.programs import script

AGENTS = ("--agents", "agents")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An agent whose installation writes its program, which notes what it is asked for."""
    program = tmp_path / "bin" / "late"
    source = script(tmp_path / "late.sh", f'echo "$*" >> {tmp_path / "notes"}; echo 1.2.3')
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "late.toml").write_text(
        f"""id = "late"
driver = "acp"
identity = {{ name = "Late" }}
command = {{ run = ["{program}"], version = ["{program}", "--version"] }}
install = [{{ kind = "shell", package = "mkdir -p {program.parent} && cp {source} {program}", notes = "It is small." }}]
manifest = {{ supports_plugins = true, plugin_list_cmd = "{program} list", plugin_install_cmd = "{program} add" }}
""",
        "utf-8",
    )
    return tmp_path


def test_the_command_is_shown_and_nothing_is_run(home: Path) -> None:
    shown = run_command(home, "install", "late", "--show", *AGENTS)
    assert (shown.returncode, "cp " in shown.stdout) == (0, True)
    assert not (home / "bin").exists()


def test_without_a_yes_nothing_is_run(home: Path) -> None:
    refused = run_command(home, "install", "late", *AGENTS, stdin="n\n")
    assert refused.returncode != 0 and "It is small." in refused.stderr
    assert not (home / "bin").exists()


def test_an_agent_is_installed_and_found_ready(home: Path) -> None:
    """agent-mux §7 `install`."""
    done = run_command(home, "install", "late", "--yes", *AGENTS)
    assert (done.returncode, (home / "bin" / "late").exists()) == (0, True), done.stderr
    assert "late 1.2.3 is ready" in done.stderr


def test_plugins_are_listed_and_installed_by_the_agent_s_own_commands(home: Path) -> None:
    """agent-mux §9 plugin operations."""
    script(home / "bin" / "late", f'echo "$*" >> {home / "notes"}; echo done')
    assert run_command(home, "plugins", "late", *AGENTS).stdout == "done\n"
    assert run_command(home, "plugins", "late", "install", "review", "--yes", *AGENTS).returncode == 0
    assert (home / "notes").read_text("utf-8").splitlines() == ["list", "add review"]
    refused = run_command(home, "plugins", "late", "search", "review", *AGENTS)
    assert refused.returncode != 0 and "It has: list, install" in refused.stderr
