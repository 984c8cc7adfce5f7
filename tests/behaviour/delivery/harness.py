"""A gateway with an agent that does as each message says, and a client that posts messages and reads the feed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tests.runs.harness import eventually
from tests.support.gateway import Gateway, run_input
from tests.web.agent_folder import write_agent

AGENT = '''
import asyncio
from pathlib import Path

from gateway.events import ClientToolCall, ClientToolsCalled, Interrupt, InterruptRequested
from gateway.events import Custom, TokenUsage, ToolCallArgs, ToolCallEnd, ToolCallStart

HERE = Path(__file__).parent


async def agent(turn):
    """Notes its prompts. `hold NAME` waits for a file, `ask` for an answer, `call` for a tool of the client's."""
    with (HERE / "prompts.txt").open("a") as file:
        file.write(f"{turn.thread_id} {turn.messages[-1]['id']}\\n")
    word, _, rest = turn.text.partition(" ")
    if word == "hold":
        yield "holding"
        while not (HERE / rest).exists():
            await asyncio.sleep(0.01)
    elif word == "ask":
        yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation"),))
        yield "answered"
    elif word == "ask-briefly":
        yield InterruptRequested((Interrupt(f"{turn.run_id}-q", "confirmation", expires_in=0.3),))
    elif word == "call":
        name = f"{turn.run_id}-c"
        for event in (ToolCallStart(name, "show_card"), ToolCallArgs(name, "{}"), ToolCallEnd(name)):
            yield event
        yield ClientToolsCalled((ClientToolCall(name, "show_card"),))
    elif word == "use":
        yield TokenUsage("me", rest, 1000, 100)
    elif word == "tell-cost":
        yield TokenUsage("me", "priced", 1000, 100)
        for usd in (0.25, float("nan"), True, "much", -1, 0.5):
            yield Custom("cost", {"usd": usd})
    elif word == "raise":
        raise ValueError("no")
    elif word == "count":
        yield f"messages: {len(turn.messages)}, state: {turn.state}"
    yield f"you said {turn.text}"
'''
TABLES = """[capabilities]
multimodal.input = { image = false }
[[models]]
id = "priced"
price = { input = 2, output = 10 }
[[models]]
id = "tiered"
price = { input = 2, output = 10, tiers = [{ above = 500, input = 4 }] }
[[models]]
id = "unpriced"
"""
IMAGE = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}


class Stage(Gateway):
    def __init__(self, home: Path, *flags: str, **settings: Any) -> None:
        self.folder = home / "agents"
        write_agent(self.folder, "doer", AGENT, tables=TABLES)
        env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
        super().__init__(home, "--agents", str(self.folder), *flags, env=env)

    def __enter__(self) -> Stage:
        self.start()
        return self

    def thread(self, agent: str = "doer", **headers: str) -> Thread:
        return Thread(self, agent, headers=headers)

    def prompts(self, thread: str) -> list[str]:
        """The messages that the agent's turns on this thread ended in, in order."""
        file = self.folder / "prompts.txt"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [message for name, message in lines if name == thread]


@dataclass
class Thread:
    """One thread, as its client has it."""

    gateway: Gateway
    agent: str = "doer"
    id: str = field(default_factory=lambda: f"thread-{uuid4().hex[:8]}")
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/agents/{self.agent}/threads/{self.id}"

    def send(self, content: Any, **fields: Any) -> httpx.Response:
        """`message` may be given whole."""
        body = {"message": {"role": "user", "content": content}} | fields
        return self.gateway.client.post(f"{self.path}/messages", json=body, headers=self.headers)

    def post(self, content: Any, delivery: str | None = None, **fields: Any) -> dict[str, Any]:
        """Accepted: the receipt."""
        response = self.send(content, **({} if delivery is None else {"delivery": delivery}), **fields)
        assert response.status_code == 202, response.text
        found: dict[str, Any] = response.json()
        return found

    def named(self, name: str, content: str = "hello", delivery: str = "on-idle") -> dict[str, Any]:
        """A message with an id, which is the delivery's too."""
        message = {"id": name, "role": "user", "content": content}
        return self.post(None, delivery, message=message, deliveryId=name)

    @contextmanager
    def holding(self, gate: str = "never") -> Iterator[str]:
        """A live run of another client's, which ends when the gate is opened; its id."""
        body = run_input(f"hold {gate}", threadId=self.id)
        run_id: str = body["runId"]
        body["forwardedProps"] = {"gateway": {"onDisconnect": "continue"}}
        with self.gateway.client.stream("POST", f"/agents/{self.agent}", json=body, headers=self.headers) as response:
            next(line for line in response.iter_lines() if "holding" in line)
        yield run_id

    def run(self, content: str, **fields: Any) -> list[dict[str, Any]]:
        return self.gateway.run(self.agent, content, threadId=self.id, **fields)

    @contextmanager
    def feed(self, after: int | None = None, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
        """Its events as they come, each with its number under `id`."""
        params = {} if after is None else {"after": after}
        every = self.headers | headers
        with self.gateway.client.stream("GET", f"{self.path}/events", params=params, headers=every) as response:
            assert response.status_code == 200, response.read()
            assert response.headers["content-type"] == "text/event-stream"
            yield _events(response)

    def fate(self, delivery_id: str, *kinds: str) -> dict[str, Any]:
        """The receipt that it was delivered or failed; or the first of these kinds."""
        wanted = [f"delivery.{kind}" for kind in kinds or ("delivered", "failed")]
        with self.feed() as events:
            return next(e for e in events if e.get("deliveryId") == delivery_id and e["type"] in wanted)

    def receipts(self, delivery_id: str) -> list[str]:
        """All receipts of the delivery up to its end."""
        found: list[str] = []
        with self.feed() as events:
            for event in events:
                if event.get("deliveryId") == delivery_id and event["type"].startswith("delivery."):
                    found.append(event["type"].removeprefix("delivery."))
                    if found[-1] in ("delivered", "failed"):
                        return found
        raise AssertionError(found)

    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.gateway.client.get(self.path, headers=self.headers).json()["messages"]
        return found

    def contents(self, role: str = "user") -> list[str]:
        return [message["content"] for message in self.messages() if message["role"] == role]

    def idle(self) -> None:
        """Waits until nothing is under way, or waits."""
        eventually(
            lambda: self.gateway.client.get(self.path, headers=self.headers).json().get("pendingRunId", 1) is None
        )


def _events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    number = 0
    for line in response.iter_lines():
        if line.startswith("id: "):
            number = int(line[4:])
        elif line.startswith("data: "):
            yield {"id": number, **json.loads(line[6:])}


def until(events: Iterator[dict[str, Any]], kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The events up to the first of this type that has these fields."""
    found: list[dict[str, Any]] = []
    for event in events:
        found.append(event)
        if event["type"] == kind and fields.items() <= event.items():
            return found
    raise AssertionError(f"the feed ended without {kind}: {found}")
