"""`agui-gateway`: its help, its banner, and its error messages."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from threading import Timer
from unittest.mock import patch

import httpx
import pytest
from click.testing import CliRunner

from gateway import __version__
from gateway.cli import main
from gateway.settings import ENV_PREFIX
from gateway.web.auth.local_token import is_loopback
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

TIMEOUT_SECONDS = 60.0
AGENT = 'id = "mine"\ndriver = "python"\nentry = "mine:agent"\n'
IDENTITY = '[identity]\nname = "Mine"\n'
TOKEN = "0123456789abcdef"


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agents' workspace, and so no place for the gateway's own files: these are in the folder above it."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    for kind in ("DATA", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    for name in list(os.environ):
        if name.startswith(ENV_PREFIX):
            monkeypatch.delenv(name)
    return project


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the real command until it ends."""
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    line = [sys.executable, "-m", "gateway", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env=environ)


def serve_error(*arguments: str, **environ: str) -> str:
    """The message of `serve` when a setting is wrong: one line, and no traceback."""
    with patch("gateway.cli.commands.serve.serve", side_effect=AssertionError("it serves")):
        result = CliRunner().invoke(main, ["serve", "--port", "0", "--store", "memory:", *arguments], env=environ)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    message = result.stderr
    assert message.startswith("agui-gateway: ") and message.count("\n") == 1
    return message


def agents(text: str, name: str = "mine.toml") -> tuple[str, str]:
    folder = Path("../agents")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return "--agents", str(folder)


# -- help


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_what_to_type(flag: str) -> None:
    result = command(flag)
    assert result.returncode == 0
    assert "agui-gateway serve  " in result.stdout
    assert "agui-gateway serve --agents ~/my-agents" in result.stdout


def test_help_for_serve_shows_every_option_and_where_else_it_can_be_set() -> None:
    text = command("serve", "--help").stdout
    for option in ("host", "port", "agents", "store", "token-file", "allow-origin", "allow-host", "config"):
        assert f"--{option}" in text
    assert "AGUI_GATEWAY_PORT=" in text and "gateway.toml" in text
    assert "agui-gateway token add ann --file tokens.json" in text
    assert "8123" in text and "127.0.0.1" in text


def test_without_arguments_it_shows_the_help() -> None:
    result = command()
    assert "agui-gateway serve --help" in result.stdout + result.stderr


def test_the_version_is_printed() -> None:
    result = command("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"agui-gateway, version {__version__}")


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "--port", "high"]])
def test_a_wrong_argument_leads_to_the_help(arguments: list[str]) -> None:
    result = command(*arguments)
    assert result.returncode == 2
    assert "--help" in result.stderr and arguments[-1] in result.stderr
    assert "Traceback" not in result.stderr


# -- the banner


@dataclass(frozen=True, slots=True)
class RunningGateway:
    pid: int
    banner: str


@contextmanager
def serve(*arguments: str) -> Iterator[RunningGateway]:
    """Runs the real command; yields when it has printed its banner."""
    environ = {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    line = [sys.executable, "-m", "gateway", "serve", "--port", "0", *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        deadline = Timer(TIMEOUT_SECONDS, process.kill)
        deadline.start()
        try:
            message = list(takewhile(lambda line: not line.startswith("Press Ctrl-C"), process.stdout))
            yield RunningGateway(process.pid, "".join(message))
        finally:
            deadline.cancel()
            process.terminate()


def test_the_banner_shows_the_settings_and_its_commands_work(working_directory: Path) -> None:
    # The directory's name contains what rich takes for markup.
    write_agent(working_directory.parent / "agents", "mine", "async def agent(turn):\n    yield 'mine'\n")
    store = f"sqlite://{working_directory.parent}/[red]s [/b]/gateway.db"
    with serve("--store", store, "--agents", "../agents") as running:
        lines = [line.split(None, 1) for line in running.banner.splitlines()]
        fields = {cells[0]: cells[1] for cells in lines if len(cells) == 2}
        assert fields["agui-gateway"].startswith(__version__)
        assert (fields["store"], fields["agents"].partition(";")[0].split(", ")[-1]) == (store, "mine")
        assert fields["CopilotKit"].endswith("/copilotkit")
        capabilities, run = (shlex.split(line) for line in running.banner.splitlines() if line.startswith("  curl"))
        assert httpx.get(capabilities[1]).json()["identity"]["name"] == "Demo"
        body = json.loads(run[run.index("-d") + 1])
        assert fields["AG-UI"] == run[2]
        assert "RUN_FINISHED" in httpx.post(run[2], json=body, timeout=TIMEOUT_SECONDS).text


# -- the address


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        result = command("serve", "--port", str(port), "--store", "memory:")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"agui-gateway: port {port} is in use")
    assert "--port" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_at_an_address_that_others_can_reach_a_token_is_made(working_directory: Path, host: str) -> None:
    with Gateway(working_directory / "home", "--host", host) as running:
        token = (working_directory / "home" / "agui-gateway" / "local-token").read_text().strip()
        assert running.client.get("/agents").status_code == 401
        assert running.client.get("/agents", headers={"authorization": f"Bearer {token}"}).status_code == 200


def test_the_banner_has_the_token_only_where_one_is_needed(working_directory: Path) -> None:
    with Gateway(working_directory / "home", env={"AGUI_GATEWAY_LOCAL_AUTH": "token"}) as running:
        token = (working_directory / "home" / "agui-gateway" / "local-token").read_text().strip()
        assert f"{running.url}/#token={token} in a browser" in running.banner()
    with Gateway(working_directory / "home", env={"AGUI_GATEWAY_LOCAL_AUTH": "user"}) as running:
        assert token not in running.banner()


def test_a_gateway_for_everybody_is_not_served() -> None:
    assert 'local_auth = "none"' in serve_error(AGUI_GATEWAY_LOCAL_AUTH="none")


def test_an_address_that_is_not_this_machine_s_is_named(working_directory: Path) -> None:
    (working_directory.parent / "tokens.txt").write_text(TOKEN)
    (working_directory.parent / "tokens.txt").chmod(0o600)
    assert "192.0.2.1:0 cannot be bound" in serve_error("--host", "192.0.2.1", "--token-file", "../tokens.txt")


def test_with_a_token_it_may_be_reached_by_any_name(working_directory: Path) -> None:
    tokens = working_directory.parent / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n")
    tokens.chmod(0o600)
    with Gateway(working_directory.parent / "home", "--host", "0.0.0.0", "--token-file", str(tokens)) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert running.client.get("/agents", headers={"host": "gateway.example"}).status_code == 401
        headers = {"host": "gateway.example", "authorization": f"Bearer {TOKEN}"}
        assert running.client.get("/agents", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "128.0.0.1", "example.org"])
