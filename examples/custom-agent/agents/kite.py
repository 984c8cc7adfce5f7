"""A Pydantic AI agent: its own adapter makes the AG-UI events, the gateway passes them on."""

import os
from collections.abc import AsyncIterator
from functools import cache

from ag_ui.core import BaseEvent, RunAgentInput
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

from gateway import Turn


@cache
def build_agent() -> Agent[None, str]:
    """Built at the first turn. Without KITE_MODEL a scripted model answers, so that it can be tried without a key."""
    model = os.environ.get("KITE_MODEL") or TestModel(custom_output_text="A good day to fly.")
    agent = Agent(model, output_type=str)

    @agent.tool_plain
    def wind(place: str) -> str:
        """The wind in a place."""
        return f"A fresh breeze in {place}."

    return agent


def kite(turn: Turn) -> AsyncIterator[BaseEvent]:
    run_input = RunAgentInput.model_validate(
        {
            "threadId": turn.thread_id,
            "runId": turn.run_id,
            "state": turn.state,
            "messages": turn.messages,
            "tools": turn.tools,
            "context": turn.context,
            "forwardedProps": turn.forwarded_props,
        }
    )
    return AGUIAdapter(agent=build_agent(), run_input=run_input).run_stream()
