"""A real gateway as a real process on a free port, and what a client does with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

import httpx

START_LIMIT = 30.0
STOP_LIMIT = 30.0
ANSWER_LIMIT = 30.0


class Gateway:
    """`agui-gateway serve` with a store and a home of its own."""

    def __init__(
        self,
        home: Path,
        *flags: str,
        store: str | None = None,
        env: dict[str, str] | None = None,
        xdg: bool = True,
        trust: bool = True,
        prefix: Sequence[str] = (),
    ) -> None:
        """`xdg`: its own data folder, which agents inherit; without, theirs are below the home that `env` names.
        `trust`: its workspaces are trusted, so that no run asks about them. `prefix`: a command that
        runs it, as another user for instance."""
        self._prefix = prefix
        self.workspace = home / "workspace"
        """Where it is started, and so where its agents work: its own files must not be there."""
        self.workspace.mkdir(parents=True, exist_ok=True)
        trusted = _trust_flags(self.workspace, flags) if trust else []
        self._flags = (*flags, *trusted, "--store", store or f"sqlite://{home / 'gateway.db'}")
        config = {"XDG_CONFIG_HOME": str(home / "config")} if xdg else {}
        own = {"AGUI_GATEWAY_SANDBOX": forced_sandbox() or "none", **({"XDG_DATA_HOME": str(home)} if xdg else {})}
        self._env = {**own, **config, **(env or {})}
        self._process: subprocess.Popen[str] | None = None
        self.url = ""
        self.client = httpx.Client(timeout=ANSWER_LIMIT)
        self.log = home / "stderr.txt"

    def start(self, port: int = 0) -> Gateway:
        """`port`: 0 for any."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("AGUI_GATEWAY_")}
        environ |= {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **self._env}
        with self.log.open("a") as stderr:
            self._process = subprocess.Popen(
                [*self._prefix, sys.executable, "-m", "gateway", "serve", "--port", str(port), *self._flags],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environ,
                cwd=self.workspace,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        if "http://" not in first:
            self._process.wait(START_LIMIT)
            raise AssertionError(f"the gateway did not start: {first}{self.log.read_text()}")
        self.url = "http://" + first.split("http://")[1].strip()
        self.client.base_url = httpx.URL(self.url)
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def banner(self) -> str:
        """What it prints after the first line, until it says how to stop it."""
        assert self._process is not None and self._process.stdout is not None
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        return "".join(lines)

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._wait()

    def kill(self) -> None:
        """`kill -9`."""
        assert self._process is not None
        self._process.kill()
        self._wait()

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _wait(self) -> int:
        assert self._process is not None
        code = self._process.wait(STOP_LIMIT)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None
        return code

    def __enter__(self) -> Gateway:
        return self.start()

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.client.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._wait()
            except subprocess.TimeoutExpired:
                self.kill()

    # -- as a client

    def post(self, agent: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        return self.client.post(f"/agents/{agent}", json=body, headers=headers)

    def run(self, agent: str, text: str | list[dict[str, Any]] = "hello", **fields: Any) -> list[dict[str, Any]]:
        """One run to its end; its events."""
        response = self.post(agent, run_input(text, **fields))
        assert response.status_code == 200, response.text
        return events_of(response.text)

    @contextmanager
    def stream(self, agent: str, text: str = "hello", **fields: Any) -> Iterator[Iterator[dict[str, Any]]]:
        """A run, event by event, as it comes."""
        body = run_input(text, **fields)
        with self.client.stream("POST", f"/agents/{agent}", json=body) as response:
            assert response.status_code == 200, response.read()
            yield (json.loads(line[6:]) for line in response.iter_lines() if line.startswith("data: "))


def forced_sandbox() -> str | None:
    """With AGUI_TEST_SANDBOX=bubblewrap, agents of the live tests and of the benchmark run in the sandbox. Those of the
    other tests cannot: fake agents are modules of this repository, which a sandbox does not show."""
    return os.environ.get("AGUI_TEST_SANDBOX") or None


def _trust_flags(home: Path, flags: tuple[str, ...]) -> list[str]:
    named = [flags[index + 1] for index, flag in enumerate(flags) if flag == "--workspace"]
    return [part for folder in named or [str(home)] for part in ("--trust", folder)]


def run_input(text: str | list[dict[str, Any]] = "hello", **fields: Any) -> dict[str, Any]:
    """What the official client sends; any field may be given."""
    body: dict[str, Any] = {
        "threadId": f"thread-{uuid4().hex[:8]}",
        "runId": f"run-{uuid4().hex[:8]}",
        "protocolVersion": "1.0",
        "state": {},
        "messages": [{"id": uuid4().hex, "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    body.update(fields)
    return {key: value for key, value in body.items() if value is not ...}


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of an SSE body, by the rules of the official client."""
    frames = [frame for frame in text.split("\n\n") if frame and not frame.startswith(":")]
    return [json.loads(line[6:]) for frame in frames for line in frame.split("\n") if line.startswith("data: ")]


def numbers_of(text: str) -> list[int]:
    return [int(line[4:]) for line in text.split("\n") if line.startswith("id: ")]


def types_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
