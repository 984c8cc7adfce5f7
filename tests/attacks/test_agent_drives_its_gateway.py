"""An agent that calls the gateway which runs it, as the user whom the gateway trusts.

The incident: an agent runs with the rights of the gateway's user, so a gateway that trusts this user trusts the agent:
a prompt in a file it reads makes it register an agent, answer its own approvals, or read other threads.

The promise: a call from any process that the gateway started, directly or not, daemons included, is refused; by the
local token too, which an agent could read. The same command, run by the person beside it, passes.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.callers import GATEWAY_UID, UserGateway, curl_as, needs_other_users
from tests.support.gateway import ANSWER_LIMIT, Gateway, text_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the owner of a socket is known on Linux only")

CALL = "curl -sS --max-time 10 -w ' %{{http_code}}' {url}/agents/owned {flags}"
DEFINITION = '{"driver": "acp", "identity": {"name": "x"}, "command": {"run": ["id"]}}'
PUT = f"-X PUT -H 'content-type: application/json' -d '{DEFINITION}'"
DAEMON = """
import os, sys, subprocess
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        found = subprocess.run(sys.argv[2:], capture_output=True, text=True).stdout
        with open(sys.argv[1] + ".part", "w") as file: file.write(found)
        os.rename(sys.argv[1] + ".part", sys.argv[1])
    os._exit(0)
"""
UNDUMPABLE = """
import ctypes, signal, socket, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"GET /agents HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n")
print(connection.makefile().readline(), flush=True)
if sys.argv[2:]:
    signal.pause()
"""


@pytest.fixture
def armed(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(tmp_path / "home") as gateway:
        yield gateway


def register(gateway: Gateway, script: str) -> None:
    """The agent `armed`, whose turn is this script."""
    definition = {
        "driver": "cli",
        "cli": {"dialect": "text", "process": "turn", "transport": "stdio-raw"},
        "command": {"run": ["/bin/sh", "-c", script]},
        "identity": {"name": "armed"},
    }
    response = gateway.client.put("/agents/armed", json=definition)
    assert response.status_code in (200, 201), response.text


def say(gateway: Gateway, script: str) -> str:
    """What an agent with this script prints, run by the gateway."""
    register(gateway, script)
    return text_of(gateway.run("armed", "go"))


def call(gateway: Gateway, flags: str = PUT) -> str:
    return CALL.format(url=gateway.url, flags=flags)


def test_an_agent_registers_no_agent(armed: Gateway) -> None:
    printed = say(armed, call(armed))
    assert "AGENT_REFUSED" in printed and printed.strip().endswith("403")
    assert "may not drive the gateway that runs it" in printed
    assert armed.client.get("/agents/owned").status_code == 404


def test_an_agents_grandchild_reads_nothing(armed: Gateway) -> None:
    inner = shlex.quote(call(armed, ""))
    printed = say(armed, f"sh -c 'setsid sh -c \"$0\"' {inner}")
    assert "AGENT_REFUSED" in printed


def test_a_daemon_of_an_agent_is_still_the_agents(armed: Gateway, tmp_path: Path) -> None:
    """It has left its session and lost its parents; the agent's supervisor has adopted it."""
    found = tmp_path / "found"
    curl = " ".join(map(shlex.quote, [sys.executable, "-c", DAEMON, str(found), "sh", "-c", call(armed, "")]))
    printed = say(armed, f"{curl}; while [ ! -e {found} ]; do sleep 0.02; done; cat {found}")
    assert "AGENT_REFUSED" in printed


def test_an_agent_that_hides_its_files_is_refused_too(armed: Gateway, tmp_path: Path) -> None:
    script = tmp_path / "hidden.py"
    script.write_text(UNDUMPABLE)
    port = armed.url.rpartition(":")[2]
    assert " 403 " in say(armed, f"{sys.executable} {script} {port}")


@needs_other_users
def test_a_gateway_without_rights_refuses_what_it_cannot_look_into(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Root sees the files of every process. Another user does not see those of an agent that has hidden them."""
    folder = tmp_path_factory.mktemp("hidden")
    for parent in (folder, folder.parent, folder.parent.parent):
        parent.chmod(0o755)
    script = folder / "hidden.py"
    script.write_text(UNDUMPABLE)
    with UserGateway(folder / "home", GATEWAY_UID) as gateway:
        port = gateway.url.rpartition(":")[2]
        printed = say(gateway, f"{sys.executable} {script} {port}")
        assert " 403 " in printed
        register(gateway, f"{sys.executable} {script} {port} stay")
        with gateway.stream("armed") as events:
            assert any(" 403 " in event.get("delta", "") for event in events)
            assert curl_as(GATEWAY_UID, f"{gateway.url}/agents/owned")[0] == 404, "the person beside it passes"


def test_the_person_beside_it_passes_meanwhile(armed: Gateway, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with armed.client.stream("GET", "/agents") as before:
        assert before.status_code == 200
    register(armed, f"echo started; while [ ! -e {go} ]; do sleep 0.02; done")
    with armed.stream("armed") as events:
        assert any(event["type"] == "TEXT_MESSAGE_CONTENT" for event in events)
        done = subprocess.run(["sh", "-c", call(armed, "")], capture_output=True, text=True, timeout=ANSWER_LIMIT)
        assert "UNKNOWN_AGENT" in done.stdout
        go.touch()


def test_an_agent_is_refused_with_the_local_token_as_well(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Gateway(home, env={"AGUI_GATEWAY_LOCAL_AUTH": "token"}) as gateway:
        file = home / "agui-gateway" / "local-token"
        gateway.client.headers["authorization"] = f"Bearer {file.read_text().strip()}"
        header = f'-H "authorization: Bearer $(cat {file})"'
        assert "AGENT_REFUSED" in say(gateway, call(gateway, header))
