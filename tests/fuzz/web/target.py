"""The gateway that is fuzzed: a real process with the bundled demo agents, a scripted ACP agent and a Python agent.

In: a folder. Out: a running gateway with a token that may do everything, and limits out of the way; afterwards the
tracebacks in its log.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.fuzz.web.client import Fuzzer, Report
from tests.fuzz.web.requests import TOKEN
from tests.support.gateway import Gateway
from tests.support.project import ROOT
from tests.web.agent_folder import write_agent

SETTINGS = {
    "max_requests_per_second": "1000000",
    "max_failed_logins": "1000000",
    "max_runs": "4000",
    "session_idle_timeout": "20",
    "interrupt_ttl": "20",
    "stall_timeout": "20",
    "log_tail_bytes": "65536",
}
PYTHON_AGENT = """
from gateway.events import TextMessageContent, TokenUsage

async def agent(turn):
    yield TextMessageContent(turn.text or "nothing")
    yield TokenUsage(model="small", input_tokens=1, output_tokens=1)
"""
FAKE = """
id = "fake"
driver = "acp"
options = ["model", "mode", "effort", "approvals", "cwd", "additionalDirectories", "sessionId", "forkSessionId"]
[identity]
name = "Fake"
[command]
run = [{python}, "-S", "-m", "tests.fakes.acp_agent", "--full"]
env = {{ PYTHONPATH = {root} }}
[[models]]
id = "small"
default = true
"""
TRACEBACK = re.compile(r"Traceback \(most recent call last\)")


@contextmanager
def open_target(home: Path) -> Iterator[Gateway]:
    agents = home / "agents"
    write_agent(agents, "python", PYTHON_AGENT)
    fake = FAKE.format(python=f'"{sys.executable}"', root=f'"{ROOT}"')
    (agents / "fake.toml").write_text(fake, "utf-8")
    tokens = home / "tokens.txt"
    tokens.write_text(f"fuzz:{TOKEN}\n", "utf-8")
    tokens.chmod(0o600)
    workspace = home / "workspace"
    workspace.mkdir()
    env = {f"AGUI_GATEWAY_{name.upper()}": value for name, value in SETTINGS.items()}
    folders = ("--agents", str(agents), "--workspace", str(workspace))
    with Gateway(home / "gateway", *folders, "--token-file", str(tokens), env=env) as gateway:
        yield gateway


def fuzz_gateway(home: Path, seed: int, requests: int, frames: int) -> Report:
    """Sends the cases, and holds the gateway's log and health against what was promised."""
    with open_target(home) as gateway:
        port = httpx.URL(gateway.url).port
        assert port is not None
        fuzzer = Fuzzer(port, seed)

        async def send() -> None:
            await fuzzer.send_requests(requests)
            await fuzzer.send_frames(frames)

        asyncio.run(send())
        report = fuzzer.report
        if gateway.client.get("/readyz").json()["status"] != "ready":
            report.failures.append("the gateway is not ready any more")
        log = gateway.log.read_text("utf-8", "replace")
        report.failures += [f"in the log: {log[at.start() : at.start() + 3000]}" for at in TRACEBACK.finditer(log)][:10]
    return report
