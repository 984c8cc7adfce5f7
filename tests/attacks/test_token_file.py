"""A token file that was copied, read or written by another user, and a token that may use one agent only.

The incident: tokens stood in clear in a file of any mode, so that a backup, a container's layer or another user had
them, and every one of them could do everything with every agent, for ever.

The promise: the file holds hashes only, made by `agui-gateway token`; a file that others can write is refused, and one
of plain tokens that others can read, with the command that mends it; a token has scopes, agents and an end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gateway.errors import ConfigError
from gateway.web.auth.token_file import hash_token, read_token_file
from tests.attacks.callers import token_of, write_tokens
from tests.support.gateway import Gateway, run_input
from tests.web.problem import problem_in


def token_command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("AGUI_GATEWAY_")}
    environ |= {"XDG_DATA_HOME": str(home), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gateway", "token", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=home, timeout=30, umask=0)


def test_a_token_is_shown_once_and_kept_as_a_hash(tmp_path: Path) -> None:
    added = token_command(tmp_path, "add", "ann")
    token = added.stdout.strip()
    file = tmp_path / "agui-gateway" / "tokens.json"
    assert token.startswith("agw_") and len(token) >= 4 + 43
    assert file.stat().st_mode & 0o777 == 0o600
    assert token not in file.read_text() and hash_token(token) in file.read_text()
    assert read_token_file(file)[0].scopes == {"read", "run"}, "the least that is useful"
    listed = token_command(tmp_path, "list").stdout
    assert "ann" in listed and "never" in listed and hash_token(token) not in listed
    for path in file.parent.iterdir():
        assert token not in path.read_text()


def test_a_token_has_scopes_agents_and_an_end(tmp_path: Path) -> None:
    file = str(tmp_path / "t.json")
    flags = ("--scope", "read", "--agent", "echo", "--expires", "30d", "--file", file)
    assert token_command(tmp_path, "add", "ci", *flags).returncode == 0
    entry = json.loads(Path(file).read_text())["tokens"][0]
    assert (entry["scopes"], entry["agents"], "expires" in entry) == (["read"], ["echo"], True)
    assert token_command(tmp_path, "revoke", "ci", "--file", file).returncode == 0
    assert json.loads(Path(file).read_text())["tokens"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "local"),
        ("add", "oidc:ann"),
        ("add", "proxy:ann"),
        ("add", "a\nb"),
        ("add", ""),
        ("add", "x", "--scope", "root"),
        ("add", "x", "--expires", "soon"),
        ("add", "x", "--expires", "0d"),
        ("revoke", "stranger"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    token_command(tmp_path, "add", "ann")
    done = token_command(tmp_path, *arguments)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr


def test_plain_tokens_can_be_turned_into_hashes_and_stay_valid(tmp_path: Path) -> None:
    file = tmp_path / "tokens.txt"
    file.write_text("ann[read,run]:ann-0123456789abcdef\nbob:bob-0123456789abcdef\n")
    file.chmod(0o600)
    assert token_command(tmp_path, "hash", "--file", str(file)).returncode == 0
    assert "0123456789abcdef" not in file.read_text().replace(hash_token("ann-0123456789abcdef"), "").replace(
        hash_token("bob-0123456789abcdef"), ""
    )
    with Gateway(tmp_path / "home", "--token-file", str(file)) as gateway:
        headers = {"authorization": "Bearer ann-0123456789abcdef"}
        assert gateway.client.get("/agents", headers=headers).status_code == 200
        stolen = {"authorization": f"Bearer {hash_token('ann-0123456789abcdef')}"}
        problem_in(gateway.client.get("/agents", headers=stolen), 401, "UNAUTHORIZED")


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o606])
def test_plain_tokens_that_others_can_read_are_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "tokens.txt"
    file.write_text("ann:ann-0123456789abcdef\n")
    file.chmod(mode)
    with pytest.raises(ConfigError, match=f"chmod 600 {file}"):
        read_token_file(file)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize(("mode", "is_refused"), [(0o600, False), (0o444, False), (0o620, True), (0o602, True)])
def test_hashes_may_be_read_but_not_written_by_others(tmp_path: Path, mode: int, is_refused: bool) -> None:
    file = tmp_path / "tokens.json"
    write_tokens(file, ann={})
    file.chmod(mode)
    if is_refused:
        with pytest.raises(ConfigError, match="chmod 600"):
            read_token_file(file)
    else:
        assert [record.name for record in read_token_file(file)] == ["ann"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    write_tokens(file, ann={})
    os.chown(file, 65534, 65534)
    with pytest.raises(ConfigError, match="another user"):
        read_token_file(file)


# -- a token for one agent


@pytest.fixture(scope="module")
def one_agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("one-agent")
    scopes = frozenset({"read", "run", "admin"})
    headers = write_tokens(
        home / "tokens.json", ann={"agents": frozenset({"echo"}), "scopes": scopes}, all={"scopes": scopes}
    )
    with Gateway(home / "home", "--token-file", str(home / "tokens.json")) as gateway:
        gateway.client.headers.update(headers["ann"])
        yield gateway


def test_it_sees_only_this_agent(one_agent: Gateway) -> None:
    client = one_agent.client
    assert [agent["id"] for agent in client.get("/agents").json()["agents"]] == ["echo"]
    assert client.get("/capabilities/matrix").json()["agents"] == ["echo"]
    assert list(client.get("/copilotkit/info").json()["agents"]) == ["echo"]
    assert list(client.get("/", headers={"accept": "application/json"}).json()["agents"]) == ["echo"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/agents/demo"),
        ("POST", "/agents/demo"),
        ("GET", "/agents/demo/capabilities"),
        ("GET", "/agents/demo/models"),
        ("POST", "/agents/demo/models:refresh"),
        ("GET", "/agents/demo/threads"),
        ("GET", "/agents/demo/threads/t"),
        ("DELETE", "/agents/demo/threads/t"),
        ("GET", "/agents/demo/threads/t/events"),
        ("POST", "/agents/demo/threads/t/messages"),
        ("POST", "/agents/demo/threads/t/mode"),
        ("POST", "/agents/demo/threads/t/fork"),
        ("POST", "/copilotkit/agent/demo/run"),
        ("POST", "/copilotkit/agent/default/run"),
        ("POST", "/copilotkit/agent/demo/connect"),
        ("POST", "/copilotkit/agent/demo/stop/t"),
    ],
)
def test_for_it_there_is_no_other_agent(one_agent: Gateway, method: str, path: str) -> None:
    response = one_agent.client.request(method, path, json=run_input("hello"))
    assert "demo" not in problem_in(response, 404, "UNKNOWN_AGENT")["detail"].replace("'demo'", "")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_it_registers_and_removes_no_other(one_agent: Gateway, method: str) -> None:
    problem_in(one_agent.client.request(method, "/agents/other", json={}), 403, "AGENT_NOT_ALLOWED")


def test_it_uses_the_one_it_may(one_agent: Gateway) -> None:
    assert [event["type"] for event in one_agent.run("echo")][-1] == "RUN_FINISHED"


def test_it_opens_no_websocket_to_another(one_agent: Gateway) -> None:
    url = one_agent.url.replace("http", "ws") + "/agents/demo/socket"
    headers = {"authorization": f"Bearer {token_of('ann')}"}
    with pytest.raises(InvalidStatus, match="404"), connect(url, additional_headers=headers):
        pass


def test_it_follows_and_cancels_no_run_of_another(one_agent: Gateway) -> None:
    """The token could use all agents once: its principal has runs of another agent."""
    tokens = one_agent.log.parent.parent / "tokens.json"
    scopes = frozenset({"read", "run", "admin"})
    headers = {"authorization": f"Bearer {token_of('all')}"}
    body = run_input("hello", runId="demos")
    assert one_agent.client.post("/agents/demo", json=body, headers=headers).status_code == 200
    write_tokens(tokens, ann={"agents": frozenset({"echo"}), "scopes": scopes}, all={"agents": frozenset({"echo"})})

    def follow() -> int:
        return one_agent.client.get("/runs/demos/events", headers=headers).status_code

    deadline = time.monotonic() + 10
    while follow() == 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    problem_in(one_agent.client.get("/runs/demos/events", headers=headers), 404, "UNKNOWN_AGENT")
    problem_in(one_agent.client.post("/runs/demos/cancel", headers=headers), 404, "UNKNOWN_AGENT")
