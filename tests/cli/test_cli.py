"""`agui-gateway`, as somebody meets it who has never seen it, and as it fails."""

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
from gateway.web.server import is_loopback
from tests.support.gateway import Gateway
from tests.web.agent_folder import write_agent

LIMIT = 60.0
AGENT = 'id = "mine"\ndriver = "python"\nentry = "mine:agent"\n'
IDENTITY = '[identity]\nname = "Mine"\n'
TOKEN = "0123456789abcdef"


@pytest.fixture(autouse=True)
def remote_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(ENV_PREFIX):
            monkeypatch.delenv(name)
    return tmp_path


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The real command, to its end."""
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    line = [sys.executable, "-m", "gateway", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=LIMIT, env=environ)


def complaint(*arguments: str, **environ: str) -> str:
    """What `serve` says when a setting is wrong: one line, and no traceback."""
    with patch("gateway.cli.commands.serve.serve", side_effect=AssertionError("it serves")):
        result = CliRunner().invoke(main, ["serve", "--port", "0", "--store", "memory:", *arguments], env=environ)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    said = result.stderr
    assert said.startswith("agui-gateway: ") and said.count("\n") == 1
    return said


def agents(text: str, name: str = "mine.toml") -> tuple[str, str]:
    folder = Path("agents")
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return "--agents", str(folder)


# -- what it teaches


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_what_to_type(flag: str) -> None:
    result = command(flag)
    assert result.returncode == 0
    assert "agui-gateway serve  " in result.stdout
    assert "agui-gateway serve --agents ./my-agents" in result.stdout


def test_help_for_serve_reports_every_option_and_where_else_it_can_be_set() -> None:
    text = command("serve", "--help").stdout
    for option in ("host", "port", "agents", "store", "token-file", "allow-origin", "allow-host", "config"):
        assert f"--{option}" in text
    assert "AGUI_GATEWAY_PORT=" in text and "gateway.toml" in text
    assert "openssl rand -hex 24 > tokens.txt" in text
    assert "8123" in text and "127.0.0.1" in text


def test_without_arguments_it_shows_the_help() -> None:
    result = command()
    assert "agui-gateway serve --help" in result.stdout + result.stderr


def test_it_reports_its_version() -> None:
    result = command("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"agui-gateway, version {__version__}")


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve", "--port", "high"]])
def test_a_wrong_argument_leads_to_the_help(arguments: list[str]) -> None:
    result = command(*arguments)
    assert result.returncode == 2
    assert "--help" in result.stderr and arguments[-1] in result.stderr
    assert "Traceback" not in result.stderr


# -- what it says when it runs


@dataclass(frozen=True, slots=True)
class Served:
    pid: int
    greeting: str


@contextmanager
def serve(*arguments: str) -> Iterator[Served]:
    """The real command, until it has said all that it says at the start."""
    environ = {**os.environ, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}
    line = [sys.executable, "-m", "gateway", "serve", "--port", "0", *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        deadline = Timer(LIMIT, process.kill)
        deadline.start()
        try:
            said = list(takewhile(lambda line: not line.startswith("Ctrl-C"), process.stdout))
            yield Served(process.pid, "".join(said))
        finally:
            deadline.cancel()
            process.terminate()


def test_the_greeting_shows_what_there_is_and_what_it_says_to_try_works(remote_proxy: Path) -> None:
    # The folder's name has in it what a terminal's library takes for markup.
    write_agent(remote_proxy / "agents", "mine", "async def agent(turn):\n    yield 'mine'\n")
    store = f"sqlite://{remote_proxy}/[red]s [/b]/gateway.db"
    with serve("--store", store, "--agents", "agents") as running:
        lines = [line.split(None, 1) for line in running.greeting.splitlines()]
        shown = {words[0]: words[1] for words in lines if len(words) == 2}
        assert shown["agui-gateway"].startswith(__version__)
        assert (shown["store"], shown["agents"].partition(";")[0].split(", ")[-1]) == (store, "mine")
        assert shown["CopilotKit"].endswith("/copilotkit")
        look, run = (shlex.split(line) for line in running.greeting.splitlines() if line.startswith("  curl"))
        assert httpx.get(look[1]).json()["identity"]["name"] == "Demo"
        body = json.loads(run[run.index("-d") + 1])
        assert shown["AG-UI"] == run[2]
        assert "RUN_FINISHED" in httpx.post(run[2], json=body, timeout=LIMIT).text


# -- where it listens


def test_a_port_in_use_is_said_to_be_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = command("serve", "--port", str(port), "--store", "memory:")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"agui-gateway: port {port} is in use")
    assert "--port" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gateway.example", ""])
def test_an_address_that_others_can_reach_needs_a_token(host: str) -> None:
    said = complaint("--host", host)
    assert f"--host {host}" in said
    assert "--token-file tokens.txt" in said and "openssl rand" in said


def test_an_address_that_is_not_this_machine_s_is_named(remote_proxy: Path) -> None:
    (remote_proxy / "tokens.txt").write_text(TOKEN)
    assert "192.0.2.1:0 cannot be bound" in complaint("--host", "192.0.2.1", "--token-file", "tokens.txt")


def test_with_a_token_it_may_be_reached_by_any_name(remote_proxy: Path) -> None:
    tokens = remote_proxy / "tokens.txt"
    tokens.write_text(f"ann:{TOKEN}\n")
    with Gateway(remote_proxy / "home", "--host", "0.0.0.0", "--token-file", str(tokens)) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert running.client.get("/agents", headers={"host": "gateway.example"}).status_code == 401
        headers = {"host": "gateway.example", "authorization": f"Bearer {TOKEN}"}
        assert running.client.get("/agents", headers=headers).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "128.0.0.1", "example.org"])
def test_what_is_not_loopback_is_known_too(host: str) -> None:
    assert not is_loopback(host)


# -- what it reads


@pytest.mark.parametrize(
    ("content", "says"),
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
def test_a_wrong_token_file_is_named_with_the_line(remote_proxy: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (remote_proxy / "tokens.txt").write_bytes(content)
    said = complaint("--token-file", "tokens.txt")
    assert "tokens.txt" in said and says in said
    assert TOKEN not in said


def test_a_folder_of_agents_that_is_not_there_is_named(remote_proxy: Path) -> None:
    assert "agui-gateway: nowhere: not a directory" in complaint("--agents", "nowhere")
    (remote_proxy / "file.toml").write_text(AGENT)
    assert "agui-gateway: file.toml: not a directory" in complaint("--agents", "file.toml")


def test_a_broken_agent_file_is_named_with_the_line() -> None:
    said = complaint(*agents("id = \n"))
    assert "agents/mine.toml: not TOML" in said and "line 1" in said


def test_a_wrong_key_of_an_agent_file_is_named() -> None:
    assert "agents/mine.toml: drivr: there is no such key" in complaint(*agents("drivr = 1\n" + AGENT + IDENTITY))


def test_a_wrong_settings_file_is_named_with_the_key(remote_proxy: Path) -> None:
    (remote_proxy / "gateway.toml").write_text("prot = 8123\n")
    assert "agui-gateway: gateway.toml: prot: there is no such setting" in complaint()
    (remote_proxy / "other.toml").write_text("max_runs = 0\n")
    assert "agui-gateway: other.toml: max_runs: " in complaint("--config", "other.toml")


def test_a_wrong_variable_is_named() -> None:
    assert "agui-gateway: AGUI_GATEWAY_MAX_RUNS: " in complaint(AGUI_GATEWAY_MAX_RUNS="many")


def test_a_default_agent_that_is_not_there_is_reported_with_those_that_are() -> None:
    said = complaint(AGUI_GATEWAY_DEFAULT_AGENT="ghost")
    assert "default_agent" in said and "'ghost'" in said and "echo" in said


@pytest.mark.parametrize("url", ["redis://localhost", "nonsense", "sqlite://", "memory:x"])
def test_a_store_that_cannot_be_is_reported_with_what_can(url: str) -> None:
    said = complaint("--store", url)
    assert f"--store {url}" in said and "memory:" in said


def test_a_store_that_another_gateway_has_is_reported_in_one_sentence(remote_proxy: Path) -> None:
    store = f"sqlite://{remote_proxy}/gateway.db"
    with serve("--store", store) as running:
        result = command("serve", "--port", "0", "--store", store)
    assert (result.returncode, result.stdout) == (2, "")
    assert "is in use by another agui-gateway" in result.stderr and f"pid {running.pid}" in result.stderr
    assert "--store" in result.stderr and "Traceback" not in result.stderr


def test_a_store_that_cannot_be_opened_is_reported_in_one_sentence(remote_proxy: Path) -> None:
    (remote_proxy / "notes.txt").write_text("this is no database, and it is longer than a header\n" * 100)
    result = command("serve", "--port", "0", "--store", f"sqlite://{remote_proxy}/notes.txt")
    assert result.returncode != 0 and result.stdout == ""
    assert "notes.txt" in result.stderr and "Traceback" not in result.stderr
