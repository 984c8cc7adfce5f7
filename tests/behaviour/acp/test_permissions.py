"""Questions of an ACP agent: permissions and forms, each an interrupt that a later run answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.events import Wire
from tests.behaviour.acp.harness import Stage, Talk, json_of, of_type, outcome_of
from tests.runs.harness import cancelled, eventually, interrupts_of, resolved, until
from tests.support.gateway import text_of, types_of


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Interrupts expire at once, and turns that do not end are abandoned soon."""
    with Stage(tmp_path_factory.mktemp("hasty"), interrupt_ttl=0.3, cancel_grace=0.5).agent("plain") as stage:
        yield stage


def outcomes(stage: Stage) -> list[Wire]:
    """What the agent got for its requests, oldest first."""
    answers = [message for message in stage.received("plain") if "method" not in message]
    return [message["result"]["outcome"] for message in answers if "outcome" in message.get("result", {})]


def test_a_permission_ends_the_run_with_the_agents_own_options(stage: Stage) -> None:
    events = Talk(stage).say("tool")
    (interrupt,) = interrupts_of(events)
    assert (interrupt["reason"], interrupt["message"]) == ("tool_call", "Run ls")
    assert interrupt["toolCallId"] == of_type(events, "TOOL_CALL_START")[0]["toolCallId"]
    options = interrupt["responseSchema"]["properties"]["optionId"]["enum"]
    assert options == ["allow-once", "allow-always", "reject-once"]
    assert interrupt["metadata"]["acp"]["subject"]["rawInput"] == {"command": "ls"}
    assert "TOOL_CALL_END" in types_of(events)


@pytest.mark.parametrize(
    ("payload", "chosen"),
    [
        ({"optionId": "allow-once"}, "allow-once"),
        ({"optionId": "allow-always"}, "allow-always"),
        ({"optionId": "reject-once"}, "reject-once"),
        ({"approved": True}, "allow-once"),
        ({"approved": False}, "reject-once"),
    ],
)
def test_the_answer_goes_to_the_agent_and_the_turn_goes_on(stage: Stage, payload: Wire, chosen: str) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    events = talk.resume(resolved(interrupt, payload))
    result = of_type(events, "TOOL_CALL_RESULT")[0]
    assert (result["toolCallId"], text_of(events)) == (interrupt["toolCallId"], f"chose {chosen}")
    assert result["content"] == ("refused" if chosen == "reject-once" else "a.txt")
    assert "TOOL_CALL_START" not in types_of(events)
    assert len(talk.prompts) == 1


def test_feedback_is_not_offered_and_is_reported_as_dropped(stage: Stage) -> None:
    """ACP's answer to a permission request is an option: it has no place for a text."""
    assert stage.asks("/agents/plain/capabilities")["humanInTheLoop"]["feedback"] is False
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    assert "feedback" not in interrupt["responseSchema"]["properties"]
    events = talk.resume(resolved(interrupt, {"approved": False, "feedback": "Use tree."}))
    [warning] = [event["value"] for event in of_type(events, "CUSTOM") if event["name"] == "gateway.warning"]
    assert (warning["code"], warning["pointer"]) == ("FEEDBACK_DROPPED", "/resume/0/payload/feedback")
    assert warning["capability"] == "humanInTheLoop.feedback"
    assert text_of(events) == "chose reject-once", "the denial itself is as clear as without it"
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    assert of_type(talk.resume(resolved(interrupt, {"approved": False})), "CUSTOM") == []


