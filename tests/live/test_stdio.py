"""The hand-made ACP client and MCP server that the agents are tried with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.live.probe import MCP_SERVER, shouting
from tests.live.recipes import Ready
from tests.live.stdio import NoAnswer, StdioAgent, at_home

AGENT = """
import json, os, subprocess, sys
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
if "--daemon" in sys.argv:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "session/prompt":
        print("not JSON", flush=True)
        text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
        send(method="session/update", params={"sessionId": "s", "update": text})
        options = [{"optionId": "a", "kind": "allow_always"}, {"optionId": "o", "kind": "allow_once"}]
        send(id=7, method="session/request_permission", params={"options": options})
        asked = message["id"]
    elif message.get("id") == 7:
        send(id=8, method="fs/read_text_file", params={})
        outcome = message["result"]["outcome"]
    elif message.get("id") == 8:
        send(id=asked, result={"outcome": outcome, "refused": message["error"]["code"]})
"""


def agent(home: Path, *flags: str) -> StdioAgent:
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    return StdioAgent(Ready((sys.executable, "-c", AGENT, *flags), {"HOME": str(home)}), workspace)


def test_permissions_are_given_once_and_all_else_is_refused(tmp_path: Path) -> None:
    with agent(tmp_path / "home") as talking:
        heard = talking.call("session/prompt", {})
    assert heard.result == {"outcome": {"outcome": "selected", "optionId": "o"}, "refused": -32601}
    assert heard.text() == "hi"
    assert heard.asked == ["session/request_permission", "fs/read_text_file"]
    assert heard.noise == ["not JSON"]


def test_silence_is_told_as_such(tmp_path: Path) -> None:
    with agent(tmp_path / "home") as talking, pytest.raises(NoAnswer, match="no answer to initialize"):
        talking.call("initialize", {}, limit=0.05)


def test_a_daemon_that_left_the_process_group_is_ended_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with agent(home, "--daemon") as talking:
        talking.call("session/prompt", {})
        assert len(at_home(str(home))) == 2
    assert at_home(str(home)) == []


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


def test_the_mcp_server_says_over_stdio() -> None:
    line = json.dumps(CALL | {"params": {"name": "say", "arguments": {"text": "hi"}}})
    command = [sys.executable, str(MCP_SERVER)]
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=30, check=True)
    assert json.loads(done.stdout)["result"]["content"] == [{"type": "text", "text": "say: hi"}]


def test_the_mcp_server_shouts_over_http() -> None:
    with shouting() as url:
        told = httpx.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()
        assert [tool["name"] for tool in told["result"]["tools"]] == ["shout"]
        assert httpx.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 202
        assert httpx.get(url).status_code == 405
