"""What CopilotKit does beyond runs: it discovers, reconnects, joins and stops."""

from __future__ import annotations

import pytest

from tests.clients.conftest import Stage
from tests.clients.expectations import MEANINGS
from tests.clients.scenarios import COPILOTKIT
from tests.clients.test_conversations import logged
from tests.support.gateway import Gateway


def test_the_gateway_is_discovered_as_a_runtime(stage: Stage) -> None:
    info = stage.talk(COPILOTKIT, "help")[0].seen["info"]
    assert (info["status"], info["transport"]) == ("connected", "rest")
    assert {"demo", "echo", "default"} <= set(info["agents"])
    assert info["agents"]["demo"]["description"].startswith("Shows everything that a frontend can receive")


def test_discovery_brings_the_capabilities_that_the_agent_has(stage: Stage, gateway: Gateway) -> None:
    agents = stage.talk(COPILOTKIT, "help")[0].seen["info"]["agents"]
    older = gateway.client.get("/agents/demo/capabilities", params={"protocol": "0"}).json()
    assert agents["demo"]["capabilities"] == older
    assert older["humanInTheLoop"]["interrupts"] is True


def test_default_stands_for_the_demo(stage: Stage) -> None:
    [step] = stage.talk(COPILOTKIT, "default")
    assert step.complaints == []
    assert step.seen["info"]["agents"]["default"] == step.seen["info"]["agents"]["demo"]
    assert step.seen["requests"][-1]["url"].endswith("/copilotkit/agent/default/run")
    MEANINGS["good morning"](step, True)


@pytest.mark.parametrize("word", MEANINGS)
def test_a_reloaded_page_shows_what_was_there_before(stage: Stage, word: str) -> None:
    before, after = stage.talk(COPILOTKIT, word)
    assert after.complaints == []
    assert after.messages == before.messages
    assert after.state == before.state
    assert after.interrupts == before.interrupts


def test_a_question_can_be_answered_after_a_reload(stage: Stage) -> None:
    _, reloaded, answered = stage.talk(COPILOTKIT, "asked before the reload")
    assert (len(reloaded.interrupts), answered.interrupts) == (1, [])
    assert answered.complaints == []
    assert answered.said == "notes.txt is deleted (not really: this is a demo). Thank you for looking."


def test_an_answer_that_is_noted_as_a_tool_message_too_is_no_obstacle(stage: Stage) -> None:
    _, answered, after = stage.talk(COPILOTKIT, "answer noted")
    assert (answered.complaints, after.complaints) == ([], [])
    assert answered.interrupts == []
    [result] = answered.of("TOOL_CALL_RESULT")
    assert result["content"] == "notes.txt is deleted (not really: this is a demo)."
    # The core lets the message that was there first stand for the call.
    assert answered.results == ['{"approved":true}']
    MEANINGS["tool"](after, True)


def test_a_failed_run_is_part_of_what_a_reload_brings_back(stage: Stage) -> None:
    failed, reloaded, after = stage.talk(COPILOTKIT, "failed before the reload")
    assert (reloaded.complaints, after.complaints) == ([], [])
    assert reloaded.messages == failed.messages
    MEANINGS["tool"](after, True)


def test_a_thread_that_nobody_has_heard_of_is_empty(stage: Stage) -> None:
    [step] = stage.talk(COPILOTKIT, "unheard of")
    assert step.complaints == []
    assert (step.events, step.messages) == ([], [])


def test_a_second_page_joins_a_live_run_and_misses_nothing(stage: Stage) -> None:
    [first] = stage.talk(COPILOTKIT, "joined")
    second = first.second
    assert first.complaints == []
    assert second.seen["rejected"] is None
    # Pieces of text are not told of a run that is over: so the page really came while it was live.
    assert second.of("TEXT_MESSAGE_CONTENT") == first.of("TEXT_MESSAGE_CONTENT")
    assert second.messages == first.messages
    assert second.said.startswith("Slow and steady: stop")


def test_stopping_finishes_the_stream_and_frees_the_thread(stage: Stage) -> None:
    stopped, after = stage.talk(COPILOTKIT, "stopped")
    assert (stopped.complaints, after.complaints) == ([], [])
    assert stopped.types[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert "outcome" not in stopped.events[-1]
    MEANINGS["tool"](after, True)


def test_a_page_that_joined_can_stop_the_run(stage: Stage, gateway: Gateway) -> None:
    [first] = stage.talk(COPILOTKIT, "joined")
    assert (first.types[-1], first.second.types[-1]) == ("RUN_FINISHED", "RUN_FINISHED")
    assert logged(gateway, first)[-1]["outcome"] == {"type": "cancelled"}


def test_nobody_but_the_gateway_is_called(stage: Stage) -> None:
    talks = [stage.talk(COPILOTKIT, name) for name in ("help", "page's tool", "stopped", "joined")]
    urls = [request["url"] for talk in talks for step in talk for request in step.seen["requests"]]
    assert len(urls) > 8
    assert [url for url in urls if not url.startswith(f"{stage.url}/copilotkit/")] == []
