"""A gateway whose workspace is not trusted, with fake agents, and a client that answers its question."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.gateway import Gateway
from tests.support.project import ROOT

CONFIGURATION = '[trust.configuration]\nsettings = [".fake/settings.json"]\nplugins = [".fake/plugins/**"]\n'
TRUST_TABLES = {
    "restricted": f'[trust]\nuntrusted_start = "restricted"\n{CONFIGURATION}'
    '[trust.untrusted]\nargs = ["--ignore-project"]\n[trust.trusted]\nargs = ["--skip-trust"]\n',
    "clean": f'[trust]\nuntrusted_start = "clean"\n{CONFIGURATION}',
    "unknown": "",
}
"""Agent → its table; the last one is an agent that a user has registered."""

FILE = """id = "{name}"
driver = "cli"
options = ["cwd", "additionalDirectories", "mode"]
[identity]
name = "{name}"
[command]
run = ["{program}"]
env = {{ START_LOG = "{log}" }}
[cli]
dialect = "text"
process = "turn"
transport = "stdio-raw"
{trust}
"""


class TrustStage(Gateway):
    """No sandbox: trust has to keep its promise alone."""

    def __init__(self, home: Path, *flags: str, env: dict[str, str] | None = None) -> None:
        workspace = home / "workspace"
        places = ("--agents", str(home / "agents"), "--workspace", str(workspace), "--sandbox", "none")
        super().__init__(home / "gateway", *places, *flags, env=env, trust=False)
        self.home = home
        self.workspace, self.agents = workspace, home / "agents"
        self.canary, self.start_log = home / "canary", home / "starts.jsonl"
        for folder in (self.workspace, self.agents):
            folder.mkdir(parents=True, exist_ok=True)
        program = home / "fake-agent"
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -S -m tests.attacks.fake_agent "$@"\n')
        program.chmod(0o755)
        for name, table in TRUST_TABLES.items():
            text = FILE.format(name=name, program=program, log=self.start_log, trust=table)
            (self.agents / f"{name}.toml").write_text(text)

    def plant(self, folder: Path | None = None) -> None:
        """What an attacker puts into a repository."""
        settings = (folder or self.workspace) / ".fake" / "settings.json"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps({"hooks": {"start": f"touch {self.canary}"}}))

    def starts(self) -> list[dict[str, Any]]:
        """What each process of an agent was started with."""
        return [json.loads(line) for line in self.start_log.read_text().splitlines()] if self.start_log.exists() else []

    @property
    def trust_file(self) -> Path:
        return self.home / "gateway" / "agui-gateway" / "trust.json"

    def ask(self, agent: str, thread: str = "t", **gateway_options: Any) -> dict[str, Any]:
        """The question of a run."""
        events = self.run(agent, "hello", threadId=thread, forwardedProps={"gateway": gateway_options})
        return question_of(events)

    def answer(self, agent: str, question: dict[str, Any], option: Any, thread: str = "t") -> list[dict[str, Any]]:
        payload = {"optionId": option} if isinstance(option, str) else option
        entry = {"interruptId": question["id"], "status": "resolved", "payload": payload}
        return self.run(agent, "hello", threadId=thread, messages=[], resume=[entry])


def question_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = events[-1]
    assert last["type"] == "RUN_FINISHED", last
    [interrupt] = last["outcome"]["interrupts"]
    assert interrupt["reason"] == "gateway:workspace_trust", interrupt
    question: dict[str, Any] = interrupt
    return question
