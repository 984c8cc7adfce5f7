"""Steering of an ACP agent: where among its events a message counts as read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from gateway.drivers.acp.steering import METHOD, Steering
from gateway.errors import AgentFault
from gateway.events import Event, TextMessageContent, ToolCallResult, ToolCallStart, TurnEnded, UserMessageAccepted
from gateway.wire.acp.initialize import agui_layer, read_handshake

MESSAGE = UserMessageAccepted("m1", "mind the gap")
INJECTED = {"outcome": "injected"}


def run_steering(answer: Any, play: Callable[[Steering, list[Any]], Awaitable[None]]) -> None:
    """With an agent that answers every request so."""
    requests: list[Any] = []

    async def respond(method: str, params: dict[str, Any]) -> Any:
        requests.append((method, params))
        if isinstance(answer, AgentFault):
            raise answer
        return answer

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            with anyio.fail_after(5):
                await play(Steering(respond, tasks), requests)

    anyio.run(main)


def test_a_message_counts_as_read_with_the_next_output_of_the_agent() -> None:
    async def play(steering: Steering, requests: list[Any]) -> None:
        assert await steering.send("s1", MESSAGE)
        method, params = requests[0]
        assert method == METHOD
        assert params["prompt"] == [{"type": "text", "text": "mind the gap"}]
        assert params["_meta"] == {"steering": {"idleBehavior": "promptRequired"}}, "it never starts a turn of its own"
        result, of_a_subagent, output = (
            ToolCallResult("c1", "slept"),
            TextMessageContent("hm", subagent="s"),
            TextMessageContent("well"),
        )
        assert steering.insert_accepted([result, of_a_subagent], cancelled=False) == [result, of_a_subagent]
        assert steering.insert_accepted([output], cancelled=False) == [MESSAGE, output]
        assert steering.insert_accepted([output], cancelled=False) == [output], "once"

    run_steering(INJECTED, play)


@pytest.mark.parametrize("event", [ToolCallStart("c2", "bash"), TurnEnded()])
def test_a_tool_call_or_the_end_shows_it_too(event: Event) -> None:
    async def play(steering: Steering, requests: list[Any]) -> None:
        await steering.send("s1", MESSAGE)
        assert steering.insert_accepted([event], cancelled=False) == [MESSAGE, event]

    run_steering(INJECTED, play)


@pytest.mark.parametrize(("last", "cancelled"), [(TurnEnded("cancelled"), False), (TurnEnded(), True)])
def test_messages_of_a_cancelled_turn_are_lost(last: TurnEnded, cancelled: bool) -> None:
    async def play(steering: Steering, requests: list[Any]) -> None:
        await steering.send("s1", MESSAGE)
        assert steering.insert_accepted([last], cancelled=cancelled) == [last]
        assert steering.accepted == []

    run_steering(INJECTED, play)


@pytest.mark.parametrize("answer", [{"outcome": "promptRequired"}, None, AgentFault("no such method")])
def test_a_message_that_the_agent_does_not_take_is_refused(answer: Any) -> None:
    async def play(steering: Steering, requests: list[Any]) -> None:
        assert not await steering.send("s1", MESSAGE)
        await steering.wait_until_answered()
        assert steering.accepted == []

    run_steering(answer, play)


@pytest.mark.parametrize(("meta", "claim"), [({"steering": {"supported": True}}, True), ({"steering": {}}, None)])
def test_only_the_handshake_claims_it(meta: dict[str, Any], claim: bool | None) -> None:
    handshake = read_handshake({"protocolVersion": 1, "_meta": meta})
    assert agui_layer(handshake).get("custom.gateway.steering") is claim
