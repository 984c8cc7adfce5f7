"""ACP by hand: an agent as a process, requests to it, and what it says meanwhile. It shares no code with the gateway.

In: a command and an environment. Out: answers, and everything the agent sent before them. Permissions are given once;
whatever else the agent asks is refused.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from tests.live.recipes import Ready

Json: TypeAlias = dict[str, Any]
STOP_LIMIT = 5.0


class NoAnswer(Exception):
    """The agent was silent for too long, or is gone."""


@dataclass(slots=True)
class Heard:
    """One answer and what came before it."""

    result: Json | None = None
    error: Json | None = None
    updates: list[Json] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """Methods that the agent called."""
    noise: list[str] = field(default_factory=list)
    """Lines that are not JSON."""

    def text(self, kind: str = "agent_message_chunk") -> str:
        chunks = (update["content"] for update in self.updates if update["sessionUpdate"] == kind)
        return "".join(content.get("text", "") for content in chunks)


class StdioAgent:
    """`with StdioAgent(ready, cwd) as agent:` ends the process, and all that it left behind, with the block."""

    def __init__(self, ready: Ready, cwd: Path) -> None:
        self._home = ready.env["HOME"]
        self._errors = (cwd.parent / "stderr.txt").open("w")
        self._process = subprocess.Popen(
            ready.command,
            cwd=cwd,
            env=ready.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._next = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> StdioAgent:
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pid in at_home(self._home):
            os.kill(pid, signal.SIGKILL)
        self._reader.join(STOP_LIMIT)
        self._process.stdout.close()
        self._errors.close()

    def call(self, method: str, params: Json, limit: float = 60.0) -> Heard:
        self._next += 1
        number = self._next
        self._send({"id": number, "method": method, "params": params})
        heard = Heard()
        for message in self._messages(heard, time.monotonic() + limit):
            if "method" not in message and message.get("id") == number:
                heard.result, heard.error = message.get("result"), message.get("error")
                return heard
            self._hear(message, heard)
        raise NoAnswer(f"no answer to {method} in {limit:.0f} s")

    def listen(self, seconds: float) -> Heard:
        """What comes unasked."""
        heard = Heard()
        for message in self._messages(heard, time.monotonic() + seconds):
            self._hear(message, heard)
        return heard

    def _messages(self, heard: Heard, until: float) -> Iterator[Json]:
        while (left := until - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return
            if line is None:
                raise NoAnswer("the agent is gone")
            try:
                yield json.loads(line)
            except ValueError:
                heard.noise.append(line.decode(errors="replace").rstrip())

    def _hear(self, message: Json, heard: Heard) -> None:
        match message:
            case {"method": "session/update", "params": {"update": dict(update)}}:
                heard.updates.append(update)
            case {"method": str(method), "id": number}:
                heard.asked.append(method)
                self._send({"id": number, **self._reply(method, message["params"])})

    def _reply(self, method: str, params: Json) -> Json:
        if method != "session/request_permission":
            return {"error": {"code": -32601, "message": "not offered"}}
        once = next(option for option in params["options"] if option["kind"] == "allow_once")
        return {"result": {"outcome": {"outcome": "selected", "optionId": once["optionId"]}}}

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


def at_home(home: str) -> list[int]:
    """The processes that have this home (Linux): some agents leave daemons in sessions of their own, which the end of
    their process group does not reach."""
    wanted = f"HOME={home}".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found
