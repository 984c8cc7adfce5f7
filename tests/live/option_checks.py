"""What a real agent makes of the options of a run: the request that its model gets, and the command lines of its
processes.

In: an agent's bundled definition, its real program, the scripted model. Out: `LiveAgent`, which runs prompts with
options and returns what arrived. Each prompt has a mark of its own, so that the model's requests about titles and
summaries are told apart from those of the turn.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.support.gateway import Gateway, events_of, run_input, text_of


@dataclass(frozen=True, slots=True)
class Seen:
    """One run to its end."""

    events: list[dict[str, Any]]
    requests: list[dict[str, Any]]
    """Bodies of the requests with this run's prompt that the model got, oldest first."""
    paths: list[str]
    """The paths of all requests of the run: some providers have the model's name there."""
    command_lines: list[str]
    """Of the gateway's processes after the run, arguments joined by spaces."""

    @property
    def text(self) -> str:
        return text_of(self.events)

    @property
    def request(self) -> dict[str, Any]:
        """The request that began the turn. Others ask for a title, without tools."""
        assert self.requests, f"the model was not asked: {self.events[-1]}"
        return next((request for request in self.requests if request.get("tools")), self.requests[0])

    @property
    def asked(self) -> str:
        """The request that began the turn, as text."""
        return json.dumps(self.request)

    @property
    def warnings(self) -> list[str]:
        return [event["value"]["code"] for event in self.events if event.get("name") == "gateway.warning"]


@dataclass(slots=True)
class LiveAgent:
    """A real agent behind a real gateway."""

    name: str
    gateway: Gateway
    models: ModelServer
    home: Path
    """The agent's home directory is `home/home`, its workspace `home/work`."""
    thread_id: str = field(default_factory=lambda: f"t-{uuid4().hex[:8]}")

    @property
    def workspace(self) -> Path:
        return self.home / "work"

    @property
    def session_id(self) -> str:
        """The agent's own id of the current thread's session."""
        threads = self.gateway.client.get(f"/agents/{self.name}/threads").json()["threads"]
        return str(next(each["sessionId"] for each in threads if each["threadId"] == self.thread_id))

    @property
    def snapshot(self) -> dict[str, Any]:
        """The capabilities of the current thread."""
        answer = self.gateway.client.get(f"/agents/{self.name}/capabilities", params={"thread": self.thread_id})
        snapshot: dict[str, Any] = answer.json()
        return snapshot

    def view(self, name: str) -> dict[str, Any]:
        """The agent's capabilities as another document writes them: `acp`, `mux`, `relay`."""
        answer = self.gateway.client.get(f"/agents/{self.name}/capabilities", params={"view": name})
        view: dict[str, Any] = answer.json()
        return view

    def new_thread(self) -> None:
        self.thread_id = f"t-{uuid4().hex[:8]}"

    def post(self, prompt: str, **options: Any) -> httpx.Response:
        """A run in the current thread, as the server answers it: also a refusal."""
        body = run_input(prompt, threadId=self.thread_id, forwardedProps={"gateway": options})
        return self.gateway.client.post(f"/agents/{self.name}", json=body, timeout=120)

    def run(self, prompt: str = "hello", **options: Any) -> Seen:
        """A run in the current thread, which must end without an error."""
        mark = uuid4().hex[:8]
        response = self.post(f"{prompt} [{mark}]", **options)
        assert response.status_code == 200, response.text
        events = events_of(response.text)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        requests = [request for request in self.models.requests() if mark in json.dumps(request["body"])]
        bodies, paths = [request["body"] for request in requests], [request["path"] for request in requests]
        return Seen(events, bodies, paths, command_lines_below(self.gateway.pid))

    def refusal(self, **options: Any) -> dict[str, Any]:
        """The problem that a run with these options is refused with, before anything is started."""
        response = self.post("hello", **options)
        assert response.status_code == 422, response.text
        problem: dict[str, Any] = response.json()
        return problem


@contextmanager
def live_agent(name: str, models: ModelServer, home: Path, *flags: str) -> Iterator[LiveAgent]:
    with bundled_behind_gateway(name, models.url, home, *flags) as gateway:
        yield LiveAgent(name, gateway, models, home)


def write_skill(folder: Path, name: str, instructions: str) -> Path:
    """A directory with a skill in the format that all agents share (https://agentskills.io)."""
    folder.mkdir(parents=True, exist_ok=True)
    head = f"---\nname: {name}\ndescription: Knows about {name}. Use it when {name} is needed.\n---\n"
    (folder / "SKILL.md").write_text(f"{head}\n{instructions}\n")
    return folder


def command_lines_below(pid: int) -> list[str]:
    """The command lines of a process's children, grandchildren and so on."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    below: list[int] = []
    ahead = [pid]
    while ahead:
        parent = ahead.pop()
        children = [child for child, of in parents.items() if of == parent]
        below += children
        ahead += children
    return [line for child in below if (line := _command_line(child))]


def _command_line(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def value_at(body: Any, path: str) -> Any:
    """The value at a dotted path of a JSON document; None: there is none."""
    for key in path.split("."):
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict):
            body = body.get(key)
        else:
            return None
    return body
