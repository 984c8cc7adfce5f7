"""A gateway with scripted ACP agents as real processes, and a client that behaves as the official one.

Every stream that a test gets from here has passed AG-UI's models and ordering rules.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from gateway.agui.history import History
from gateway.events import Wire
from tests.agui.replay import accepted
from tests.drivers.process_watch import running
from tests.support.gateway import Gateway, events_of, run_input, text_of

ROOT = Path(__file__).parents[3]
OPTIONS = ("model", "mode", "effort", "approvals", "cwd", "additionalDirectories", "sessionId", "forkSessionId")


class Stage(Gateway):
    """Agents are written before it starts. `settings` by the names they have in `Settings`."""

    def __init__(self, home: Path, *flags: str, **settings: Any) -> None:
        self.agents, self.workspace, self._logs = home / "agents", home / "workspace", home / "logs"
        for folder in (self.agents, self.workspace, self._logs):
            folder.mkdir(parents=True, exist_ok=True)
        env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
        places = ("--agents", str(self.agents), "--workspace", str(self.workspace))
        super().__init__(home, *places, *flags, env=env)

    def __enter__(self) -> Stage:
        self.start()
        return self

    def agent(self, name: str, *flags: str, **more: Any) -> Stage:
        """`more`: keys of the agent's file, over those that every one here has."""
        keys = {"id": name, "driver": "acp", "identity": {"name": name}, "options": OPTIONS}
        keys |= {"command": self.command(name, *flags)}
        lines = [f"{key} = {toml(value)}" for key, value in (keys | more).items()]
        (self.agents / f"{name}.toml").write_text("\n".join(lines), "utf-8")
        return self

    def command(self, name: str, *flags: str) -> dict[str, Any]:
        run = [sys.executable, "-S", "-m", "tests.fakes.acp_agent", f"--log={self._logs / name}", *flags]
        return {"run": run, "env": {"PYTHONPATH": str(ROOT)}}

    def state(self, name: str) -> str:
        """The flag of an agent whose sessions outlive its process."""
        return f"--state={self._logs / name}.sessions"

    def processes(self, name: str) -> list[int]:
        """Process ids of this agent and of its supervisors that run now."""
        return running(f"--log={self._logs / name}")

    def received(self, agent: str, session: str | None = None, method: str | None = None) -> list[Wire]:
        """The messages that the agent's processes received: all, those of one session, or those of one method."""
        log = self._logs / agent
        sent = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
        if session is not None:
            sent = [message for message in sent if (message.get("params") or {}).get("sessionId") == session]
        return [message for message in sent if method is None or message.get("method") == method]

    def prompts(self, agent: str, session: str) -> list[str]:
        """The prompts of a session, turn by turn."""
        prompts = [message["params"]["prompt"] for message in self.received(agent, session, "session/prompt")]
        return ["\n".join(block.get("text", block["type"]) for block in blocks) for blocks in prompts]

    def asks(self, path: str, body: Any = None, status: int = 200) -> Any:
        """GET, or POST with a body. The JSON of the response."""
        response = self.client.get(path) if body is None else self.client.post(path, json=body)
        return answered(response, status)


def answered(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def toml(value: Any) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return json.dumps(value)


class Talk:
    """One thread, as a client has it: every run sends the whole conversation."""

    def __init__(self, stage: Stage, agent: str = "plain", **options: Any) -> None:
        self.stage, self.agent, self.id = stage, agent, f"thread-{uuid4().hex[:8]}"
        self.runs: list[str] = []
        self._props = {"gateway": options} if options else {}
        self._history = History()

    def say(self, text: str, **fields: Any) -> list[Wire]:
        """One run to its end."""
        return self._play(self.input(text, **fields))

    def resume(self, *answers: Wire) -> list[Wire]:
        return self._play(self._body(resume=list(answers)))

    def input(self, text: str, **fields: Any) -> dict[str, Any]:
        self._history.add_input([{"id": uuid4().hex, "role": "user", "content": text}])
        return self._body(**fields)

    @contextmanager
    def streaming(self, text: str, **fields: Any) -> Iterator[Iterator[Wire]]:
        """A run, event by event. Leaving the block closes the connection."""
        body = self.input(text, **fields)
        with self.stage.client.stream("POST", f"/agents/{self.agent}", json=body) as response:
            assert response.status_code == 200, response.read()
            yield (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))

    def copy(self, thread_id: str) -> Talk:
        """The same conversation on another thread."""
        talk = Talk(self.stage, self.agent)
        talk.id, talk._history = thread_id, History(self._history.messages)
        return talk

    def cancel(self) -> str:
        status: str = self.stage.client.post(f"/runs/{self.runs[-1]}/cancel").json()["status"]
        return status

    @property
    def path(self) -> str:
        return f"/agents/{self.agent}/threads/{self.id}"

    @property
    def session(self) -> str:
        """The agent's own session id."""
        session_id: str = self.stage.asks(self.path)["sessionId"]
        return session_id

    @property
    def prompts(self) -> list[str]:
        return self.stage.prompts(self.agent, self.session)

    def _body(self, **fields: Any) -> dict[str, Any]:
        self.runs.append(f"run-{uuid4().hex[:8]}")
        fields_of_run = {"threadId": self.id, "runId": self.runs[-1], "messages": self._history.messages}
        return run_input(**{**fields_of_run, "forwardedProps": self._props, **fields})

    def _play(self, body: dict[str, Any]) -> list[Wire]:
        response = self.stage.post(self.agent, body)
        assert response.status_code == 200, response.text
        events = accepted(events_of(response.text))
        for event in events:
            self._history.feed(event)
        return events


def pid_of(session: str) -> int:
    """The ids of the fake's sessions end with its process id."""
    return int(session.rpartition("-")[2])


def of_type(events: list[Wire], *kinds: str) -> list[Wire]:
    return [event for event in events if event["type"] in kinds]


def custom(events: list[Wire], name: str) -> list[Any]:
    return [event["value"] for event in events if event["type"] == "CUSTOM" and event["name"] == name]


def warnings_of(events: list[Wire]) -> list[str]:
    return [value["code"] for value in custom(events, "gateway.warning")]


def json_of(events: list[Wire]) -> Any:
    """The agent's text, as JSON."""
    return json.loads(text_of(events))


def outcome_of(events: list[Wire]) -> str:
    """success, interrupt, cancelled, or the code of the error."""
    last = events[-1]
    code: str = last["code"] if last["type"] == "RUN_ERROR" else last.get("outcome", {"type": "success"})["type"]
    return code
