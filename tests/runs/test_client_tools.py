"""Tools of the client's own over real requests: called in one run, answered in another, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.events import Wire
from tests.runs.harness import cancel, eventually, new_ids, played, staged
from tests.support.gateway import Gateway, text_of, types_of

TOOL = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with staged(tmp_path_factory.mktemp("calling"), "client_tools", cancel_grace=2) as running:
        yield running


class Talk:
    """One thread, as a client holds it: what it has said and done is sent with every run."""

    def __init__(self, gateway: Gateway, agent: str, **fields: Any) -> None:
        self._gateway, self._agent, self._fields = gateway, agent, fields
        self.ids = new_ids()
        self.messages: list[Wire] = []

    def say(self, text: str) -> list[Wire]:
        self.messages.append({"id": f"u{len(self.messages)}", "role": "user", "content": text})
        return self.run()

    def give(self, **results: str) -> list[Wire]:
        """Results of calls, by the last letter of their ids."""
        for delivery, text in results.items():
            call = f"{self.ids['runId']}-{delivery}"
            self.messages.append({"id": f"t-{delivery}", "role": "tool", "toolCallId": call, "content": text})
        return self.run()

    def run(self) -> list[Wire]:
        ids = new_ids() if len(self.messages) > 1 else self.ids
        fields = {"tools": [TOOL], **self._fields, **ids, "threadId": self.ids["threadId"]}
        return played(self._gateway, self._agent, messages=self.messages, **fields)


def pending(events: list[Wire]) -> list[str]:
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "success"
    return [name.rpartition("-")[2] for name in outcome["pendingToolCallIds"]]


def test_a_call_ends_the_run_and_its_result_goes_on_with_the_same_turn(calling: Gateway) -> None:
    talk = Talk(calling, "calls")
    first = talk.say("show me")
    assert pending(first) == ["a"]
    assert types_of(first).count("TOOL_CALL_START") == 1
    second = talk.give(a="shown")
    assert text_of(second) == "a=shown"
    assert "outcome" not in second[-1]


def test_what_the_client_has_done_itself_is_not_sent_to_it(calling: Gateway) -> None:
    talk = Talk(calling, "calls")
    talk.say("show me")
    stream = talk.give(a="shown")
    assert not [event for event in stream if event["type"].startswith("TOOL_CALL")]


def test_results_may_come_one_by_one(calling: Gateway) -> None:
    talk = Talk(calling, "calls-two")
    assert pending(talk.say("show me two")) == ["a", "b"]
    half = talk.give(b="second")
    assert pending(half) == ["a"], "the other still waits, and the client is informed"
    assert types_of(half) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_FINISHED"]
    assert text_of(talk.give(a="first")) == "a=first, b=second"


def test_a_call_that_an_earlier_run_started_is_shown_once_more_without_its_arguments(calling: Gateway) -> None:
    talk = Talk(calling, "calls-twice")
    talk.say("show me two")
    second = talk.give(a="first")
    assert pending(second) == ["b"]
    again = [event for event in second if event["type"].startswith("TOOL_CALL")]
    assert types_of(again) == ["TOOL_CALL_START", "TOOL_CALL_END"]
    assert text_of(talk.give(b="second")) == "b=second. "


def test_a_subagent_that_called_goes_on_under_its_name(calling: Gateway) -> None:
    talk = Talk(calling, "calls-from-a-subagent")
    first = talk.say("show me")
    assert first[-2]["outcome"] == {"type": "suspended"}
    assert types_of(talk.give(a="shown")) == ["RUN_STARTED", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "RUN_FINISHED"]


def test_a_client_that_asks_again_is_answered_what_waits(calling: Gateway) -> None:
    talk = Talk(calling, "calls")
    talk.say("show me")
    again = talk.run()
    assert pending(again) == ["a"]
    assert again[1]["messages"][1]["toolCalls"][0]["function"]["name"] == "show_card"
    assert text_of(talk.give(a="shown")) == "a=shown"


def test_a_new_message_of_the_users_goes_on_without_the_result(calling: Gateway) -> None:
    talk = Talk(calling, "calls-two")
    talk.say("show me two")
    talk.give(b="second")
    stream = talk.say("never mind")
    [result] = [event for event in stream if event["type"] == "TOOL_CALL_RESULT"]
    assert result["toolCallId"].endswith("-a")
    assert "gave no result" in result["content"]
    assert text_of(stream) == "all right"
    assert "outcome" not in stream[-1]


def test_a_call_that_the_client_does_not_answer_in_time_is_answered_cancelled(calling: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "heard.txt"
    talk = Talk(calling, "calls-for-a-moment", forwardedProps={"file": str(file)})
    assert pending(talk.say("show me")) == ["a"]
    assert eventually(lambda: file.exists() and file.read_text()) == "a=cancelled"


def test_a_turn_that_waits_for_a_tool_can_be_cancelled_by_its_run(calling: Gateway) -> None:
    talk = Talk(calling, "calls")
    talk.say("show me")
    assert cancel(calling, talk.ids["runId"]) == "cancelled"
    assert cancel(calling, talk.ids["runId"]) == "over"


def test_a_call_of_nothing_is_the_agents_fault(calling: Gateway) -> None:
    error = Talk(calling, "calls-nothing").say("show me")[-1]
    assert error["type"] == "RUN_ERROR"
    assert "ClientToolsCalled takes one call or more" in error["message"]
