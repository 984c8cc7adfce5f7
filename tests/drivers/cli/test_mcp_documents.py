"""The MCP servers of a run in a file: alone in a directory where the agent loads directories, and never with a value
that the agent would replace or run."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.load import bundled, load_file
from gateway.catalog.sections import Cli
from gateway.drivers.cli.command import CommandOptions, option_arguments
from gateway.drivers.cli.temp_files import TempFiles
from gateway.errors import BadInput


def omp() -> Cli:
    cli = load_file(bundled() / "omp.toml").cli
    assert cli is not None
    return cli


def remote(**headers: str) -> dict[str, Any]:
    pairs = [{"name": name, "value": value} for name, value in headers.items()]
    return {"name": "web", "type": "http", "url": "https://example.com/mcp", "headers": pairs}


def arguments_of(server: dict[str, Any], files: TempFiles) -> tuple[str, ...]:
    return option_arguments(omp(), CommandOptions(mcp_servers=(server,)), files.save).args


def test_omp_loads_a_directory_with_the_servers_and_nothing_else(tmp_path: Path) -> None:
    files = TempFiles(tmp_path)
    files.save("1.png", b"an image of the prompt")
    args = arguments_of(remote(authorization="Bearer abc"), files)
    directory = Path(args[args.index("--extension") + 1])
    assert [file.name for file in directory.iterdir()] == ["mcp.json"]
    file = directory / "mcp.json"
    assert json.loads(file.read_text())["mcpServers"]["web"]["headers"] == {"authorization": "Bearer abc"}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert args == arguments_of(remote(authorization="Bearer abc"), files), "so that the process can go on"
    files.remove()
    assert not directory.exists()


@pytest.mark.parametrize(
    "server",
    [
        remote(authorization="Bearer ${ANTHROPIC_API_KEY}"),
        remote(authorization="ANTHROPIC_API_KEY"),
        remote(authorization="!cat /etc/passwd"),
        {"name": "web", "type": "http", "url": "https://example.com/${HOME}"},
        {"name": "own", "command": "server", "args": ["--token=${OPENAI_API_KEY}"]},
    ],
)
def test_omp_gets_no_value_that_it_would_replace_or_run(server: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="would not take literally") as refused:
        arguments_of(server, TempFiles(tmp_path))
    assert refused.value.extra["pointer"] == "/forwardedProps/gateway/mcpServers"


@pytest.mark.parametrize("value", ["Bearer abc", "abc123", "a!b", "$5", "{x}"])
def test_omp_gets_other_values_as_they_are(value: str, tmp_path: Path) -> None:
    args = arguments_of(remote(authorization=value), TempFiles(tmp_path))
    assert "--extension" in args


def test_an_argument_of_a_program_may_look_like_a_variable(tmp_path: Path) -> None:
    assert "--extension" in arguments_of({"name": "own", "command": "server", "args": ["FILE"]}, TempFiles(tmp_path))
