"""The scripted model server as a process of its own, and what it has seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

import httpx

from tests.fakes.model_server.conversation import Json

ROOT = Path(__file__).resolve().parents[3]
STOP_LIMIT = 10.0
ANSWER_LIMIT = 10.0


class ModelServer:
    """`with ModelServer() as models:` serves at `models.url` until the end of the block."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def __enter__(self) -> ModelServer:
        command = [sys.executable, "-m", "tests.fakes.model_server", "--port", "0"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(f"the scripted model server did not start: exit {self._process.wait(STOP_LIMIT)}")
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process is not None and self._process.stdout is not None
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def requests(self) -> list[Json]:
        """Everything that was asked, oldest first: `number`, `method`, `path`, `headers`, `body`."""
        found: list[Json] = httpx.get(f"{self.url}/requests", timeout=ANSWER_LIMIT).json()
        return found

    def forget(self) -> None:
        httpx.delete(f"{self.url}/requests", timeout=ANSWER_LIMIT).raise_for_status()
