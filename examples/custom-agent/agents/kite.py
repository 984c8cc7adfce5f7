"""A Pydantic AI agent: its own adapter makes AG-UI events, the gateway carries them."""

import os
from collections.abc import AsyncIterator
from functools import cache

from ag_ui.core import BaseEvent, RunAgentInput
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

from gateway.agui.inbound import dump_run_input
from gateway.turn import Turn


@cache
def agent() -> Agent[None, str]:
    """Made at the first turn. Without a model's name a scripted one answers, so that it can be tried without a key."""
    made = Agent(os.environ.get("KITE_MODEL") or TestModel(custom_output_text="A good day to fly."), output_type=str)

    @made.tool_plain
    def wind(place: str) -> str:
        """How the wind is in a place."""
        return f"A fresh breeze in {place}."

    return made


def kite(turn: Turn) -> AsyncIterator[BaseEvent]:
    asked = RunAgentInput.model_validate(dump_run_input(turn))
    return AGUIAdapter(agent=agent(), run_input=asked).run_stream()
