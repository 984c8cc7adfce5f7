"""Runs one of the scripts beside this file and reads what it saw.

In: conversations ("talks") for a client to have with a gateway. Out: for each step of each talk what the application
sees: events, messages, state, open interrupts, and every complaint the client made. It judges nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.clients.install import HERE, node

SCRIPT_LIMIT = 120.0

Wire = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One run (or one reconnection) as the client's application saw it."""

    seen: Wire

    @property
    def events(self) -> list[Wire]:
        return list(self.seen["events"])

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.seen["events"]]

    @property
    def messages(self) -> list[Wire]:
        return list(self.seen["messages"])

    @property
    def new(self) -> list[Wire]:
        """The messages since the last word of the user."""
        last = max(index for index, message in enumerate(self.messages) if message["role"] == "user")
        return self.messages[last + 1 :]

    @property
    def said(self) -> str:
        """The newest text of the agent itself."""
        texts = [m["content"] for m in self.new if m["role"] == "assistant" and m.get("content")]
        return str(texts[-1])

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """The tool calls since the user's last word: (name, arguments)."""
        calls = [call["function"] for message in self.new for call in message.get("toolCalls", ())]
        return [(call["name"], json.loads(call["arguments"])) for call in calls]

    @property
    def results(self) -> list[Any]:
        return [message["content"] for message in self.new if message["role"] == "tool"]

    @property
    def state(self) -> Any:
        return self.seen["state"]

    @property
    def interrupts(self) -> list[Wire]:
        return list(self.seen["pendingInterrupts"])

    @property
    def run_id(self) -> str:
        return str(self.seen["events"][0]["runId"])

    @property
    def second(self) -> Step:
        """The same run as a second page saw it (CopilotKit)."""
        return Step(self.seen["second"])

    @property
    def complaints(self) -> list[str]:
        """Everything that went wrong for this client, in words; empty for a healthy run."""
        given = [*self.seen["complaints"], *self.seen["failures"], self.seen["rejected"]]
        refused = [f"{r['url']}: {r.get('status')}" for r in self.seen["requests"] if r.get("status") != 200]
        return [words for words in (*given, *refused) if words]

    def of(self, kind: str) -> list[Wire]:
        return [event for event in self.seen["events"] if event["type"] == kind]


Talk = list[Step]


def play(script: str, url: str, talks: Sequence[Wire]) -> list[Talk]:
    """One Node process has all the talks, one after another: starting Node costs more than most of them."""
    job = json.dumps({"url": url, "talks": list(talks)})
    # CopilotKit's packages can report home; in a test nobody wants that.
    quiet = {"COPILOTKIT_TELEMETRY_DISABLED": "true", "DO_NOT_TRACK": "1", "NO_COLOR": "1"}
    command = [node(), str(HERE / script)]
    done = subprocess.run(
        command, input=job, capture_output=True, text=True, timeout=SCRIPT_LIMIT, env=os.environ | quiet
    )
    assert done.returncode == 0, f"{script} broke:\n{done.stdout[-2000:]}{done.stderr}"
    told = json.loads(done.stdout)["talks"]
    broken = [f"{talk}: {seen['broken']}" for talk, seen in zip(talks, told, strict=True) if "broken" in seen]
    assert not broken, f"{script}: " + "\n".join(broken)
    return [[Step(step) for step in seen["steps"]] for seen in told]
