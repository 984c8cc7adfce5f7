"""`agui-gateway audit`, against a running gateway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.commands.audit import to_line, to_time
from gateway.errors import ConfigError
from tests.attacks.principals import write_tokens
from tests.support.gateway import Gateway

LIMIT_SECONDS = 60


def audit(gateway: Gateway, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway", "audit", "--url", gateway.url, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env={**os.environ})


def test_entries_are_lines_for_people_and_for_programs(gateway: Gateway) -> None:
    events = gateway.run("echo", "hello", threadId="audit-cli")
    shown = audit(gateway, "--action", "run.start", "--since", "1h")
    assert shown.returncode == 0, shown.stderr
    assert f"local  run.start  echo/audit-cli/{events[0]['runId']}" in shown.stdout
    entries = [json.loads(line) for line in audit(gateway, "--json", "--principal", "local").stdout.splitlines()]
    assert {entry["principal"] for entry in entries} == {"local"}
    assert "audit-cli" in [entry.get("threadId") for entry in entries]


def test_following_shows_what_happens_now(gateway: Gateway) -> None:
    command = [sys.executable, "-m", "gateway", "audit", "--url", gateway.url, "--follow", "--json", "--action", "run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        try:
            gateway.run("echo", "hello", threadId="audit-now")
            found = next(line for line in process.stdout if "audit-now" in line)
        finally:
            process.terminate()
    assert json.loads(found)["action"] == "run.start"


def test_without_admin_it_says_what_is_needed(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", ("ann",))
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as gateway:
        refused = audit(gateway, "--token-file", str(tokens))
    assert refused.returncode == 1
    assert "admin" in refused.stderr and "Traceback" not in refused.stderr


def test_a_gateway_that_is_not_there_is_one_line() -> None:
    command = [sys.executable, "-m", "gateway", "audit", "--url", "http://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env={**os.environ})
    assert done.returncode == 1
    assert "cannot be reached" in done.stderr and "Traceback" not in done.stderr


def test_control_characters_of_agents_do_not_reach_the_terminal() -> None:
    entry = {"number": 1, "at": "now", "principal": "a\x1b[2J", "action": "run.start", "threadId": "t\n2"}
    assert to_line(entry) == "1  now  a·[2J  run.start  t·2"


@pytest.mark.parametrize("text", ["yesterday", "5", "1y", ""])
def test_a_time_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--since"):
        to_time(text)