def test_a_cancelled_answer_is_no_approval(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    events = talk.resume(cancelled(interrupt))
    assert outcome_of(events) == "cancelled"
    assert outcomes(stage)[-1] == {"outcome": "cancelled"}
    assert text_of(talk.say("hello")) == "You said: hello"


def test_edited_arguments_are_refused_for_they_could_not_be_carried(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    events = talk.resume(resolved(interrupt, {"approved": True, "editedArgs": {"command": "rm"}}))
    assert outcome_of(events) == "RESUME_INVALID"
    assert text_of(talk.resume(resolved(interrupt, {"approved": False}))) == "chose reject-once"


def test_two_permissions_at_once_are_one_outcome_and_each_gets_its_answer(stage: Stage) -> None:
    talk = Talk(stage)
    first, second = interrupts_of(talk.say("both"))
    events = talk.resume(resolved(second, {"optionId": "reject-once"}), resolved(first, {"optionId": "allow-always"}))
    assert text_of(events) == "allow-always reject-once"


def test_one_permission_after_the_other_is_one_interrupt_after_the_other(stage: Stage) -> None:
    talk = Talk(stage)
    (first,) = interrupts_of(talk.say("twofold"))
    (second,) = interrupts_of(talk.resume(resolved(first, {"approved": True})))
    assert first["id"] != second["id"]
    assert text_of(talk.resume(resolved(second, {"approved": False}))) == "chose reject-once"


def test_a_retried_resume_repeats_the_result_and_sends_the_agent_nothing(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("tool"))
    answer = resolved(interrupt, {"approved": True})
    talk.resume(answer)
    before = stage.received("plain")
    snapshot = of_type(talk.resume(answer), "MESSAGES_SNAPSHOT")[0]
    assert snapshot["messages"][-1]["content"] == "chose allow-once"
    assert stage.received("plain") == before


def test_cancelling_an_interrupted_run_answers_cancelled_and_the_session_goes_on(stage: Stage) -> None:
    talk = Talk(stage)
    interrupts_of(talk.say("tool"))
    session = talk.session
    assert talk.cancel() == "cancelled"
    assert outcomes(stage)[-1] == {"outcome": "cancelled"}
    assert stage.received("plain", session, "session/cancel")
    assert talk.cancel() == "over"
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"


def test_cancelling_while_the_agent_speaks_answers_its_next_question_with_cancelled(stage: Stage) -> None:
    talk = Talk(stage)
    with talk.streaming("asks_when_cancelled") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        talk.cancel()
        last = list(events)
    assert outcome_of(last) == "cancelled"
    assert outcomes(stage)[-1] == {"outcome": "cancelled"}


def test_a_question_that_expires_is_answered_cancelled_and_the_thread_goes_on(hasty: Stage) -> None:
    talk = Talk(hasty)
    (interrupt,) = interrupts_of(talk.say("tool"))
    session = talk.session
    eventually(lambda: {"outcome": "cancelled"} in outcomes(hasty))
    assert outcome_of(talk.resume(resolved(interrupt, {"approved": True}))) == "INTERRUPT_EXPIRED"
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"


@pytest.mark.parametrize(("policy", "chosen"), [("auto", "allow-once"), ("deny", "reject-once")])
def test_a_policy_answers_without_an_interrupt(stage: Stage, policy: str, chosen: str) -> None:
    events = Talk(stage, approvals=policy).say("tool")
    assert (outcome_of(events), text_of(events)) == ("success", f"chose {chosen}")


def test_a_policy_that_the_agents_file_does_not_allow_is_refused(stage: Stage) -> None:
    response = stage.post("strict", Talk(stage, "strict", approvals="auto").input("tool"))
    assert response.status_code == 422
    assert response.json()["capability"] == "custom.gateway.options.approvals"


def test_a_form_is_an_interrupt_with_its_schema_and_the_input_goes_back(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("form"))
    assert (interrupt["reason"], interrupt["message"]) == ("input_required", "Who?")
    assert interrupt["responseSchema"]["required"] == ["name"]
    assert outcome_of(talk.resume(resolved(interrupt, {"name": 7}))) == "RESUME_INVALID"
    events = talk.resume(resolved(interrupt, {"name": "Ann"}))
    assert json_of(events) == {"action": "accept", "content": {"name": "Ann"}}


def test_a_form_without_an_answer_is_cancelled(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("form"))
    assert json_of(talk.resume(cancelled(interrupt))) == {"action": "cancel"}


def test_a_request_after_the_turn_is_answered_without_the_user(stage: Stage) -> None:
    talk = Talk(stage, "bare")
    assert outcome_of(talk.say("late")) == "success"
    found: list[Any] = eventually(lambda: len(late := late_answers(stage)) == 4 and late)
    permission, file, vendor, stranger = found
    assert permission["result"] == {"outcome": {"outcome": "cancelled"}}
    assert [answer["error"]["code"] for answer in (file, vendor, stranger)] == [-32601, -32601, -32601]
    assert text_of(talk.say("hello")) == "You said: hello"


def late_answers(stage: Stage) -> list[Wire]:
    return [message for message in stage.received("bare") if "method" not in message]


def test_a_question_that_the_agent_takes_back_does_not_hold_up_other_threads(stage: Stage) -> None:
    talk = Talk(stage)
    (interrupt,) = interrupts_of(talk.say("withdraw"))
    request_id = int(interrupt["id"].rpartition(":")[2])
    eventually(lambda: [message for message in stage.received("plain") if message.get("id") == request_id])
    assert text_of(Talk(stage).say("hello")) == "You said: hello"
    assert text_of(talk.resume(resolved(interrupt, {"approved": True}))) == "word " * 10000
