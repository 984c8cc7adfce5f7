"""What takes more than one run, or ends one early: questions, the page's own tools, failures, stopping."""

from __future__ import annotations

import pytest

from tests.clients.conftest import Stage
from tests.clients.expectations import MEANINGS
from tests.clients.node import Step
from tests.clients.scenarios import CLIENTS, OLDER, PROTOBUF, SSE, Client
from tests.support.gateway import Gateway, events_of

ANSWERED = {
    "approved": "notes.txt is deleted (not really: this is a demo).",
    "edited": "old.txt is deleted (not really: this is a demo).",
    "refused": "notes.txt stays: you refused.",
    "cancelled": "notes.txt stays: the question was cancelled.",
}
FAILED = {
    "error": ("DEMO_ERROR", "This is the error you asked for. Nothing is wrong.", "So far, so good. But now"),
    "crash": ("AGENT_EXCEPTION", "RuntimeError: this is the crash you asked for", "Watch out, I am about to"),
}

every_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


@every_client
@pytest.mark.parametrize("name", ANSWERED)
def test_a_tool_call_waits_for_its_approval(stage: Stage, client: Client, name: str) -> None:
    asked, answered = stage.talk(client, name)[:2]
    verdict = ANSWERED[name]
    assert (asked.complaints, answered.complaints) == ([], [])
    assert (len(asked.interrupts), answered.interrupts) == (1, [])
    assert "TOOL_CALL_START" not in answered.types
    [result] = answered.of("TOOL_CALL_RESULT")
    assert (result["toolCallId"], result["content"]) == (asked.interrupts[0]["toolCallId"], verdict)
    assert answered.results == [verdict]
    assert answered.said == f"{verdict} Thank you for looking."


@every_client
def test_after_an_answer_the_thread_goes_on_as_ever(stage: Stage, client: Client) -> None:
    after = stage.talk(client, "approved")[2]
    assert after.complaints == []
    MEANINGS["tool"](after, client.older)


@every_client
def test_two_questions_are_answered_together_and_apart(stage: Stage, client: Client) -> None:
    asked, answered = stage.talk(client, "two answers")
    verdicts = ["notes.txt is deleted (not really: this is a demo).", "draft.txt stays: the question was cancelled."]
    assert answered.complaints == []
    assert (len(asked.interrupts), answered.interrupts) == (2, [])
    assert [result["content"] for result in answered.of("TOOL_CALL_RESULT")] == verdicts
    assert answered.said == " ".join(verdicts)


@every_client
def test_a_form_comes_back_filled_in_or_not_at_all(stage: Stage, client: Client) -> None:
    filled, empty = stage.talk(client, "filled in")[1], stage.talk(client, "left empty")[1]
    assert (filled.complaints, empty.complaints) == ([], [])
    assert (filled.interrupts, empty.interrupts) == ([], [])
    assert filled.said == "A table for 2 in the name of Ada, and I would write to ada@example.org."
    assert empty.said.startswith("No table, then: the form was cancelled.")


@every_client
def test_an_answer_against_the_schema_is_refused_and_the_right_one_still_taken(stage: Stage, client: Client) -> None:
    asked, wrong, right = stage.talk(client, "wrong answer")
    assert [error["code"] for error in wrong.seen["runErrors"]] == ["RESUME_INVALID"]
    assert wrong.interrupts == asked.interrupts
    assert right.complaints == []
    assert right.interrupts == []
    assert right.said == "A table for 1 in the name of Ada."


@every_client
def test_the_pages_own_tool_is_called_and_its_answer_heard(stage: Stage, client: Client) -> None:
    talk = stage.talk(client, "page's tool")
    assert [step.complaints for step in talk] == [[] for _ in talk]
    assert talk[-1].calls == [("change_background", {"color": "teal"})]
    assert talk[-1].results == ["the page is teal now"]
    assert talk[-1].said == "`change_background` answered: the page is teal now"


@pytest.mark.parametrize("client", [SSE, PROTOBUF], ids=lambda client: client.name)
def test_a_run_names_the_calls_that_it_leaves_to_the_page(stage: Stage, client: Client) -> None:
    called, answered = stage.talk(client, "page's tool")
    ids = [call["id"] for call in called.new[-1]["toolCalls"]]
    assert called.events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ids}
    assert called.seen["pendingToolCallIds"] == ids
    assert answered.seen["pendingToolCallIds"] == []


@every_client
@pytest.mark.parametrize("word", FAILED)
def test_a_failed_run_is_told_and_the_client_goes_on(stage: Stage, client: Client, word: str) -> None:
    failed, after = stage.talk(client, word)
    code, message, text = FAILED[word]
    assert [(error["code"], error["message"]) for error in failed.seen["runErrors"]] == [(code, message)]
    assert failed.types[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    assert failed.said.startswith(text)
    # The client's promise resolves; CopilotKit reports the error to the application, and nothing else.
    assert failed.complaints == ([f"agent_run_error_event: Error: {message}"] if client.is_copilotkit else [])
    assert after.complaints == []
    MEANINGS["tool"](after, client.older)


@pytest.mark.parametrize("client", [SSE, PROTOBUF, OLDER], ids=lambda client: client.name)
def test_whatever_a_client_complains_about_is_heard_here(stage: Stage, client: Client) -> None:
    [step] = stage.talk(client, "nobody there")
    assert [words for words in step.complaints if "UNKNOWN_AGENT" in words]
    assert step.seen["rejected"] is not None


@every_client
def test_stopping_in_the_middle_cancels_the_run_on_the_server(stage: Stage, gateway: Gateway, client: Client) -> None:
    stopped = stage.talk(client, "stopped")[0]
    assert stopped.said.startswith("Slow ")
    assert len(stopped.said.split()) < 100
    log = logged(gateway, stopped)
    assert log[-1]["type"] == "RUN_FINISHED"
    assert log[-1]["outcome"] == {"type": "cancelled"}
    assert [event["type"] for event in log].count("TEXT_MESSAGE_END") == 1


@pytest.mark.parametrize("client", [SSE, OLDER], ids=lambda client: client.name)
def test_an_aborted_sse_run_ends_without_a_complaint(stage: Stage, client: Client) -> None:
    [stopped] = stage.talk(client, "stopped")
    assert stopped.complaints == []
    assert [error["code"] for error in stopped.seen["runErrors"]] == ["abort"]


def test_an_aborted_protobuf_run_tells_only_of_the_abort(stage: Stage) -> None:
    [stopped] = stage.talk(PROTOBUF, "stopped")
    assert stopped.complaints == ["AbortError: This operation was aborted"]
    assert stopped.seen["rejected"] is None


def logged(gateway: Gateway, step: Step) -> list[dict[str, object]]:
    """The run's log to its end, as a 1.0 client would be told it. Following waits for the end."""
    response = gateway.client.get(f"/runs/{step.run_id}/events", params={"protocol": "1"})
    assert response.status_code == 200, response.text
    return events_of(response.text)
