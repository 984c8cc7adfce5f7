"""Several principals at one gateway: each is a client with a token of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from gateway.events import Wire
from tests.support.gateway import ANSWER_LIMIT, Gateway, events_of, run_input, text_of

SCOPES = {"ann": "read,run", "bob": "read,run", "root": "read,run,approve,programs,admin"}


def write_tokens(folder: Path, names: Sequence[str] = tuple(SCOPES)) -> Path:
    """A token file with these principals: `ann` and `bob` may read and run, `root` may do everything."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tokens.txt"
    path.write_text("".join(f"{name}[{SCOPES[name]}]:{token_of(name)}\n" for name in names), "utf-8")
    path.chmod(0o600)
    return path


def token_of(name: str) -> str:
    return f"{name}-0123456789abcdef0123456789abcdef"


class Principal:
    """One caller of a gateway."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self.name = name
        self.client = httpx.Client(
            base_url=gateway.url, timeout=ANSWER_LIMIT, headers={"authorization": f"Bearer {token_of(name)}"}
        )

    def post_run(self, agent: str, text: str, thread: str | None = None, **options: Any) -> httpx.Response:
        fields = {"threadId": thread or f"thread-{uuid4().hex[:8]}", "forwardedProps": {"gateway": options}}
        return self.client.post(f"/agents/{agent}", json=run_input(text, **fields))

    def run(self, agent: str, text: str, thread: str | None = None, **options: Any) -> list[Wire]:
        response = self.post_run(agent, text, thread, **options)
        assert response.status_code == 200, response.text
        return events_of(response.text)

    def say(self, agent: str, text: str, thread: str, **options: Any) -> str:
        events = self.run(agent, text, thread, **options)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        return text_of(events)

    def session(self, agent: str, thread: str) -> str:
        """The agent's own id of the thread's session."""
        session_id: str = self.client.get(f"/agents/{agent}/threads/{thread}").json()["sessionId"]
        return session_id

    def call(self, agent: str, thread: str, method: str, **params: Any) -> httpx.Response:
        return self.client.post(f"/agents/{agent}/threads/{thread}/acp", json={"method": method, "params": params})


@contextmanager
def principals(gateway: Gateway, *names: str) -> Iterator[list[Principal]]:
    callers = [Principal(gateway, name) for name in names]
    try:
        yield callers
    finally:
        for caller in callers:
            caller.client.close()
