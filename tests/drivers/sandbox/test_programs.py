"""What a program needs to run is found from where it is installed."""

from __future__ import annotations

from pathlib import Path

from gateway.drivers.sandbox.programs import program_paths


def make(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_package_of_node_is_shown_with_all_packages_beside_it(tmp_path: Path) -> None:
    program = make(tmp_path / "npm" / "lib" / "node_modules" / "agent" / "cli.js", "#!/usr/bin/env node\n")
    link = tmp_path / "npm" / "bin" / "agent"
    link.parent.mkdir()
    link.symlink_to(program)
    node = make(tmp_path / "node" / "v1" / "bin" / "node")
    (tmp_path / "node" / "v1" / "lib").mkdir()
    found = program_paths(["agent"], f"{link.parent}:{node.parent}", tmp_path)
    assert {tmp_path / "npm" / "lib" / "node_modules", tmp_path / "npm" / "bin", tmp_path / "node" / "v1"} <= {*found}


def test_a_python_environment_is_shown_with_what_it_is_based_on(tmp_path: Path) -> None:
    base = make(tmp_path / "python" / "bin" / "python3").parent
    program = make(tmp_path / "tools" / "agent" / "bin" / "agent", f"#!{tmp_path}/tools/agent/bin/python\n")
    make(tmp_path / "tools" / "agent" / "pyvenv.cfg", f"home = {base}\n")
    found = program_paths(["agent"], str(program.parent), tmp_path)
    assert {tmp_path / "tools" / "agent", tmp_path / "python"} <= {*found}


def test_the_home_directory_itself_is_never_shown(tmp_path: Path) -> None:
    make(tmp_path / "agent")
    make(tmp_path / ".local" / "bin" / "other")
    (tmp_path / ".local" / "lib").mkdir()
    search = f"{tmp_path}:{tmp_path}/.local/bin"
    for command in (["agent"], ["other"]):
        found = program_paths(command, search, tmp_path)
        assert tmp_path not in found and tmp_path / ".local" not in found


def test_a_script_that_the_command_names_is_shown(tmp_path: Path) -> None:
    script = make(tmp_path / "project" / "agent.py")
    assert script in program_paths(["python3", str(script), "--acp"], "/usr/bin", tmp_path)
