"""Questions over real requests: asked in one run, answered in another, in whatever order life brings them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.events import Wire
from tests.agui.replay import accepted
from tests.runs.harness import (
    cancel,
    cancelled,
    eventually,
    interrupts_of,
    new_ids,
    played,
    resolved,
    staged,
    with_resume,
)
from tests.support.gateway import Gateway, events_of, text_of, types_of


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with staged(tmp_path_factory.mktemp("interrupts"), "interrupts", cancel_grace=2) as running:
        yield running


def resume(gateway: Gateway, agent: str, thread: str, *answers: Wire, **fields: Any) -> list[Wire]:
    response = gateway.post(agent, with_resume(thread, *answers, **fields))
    assert response.status_code == 200, response.text
    return accepted(events_of(response.text))


def ask(gateway: Gateway, agent: str, **fields: Any) -> tuple[str, str, list[Wire]]:
    """The thread, the run that asks and its questions."""
    ids = new_ids()
    return ids["threadId"], ids["runId"], interrupts_of(played(gateway, agent, **ids, **fields))


def test_an_answer_goes_on_with_the_same_turn(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks")
    events = resume(served, "asks", thread, resolved(question, True))
    assert text_of(events) == "a=resolved:True"
    assert "outcome" not in events[-1]


def test_one_turn_may_ask_again(served: Gateway) -> None:
    thread, _, (first,) = ask(served, "asks-twice")
    (second,) = interrupts_of(resume(served, "asks-twice", thread, resolved(first, 1)))
    assert text_of(resume(served, "asks-twice", thread, cancelled(second))) == "b=cancelled:None"


def test_two_questions_at_once_need_two_answers(served: Gateway) -> None:
    thread, _, (a, b) = ask(served, "asks-two-at-once")
    error = resume(served, "asks-two-at-once", thread, resolved(a))[-1]
    assert error["code"] == "RESUME_INCOMPLETE"
    events = resume(served, "asks-two-at-once", thread, resolved(b, 2), resolved(a, 1))
    assert text_of(events) == "a=resolved:1, b=resolved:2"


def test_an_answer_against_the_schema_is_refused_and_can_be_corrected(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks")
    error = resume(served, "asks", thread, resolved(question, "perhaps"))[-1]
    assert error["code"] == "RESUME_INVALID"
    assert "'perhaps' is not of type 'boolean'" in error["message"]
    assert text_of(resume(served, "asks", thread, resolved(question, False))) == "a=resolved:False"


def test_a_run_without_the_answer_is_answered_what_is_open(served: Gateway) -> None:
    thread, run_id, (question,) = ask(served, "asks")
    error = played(served, "asks", threadId=thread)[-1]
    assert error["code"] == "INTERRUPT_OPEN"
    assert question["id"] in error["message"]
    assert f"POST /runs/{run_id}/cancel" in error["message"]
    assert text_of(resume(served, "asks", thread, resolved(question, True))) == "a=resolved:True", "it waits still"


def test_a_question_that_no_client_could_read_fails_the_run_and_leaves_the_thread_free(served: Gateway) -> None:
    ids = new_ids()
    error = played(served, "asks-badly", **ids)[-1]
    assert "/outcome/interrupts/0/responseSchema" in error["message"]
    assert played(served, "asks-badly", threadId=ids["threadId"])[-1]["message"] == error["message"]


def test_a_schema_that_is_none_does_not_lock_the_thread(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks-with-a-broken-schema")
    events = resume(served, "asks-with-a-broken-schema", thread, resolved(question, "anything"))
    assert text_of(events) == "a=resolved:anything"


def test_an_agent_may_ask_for_a_new_turn_instead_of_waiting(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks-for-a-new-turn")
    assert question == {"id": "stateless", "reason": "confirmation", "responseSchema": {"type": "boolean"}}
    error = resume(served, "asks-for-a-new-turn", thread, resolved(question, 5))[-1]
    assert error["code"] == "RESUME_INVALID"
    events = resume(served, "asks-for-a-new-turn", thread, resolved(question, True))
    assert text_of(events) == "stateless=resolved:True"


def test_a_subagent_that_waited_goes_on_under_its_name(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "delegates")
    assert question["subagentRunId"] == "scout"
    events = resume(served, "delegates", thread, resolved(question))
    assert types_of(events) == [
        "RUN_STARTED",
        "SUBAGENT_STARTED",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "SUBAGENT_FINISHED",
        "RUN_FINISHED",
    ]
    assert all(event["subagentRunId"] == "scout" for event in events[1:-1])


# -- again


def test_a_resume_that_is_sent_again_is_answered_again(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks")
    answer = resolved(question, True)
    first = with_resume(thread, answer)
    accepted(events_of(served.post("asks", first).text))
    again = accepted(events_of(served.post("asks", first | {"runId": "again-" + first["runId"]}).text))
    assert types_of(again) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    shown = [(message["role"], message["content"]) for message in again[1]["messages"]]
    assert shown[1] == ("assistant", "May I? ")
    assert shown[2:] == [("user", "the answer is in `resume`"), ("assistant", "a=resolved:True")]


def test_what_a_client_has_and_the_gateway_has_not_survives_a_repetition(served: Gateway) -> None:
    thread, _, (first,) = ask(served, "asks-twice")
    (second,) = interrupts_of(resume(served, "asks-twice", thread, resolved(first)))
    draft = {"id": "draft", "role": "user", "content": "not sent before"}
    again = resume(served, "asks-twice", thread, resolved(first), messages=[draft])
    assert interrupts_of(again) == [second], "and what is open now"
    assert draft in again[1]["messages"]


def test_an_answered_thread_takes_new_messages_though_the_resume_is_still_there(served: Gateway) -> None:
    thread, _, (question,) = ask(served, "asks-for-a-new-turn")
    resume(served, "asks-for-a-new-turn", thread, resolved(question, True))
    events = resume(served, "asks-for-a-new-turn", thread, resolved(question, True))
    assert text_of(events) == "stateless=resolved:True", "its user message is new, so the agent is asked"


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
def test_another_answer_to_what_was_answered_fails_once(served: Gateway, status: str) -> None:
    thread, _, (question,) = ask(served, "asks")
    resume(served, "asks", thread, resolved(question, True))
    other = {"interruptId": question["id"], "status": status} | ({"payload": False} if status == "resolved" else {})
    assert resume(served, "asks", thread, other)[-1]["code"] == "INTERRUPT_ANSWERED"
    assert resume(served, "asks", thread, other, messages=[])[-1]["type"] == "RUN_FINISHED"


def test_an_answer_to_nothing_fails_once(served: Gateway) -> None:
    thread, stranger = new_ids()["threadId"], {"interruptId": "never-asked", "status": "cancelled"}
    assert resume(served, "asks", thread, stranger)[-1]["code"] == "INTERRUPT_UNKNOWN"
    assert resume(served, "asks", thread, stranger, messages=[])[-1]["type"] == "RUN_FINISHED"


# -- time, and giving up


def test_a_question_that_the_client_does_not_answer_in_time_is_answered_cancelled(
    served: Gateway, tmp_path: Path
) -> None:
    file = tmp_path / "heard.txt"
    thread, _, (a, b) = ask(served, "asks-for-a-moment", forwardedProps={"file": str(file)})
    assert eventually(lambda: file.exists() and file.read_text()) == "a=cancelled:None, b=cancelled:None\n"
    error = resume(served, "asks-for-a-moment", thread, resolved(a), resolved(b))[-1]
    assert error["code"] == "INTERRUPT_EXPIRED"
    assert resume(served, "asks-for-a-moment", thread, cancelled(a), cancelled(b), messages=[])[-1]["type"] == (
        "RUN_FINISHED"
    )


def test_an_expired_question_is_not_in_the_way_of_the_next_run(served: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "heard.txt"
    thread, *_ = ask(served, "asks-for-a-moment", forwardedProps={"file": str(file)})
    eventually(file.exists)
    assert interrupts_of(played(served, "asks-for-a-moment", threadId=thread, forwardedProps={"file": str(file)}))


def test_a_parked_turn_can_be_cancelled_by_its_run(served: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "heard.txt"
    thread, run_id, (question,) = ask(served, "waits-to-be-stopped", forwardedProps={"file": str(file)})
    assert cancel(served, run_id) == "cancelled"
    assert file.read_text().splitlines()[-1] == "stopped"
    assert cancel(served, run_id) == "over"
    assert resume(served, "waits-to-be-stopped", thread, cancelled(question), messages=[])[-1]["type"] == "RUN_FINISHED"


def test_a_question_without_a_turn_can_be_given_up_too(served: Gateway) -> None:
    thread, run_id, _ = ask(served, "asks-for-a-new-turn")
    assert cancel(served, run_id) == "cancelled"
    assert interrupts_of(played(served, "asks-for-a-new-turn", threadId=thread))


# -- restarts


def test_after_a_restart_a_waiting_turn_is_lost_once_and_the_thread_goes_on(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "interrupts")
    with gateway:
        thread, run_id, (question,) = ask(gateway, "asks")
        stateless, _, (later,) = ask(gateway, "asks-for-a-new-turn")
        gateway.kill()
        gateway.start()
        shown = gateway.client.get(f"/agents/asks/threads/{thread}").json()
        assert (shown["status"], shown["interrupts"], shown["pendingRunId"]) == ("idle", [], None)
        assert shown["expiredInterrupts"] == [{**question, "cause": "gateway-restarted"}]
        listed = gateway.client.get("/agents/asks/threads").json()["threads"]
        assert [each["status"] for each in listed if each["threadId"] == thread] == ["idle"]
        assert resume(gateway, "asks", thread, resolved(question, True), messages=[])[-1]["code"] == "TURN_LOST"
        again = resume(gateway, "asks", thread, resolved(question, True), messages=[])
        assert types_of(again) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        assert cancel(gateway, run_id) == "over"
        events = resume(gateway, "asks-for-a-new-turn", stateless, resolved(later, True))
        assert text_of(events) == "stateless=resolved:True", "what no client waits for is not lost"


def test_after_a_restart_the_next_message_goes_on_and_asks_again(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "interrupts")
    with gateway:
        thread, _, (question,) = ask(gateway, "asks")
        gateway.kill()
        gateway.start()
        (again,) = interrupts_of(played(gateway, "asks", threadId=thread))
        shown = gateway.client.get(f"/agents/asks/threads/{thread}").json()
        assert (shown["status"], shown["interrupts"], shown["expiredInterrupts"]) == ("blocked", [again], [])


def test_what_expired_is_shown_until_the_thread_goes_on(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "interrupts", interrupt_ttl=0.05)
    with gateway:
        thread, _, (question,) = ask(gateway, "asks")
        path = f"/agents/asks/threads/{thread}"
        expired = eventually(lambda: gateway.client.get(path).json()["expiredInterrupts"])
        assert expired == [{**question, "cause": "not-answered-in-time"}]


def test_a_waiting_turn_ends_with_the_gateway(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "interrupts", shutdown_grace=30)
    file = tmp_path / "heard.txt"
    with gateway:
        thread, _, (question,) = ask(gateway, "waits-to-be-stopped", forwardedProps={"file": str(file)})
        assert gateway.terminate() == 0
        assert file.read_text() == "stopped\n", "at once: no client can answer any more"
        gateway.start()
        assert resume(gateway, "waits-to-be-stopped", thread, cancelled(question))[-1]["code"] == "TURN_LOST"
