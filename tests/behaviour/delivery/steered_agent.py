"""The scripted ACP agent, which takes words while its turn is under way: `work` uses a tool until it has some."""

from __future__ import annotations

import threading
from typing import Any

from tests.fakes import acp_agent
from tests.fakes.acp_agent import Agent, initialize_result

METHOD = "_session/steering"


class SteeredAgent(Agent):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.was_steered = threading.Event()

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            return {**initialize_result(), "_meta": {"steering": {"supported": True}}}
        if method == METHOD:
            self.texts += [block["text"] for block in params["prompt"]]
            self.was_steered.set()
            return {"outcome": "injected"}
        return super().result(method, params)

    def scene_work(self, session: str, *rest: str) -> None:
        self.update(session, "tool_call", toolCallId="c1", title="Dig", kind="execute", status="in_progress")
        self.was_steered.wait()
        self.update(session, "tool_call_update", toolCallId="c1", status="completed")
        self.say(session, f"meanwhile you said: {' '.join(self.texts)}")


if __name__ == "__main__":
    acp_agent.Agent = SteeredAgent  # type: ignore[misc]
    acp_agent.main()