def test_other_addresses_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


# -- files and variables


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "there is no token in it"),
        (b"# only a comment\n", "there is no token in it"),
        (b"short\n", "tokens.txt:1: a token has at least 16 characters"),
        (b"\nann:short\n", "tokens.txt:2: a token has at least 16 characters"),
        (f"ann:{TOKEN}\nann:{TOKEN[::-1]}\n".encode(), "tokens.txt:2: the name 'ann' is taken"),
        (f"local:{TOKEN}\n".encode(), "tokens.txt:1: the name 'local' is taken"),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_token_file_is_named_with_the_line(working_directory: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (working_directory.parent / "tokens.txt").write_bytes(content)
        (working_directory.parent / "tokens.txt").chmod(0o600)
    message = serve_error("--token-file", "../tokens.txt")
    assert "tokens.txt" in message and reason in message
    assert TOKEN not in message


def test_a_folder_of_agents_that_is_not_there_is_named(working_directory: Path) -> None:
    assert "agui-gateway: ../nowhere: not a directory" in serve_error("--agents", "../nowhere")
    (working_directory.parent / "file.toml").write_text(AGENT)
    assert "agui-gateway: ../file.toml: not a directory" in serve_error("--agents", "../file.toml")


def test_a_broken_agent_file_is_named_with_the_line() -> None:
    message = serve_error(*agents("id = \n"))
    assert "agents/mine.toml: not TOML" in message and "line 1" in message


def test_a_wrong_key_of_an_agent_file_is_named() -> None:
    assert "agents/mine.toml: drivr: there is no such key" in serve_error(*agents("drivr = 1\n" + AGENT + IDENTITY))


def test_a_wrong_settings_file_is_named_with_the_key(working_directory: Path) -> None:
    users_file = working_directory.parent / "CONFIG" / "agui-gateway" / "gateway.toml"
    users_file.parent.mkdir(parents=True)
    users_file.write_text("prot = 8123\n")
    assert f"agui-gateway: {users_file}: prot: there is no such setting" in serve_error()
    (working_directory.parent / "other.toml").write_text("max_runs = 0\n")
    assert "agui-gateway: ../other.toml: max_runs: " in serve_error("--config", "../other.toml")


def test_a_wrong_variable_is_named() -> None:
    assert "agui-gateway: AGUI_GATEWAY_MAX_RUNS: " in serve_error(AGUI_GATEWAY_MAX_RUNS="many")


def test_an_unknown_default_agent_is_reported_with_the_known_ones() -> None:
    message = serve_error(AGUI_GATEWAY_DEFAULT_AGENT="ghost")
    assert "default_agent" in message and "'ghost'" in message and "echo" in message


@pytest.mark.parametrize("url", ["redis://localhost", "nonsense", "sqlite://", "memory:x"])
def test_an_invalid_store_is_reported_with_the_valid_ones(url: str) -> None:
    message = serve_error("--store", url)
    assert f"--store {url}" in message and "memory:" in message


def test_a_store_that_another_gateway_has_is_reported_in_one_sentence(working_directory: Path) -> None:
    store = f"sqlite://{working_directory.parent}/gateway.db"
    with serve("--store", store) as running:
        result = command("serve", "--port", "0", "--store", store)
    assert (result.returncode, result.stdout) == (2, "")
    assert "is in use by another agui-gateway" in result.stderr and f"pid {running.pid}" in result.stderr
    assert "--store" in result.stderr and "Traceback" not in result.stderr


def test_a_store_that_cannot_be_opened_is_reported_in_one_sentence(working_directory: Path) -> None:
    (working_directory.parent / "notes.txt").write_text("this is no database, and it is longer than a header\n" * 100)
    result = command("serve", "--port", "0", "--store", f"sqlite://{working_directory.parent}/notes.txt")
    assert result.returncode != 0 and result.stdout == ""
    assert "notes.txt" in result.stderr and "Traceback" not in result.stderr
