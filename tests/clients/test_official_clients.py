"""Every word of the demo, through every official client: without a complaint, and it means what it should."""

from __future__ import annotations

import re

import pytest

from tests.clients.conftest import Stage
from tests.clients.expectations import MEANINGS
from tests.clients.node import Step, Wire
from tests.clients.scenarios import CLIENTS, FAILING, OLDER, PROTOBUF, SSE, Client

PROTOBUF_TYPE, SSE_TYPE = "application/vnd.ag-ui.event+proto", "text/event-stream"

every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


@every_client
@pytest.mark.parametrize("word", MEANINGS)
def test_a_word_means_the_same_in_every_client(stage: Stage, client: Client, word: str) -> None:
    step = stage.talk(client, word)[0]
    assert step.complaints == []
    assert step.seen["runErrors"] == []
    MEANINGS[word](step, client.older)


def test_every_word_that_the_demo_offers_is_spoken_here(stage: Stage) -> None:
    offered = re.findall(r"^- `([a-z ]+)`", stage.talk(SSE, "help")[0].said, re.MULTILINE)
    wait_until_probed = {re.sub(r" \d+$", "", prompt) for prompt in (*MEANINGS, *FAILING)}
    assert len(offered) > 15
    assert set(offered) <= wait_until_probed


@pytest.mark.parametrize("word", MEANINGS)
def test_the_same_events_arrive_over_sse_and_protobuf(stage: Stage, word: str) -> None:
    assert plain(stage.talk(PROTOBUF, word)[0]) == plain(stage.talk(SSE, word)[0])


@pytest.mark.parametrize("replay", [1, 2], ids=["over SSE", "over protobuf"])
@pytest.mark.parametrize("client", [SSE, PROTOBUF], ids=lambda client: client.name)
def test_a_run_that_is_followed_later_is_the_run_that_was_seen(stage: Stage, client: Client, replay: int) -> None:
    talk = stage.talk(client, "replayed")
    assert talk[replay].complaints == []
    assert talk[replay].events == talk[0].events
    assert talk[replay].messages == [message for message in talk[0].messages if message["role"] != "user"]


@pytest.mark.parametrize("word", MEANINGS)
def test_a_client_that_asks_for_protobuf_really_gets_it(stage: Stage, word: str) -> None:
    assert content_types(stage.talk(PROTOBUF, word)[0]) == [PROTOBUF_TYPE]
    assert content_types(stage.talk(SSE, word)[0]) == [SSE_TYPE]


def test_an_older_client_that_asks_for_protobuf_gets_what_it_can_read(stage: Stage) -> None:
    step = stage.talk(OLDER, "asks for protobuf")[0]
    assert step.complaints == []
    assert content_types(step) == [SSE_TYPE]
    MEANINGS["everything"](step, True)


@every_client
def test_a_conversation_goes_on_over_several_runs(stage: Stage, client: Client) -> None:
    first, second = stage.talk(client, "two runs")
    assert second.complaints == []
    assert second.messages[: len(first.messages)] == first.messages
    assert len({message["id"] for message in second.messages}) == len(second.messages)
    MEANINGS["tool"](second, client.older)


@every_client
def test_attachments_reach_the_agent_and_images_come_back(stage: Stage, client: Client) -> None:
    [step] = stage.talk(client, "attached")
    listed = [
        "- **image**, image/png, 5 bytes",
        "- **audio**, audio/mpeg, at https://example.org/bird.mp3",
        "- **document**, application/pdf, 4 bytes",
    ]
    assert step.complaints == []
    assert step.said == "Here is what you sent me:\n\n" + "\n".join(listed)
    [result] = step.results
    text = {"type": "text", "text": "\n".join(listed)}
    image = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
    assert result == ("\n".join(listed) if client.older else [text, image])


def content_types(step: Step) -> list[str]:
    return [request["contentType"] for request in step.seen["requests"]]


ID_KEYS = frozenset(
    ("threadId", "runId", "messageId", "toolCallId", "parentMessageId", "subagentRunId", "parentToolCallId", "id")
)
DELTAS = frozenset(("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"))


def plain(step: Step) -> list[Wire]:
    """The events without what differs from run to run: ids by order of appearance, no times, and the pieces of one
    text joined where its first stands, because how they are cut depends on who was faster."""
    names: dict[str, str] = {}
    growing: dict[str, Wire] = {}
    kept: list[Wire] = []
    for event in (_renamed(event, names) for event in step.events):
        target = f"{event['type']} {event.get('messageId', event.get('toolCallId'))}"
        if event["type"] in DELTAS and target in growing:
            growing[target]["delta"] += event["delta"]
        else:
            growing[target] = event
            kept.append(event)
    return kept


def _renamed(value: Wire, names: dict[str, str]) -> Wire:
    return {key: _plain_value(key, inner, names) for key, inner in value.items() if key != "expiresAt"}


def _plain_value(key: str, value: object, names: dict[str, str]) -> object:
    match value:
        case str() if key in ID_KEYS:
            return names.setdefault(value, f"#{len(names)}")
        case dict():
            return _renamed(value, names)
        case list():
            return [_plain_value("", inner, names) for inner in value]
        case _:
            return value
