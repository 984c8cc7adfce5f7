"""Words for a turn of an ACP agent: where among its events they were heard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from gateway.drivers.acp.steering import METHOD, Steering
from gateway.errors import AgentFault
from gateway.events import Event, TextMessageContent, ToolCallResult, ToolCallStart, TurnEnded, UserMessageAccepted
from gateway.wire.acp.initialize import agui_layer, read_handshake

WORDS = UserMessageAccepted("m1", "mind the gap")
INJECTED = {"outcome": "injected"}


def steering(told: Any, play: Callable[[Steering, list[Any]], Awaitable[None]]) -> None:
    """With an agent that answers so."""
    asked: list[Any] = []

    async def answer(method: str, params: dict[str, Any]) -> Any:
        asked.append((method, params))
        if isinstance(told, AgentFault):
            raise told
        return told

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            with anyio.fail_after(5):
                await play(Steering(answer, tasks), asked)

    anyio.run(main)


def test_they_were_heard_when_the_agent_next_speaks_or_acts() -> None:
    async def play(words: Steering, asked: list[Any]) -> None:
        assert await words.send("s1", WORDS)
        method, params = asked[0]
        assert method == METHOD
        assert params["prompt"] == [{"type": "text", "text": "mind the gap"}]
        assert params["_meta"] == {"steering": {"idleBehavior": "promptRequired"}}, "they are never a turn of their own"
        result, of_a_subagent, answer = (
            ToolCallResult("c1", "slept"),
            TextMessageContent("hm", subagent="s"),
            TextMessageContent("well"),
        )
        assert words.insert_accepted([result, of_a_subagent], cancelled=False) == [result, of_a_subagent]
        assert words.insert_accepted([answer], cancelled=False) == [WORDS, answer]
        assert words.insert_accepted([answer], cancelled=False) == [answer], "once"

    steering(INJECTED, play)


@pytest.mark.parametrize("event", [ToolCallStart("c2", "bash"), TurnEnded()])
def test_a_call_or_the_end_shows_it_too(event: Event) -> None:
    async def play(words: Steering, asked: list[Any]) -> None:
        await words.send("s1", WORDS)
        assert words.insert_accepted([event], cancelled=False) == [WORDS, event]

    steering(INJECTED, play)


@pytest.mark.parametrize(("last", "cancelled"), [(TurnEnded("cancelled"), False), (TurnEnded(), True)])
def test_a_turn_that_is_cancelled_takes_them_along(last: TurnEnded, cancelled: bool) -> None:
    async def play(words: Steering, asked: list[Any]) -> None:
        await words.send("s1", WORDS)
        assert words.insert_accepted([last], cancelled=cancelled) == [last]
        assert words.accepted == []

    steering(INJECTED, play)


@pytest.mark.parametrize("told", [{"outcome": "promptRequired"}, None, AgentFault("no such method")])
def test_words_that_the_agent_does_not_take_are_ours_again(told: Any) -> None:
    async def play(words: Steering, asked: list[Any]) -> None:
        assert not await words.send("s1", WORDS)
        await words.wait_until_answered()
        assert words.accepted == []

    steering(told, play)


@pytest.mark.parametrize(("meta", "said"), [({"steering": {"supported": True}}, True), ({"steering": {}}, None)])
def test_only_the_handshake_claims_it(meta: dict[str, Any], said: bool | None) -> None:
    handshake = read_handshake({"protocolVersion": 1, "_meta": meta})
    assert agui_layer(handshake).get("custom.gateway.steering") is said
