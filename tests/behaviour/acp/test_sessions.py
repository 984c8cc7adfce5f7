"""A thread and its agent's session: reused, shared, closed, resumed, abandoned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage, Talk, outcome_of, pid_of, warnings_of
from tests.drivers.process_watch import alive
from tests.runs.harness import attached, eventually, interrupts_of, until
from tests.support.gateway import text_of
from tests.web.problem import problem_in

GRACE = 0.5


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Idle sessions are closed at once, and turns that do not end are abandoned soon."""
    stage = Stage(tmp_path_factory.mktemp("hasty"), session_idle_timeout=0.2, cancel_grace=GRACE)
    stage.agent("plain").agent("bare", "--bare").agent("full", "--full").agent(
        "alone", acp={"sessions_per_process": "one"}
    )
    with stage:
        yield stage


def closed(talk: Talk) -> None:
    """Until the gateway has closed the thread's session."""
    eventually(lambda: not talk.stage.asks(talk.path)["session"]["open"])


# -- kept


def test_two_turns_go_to_one_session_and_a_prompt_has_only_what_is_new(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("hello")
    session = talk.session
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"
    assert talk.prompts == ["hello", "turns"]


def test_an_agents_own_tool_results_are_not_sent_back_to_it(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("tools")
    talk.say("and now")
    assert talk.prompts == ["tools", "and now"]


def test_a_message_that_the_client_retries_is_prompted_again(stage: Stage) -> None:
    talk = Talk(stage)
    body = talk.input("refuse")
    stage.post("plain", body)
    stage.post("plain", body | {"runId": "again"})
    assert talk.prompts == ["refuse", "refuse"]


def test_a_run_without_a_new_message_fails_with_the_reason(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("hello")
    events = talk.say("", messages=[{"id": "a", "role": "assistant", "content": "mine"}])
    assert (outcome_of(events), talk.prompts) == ("INVALID_INPUT", ["hello"])
    assert text_of(talk.say("again")) == "You said: again"


def test_threads_share_a_process(stage: Stage) -> None:
    talks = Talk(stage), Talk(stage)
    for talk in talks:
        talk.say("hello")
    first, second = (talk.session for talk in talks)
    assert first != second
    assert pid_of(first) == pid_of(second)


def test_threads_have_a_process_each_where_it_takes_one_session_only(stage: Stage) -> None:
    talks = Talk(stage, "alone"), Talk(stage, "alone")
    with ThreadPoolExecutor() as pool:  # at the same time: both find that there is none yet
        list(pool.map(lambda talk: talk.say("hello"), talks))
    first, second = (talk.session for talk in talks)
    assert pid_of(first) != pid_of(second)
    assert text_of(talks[0].say("turns")) == f"turns: 2, in {first}"


# -- closed and brought back


def test_an_idle_session_is_closed_and_comes_back_with_only_what_is_new(hasty: Stage) -> None:
    talk = Talk(hasty)
    talk.say("tools")
    session = talk.session
    closed(talk)
    assert hasty.received("plain", session, "session/close")
    events = talk.say("turns")
    assert (text_of(events), warnings_of(events)) == (f"turns: 2, in {session}", [])
    assert hasty.received("plain", session, "session/load")
    assert talk.prompts == ["tools", "turns"]


def test_a_session_is_resumed_rather_than_loaded_where_the_agent_can(hasty: Stage) -> None:
    talk = Talk(hasty, "full")
    talk.say("hello")
    session = talk.session
    closed(talk)
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"
    assert [message["method"] for message in hasty.received("full", session)].count("session/resume") == 1
    assert not hasty.received("full", session, "session/load")


def test_a_session_that_cannot_be_resumed_is_a_new_one_with_the_whole_conversation(hasty: Stage) -> None:
    talk = Talk(hasty, "bare")
    talk.say("my name is Ann")
    session = talk.session
    closed(talk)
    events = talk.say("who am I?")
    assert (warnings_of(events), talk.session != session) == (["HISTORY_REPLAYED"], True)
    (prompt,) = talk.prompts
    assert "user: my name is Ann" in prompt and "assistant: You said: my name is Ann" in prompt
    assert prompt.endswith("who am I?")
    assert warnings_of(talk.say("go on")) == []


def test_a_lost_session_causes_a_warning_even_without_history(hasty: Stage) -> None:
    talk = Talk(hasty, "bare")
    talk.say("hello")
    closed(talk)
    only = [{"id": "new", "role": "user", "content": "and now"}]
    assert warnings_of(talk.say("", messages=only)) == ["SESSION_NOT_RESUMED"]


def test_a_session_is_idle_too_after_a_cancelled_interrupt_or_a_refused_run(hasty: Stage) -> None:
    interrupted, refused = Talk(hasty), Talk(hasty, mode="none such")
    interrupts_of(interrupted.say("tool"))
    interrupted.cancel()
    assert outcome_of(refused.say("hello")) == "CAPABILITY_ERROR"
    closed(interrupted)
    closed(refused)


def test_a_session_that_waits_for_an_answer_is_not_idle(hasty: Stage) -> None:
    waiting, other = Talk(hasty), Talk(hasty)
    (interrupt,) = interrupts_of(waiting.say("tool"))
    other.say("hello")
    closed(other)
    assert hasty.asks(waiting.path)["session"]["open"]
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    assert text_of(waiting.resume(answer)) == "chose allow-once"


def test_a_process_for_one_session_ends_with_it(hasty: Stage) -> None:
    talk = Talk(hasty, "alone")
    talk.say("hello")
    pid = pid_of(talk.session)
    assert alive(pid)
    eventually(lambda: not alive(pid))


def test_a_session_that_the_agent_has_forgotten_fails_one_run_only(stage: Stage) -> None:
    talk = Talk(stage)
    assert outcome_of(talk.say("forget")) == "SESSION_NOT_FOUND"
    assert warnings_of(talk.say("hello")) == ["HISTORY_REPLAYED"]
    assert text_of(talk.say("hello")) == "You said: hello"


def test_a_session_outlives_the_gateway(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.agent("plain", stage.state("plain"))
    talk = Talk(stage)
    with stage:
        talk.say("tools")
        session = talk.session
        assert stage.terminate() == 0
        stage.start()
        events = talk.say("turns")
    assert (text_of(events), warnings_of(events)) == (f"turns: 2, in {session}", [])
    assert stage.prompts("plain", session) == ["tools", "turns"]


def test_a_session_whose_process_died_comes_back_in_another(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.agent("plain", stage.state("plain"))
    talk = Talk(stage)
    with stage:
        assert outcome_of(talk.say("die")) == "AGENT_DIED"
        assert text_of(talk.say("turns")).startswith("turns: 2, in ")
        assert len(stage.received("plain", method="initialize")) == 2


def test_a_fork_of_a_session_is_a_session_of_its_own_and_shows_no_replay(stage: Stage) -> None:
    first = Talk(stage, "full")
    first.say("hello")
    second = Talk(stage, "full", forkSessionId=first.session)
    assert text_of(second.say("turns")) == f"turns: 2, in {second.session}"
    assert first.session != second.session


def test_a_fork_that_the_agent_does_not_offer_is_refused_with_the_reason(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.agent("plain")
    with stage:
        # What the agent can is found out before the first run.
        refused = stage.post("plain", Talk(stage, "plain", forkSessionId="s1").input("hello"))
        problem = problem_in(refused, 422, "CAPABILITY_ERROR")
        assert (problem["capability"], problem["pointer"]) == (
            "custom.acp.forkSession",
            "/forwardedProps/gateway/forkSessionId",
        )


# -- signing in


def test_an_agent_that_wants_authentication_gets_it_by_the_method_of_its_file(stage: Stage) -> None:
    assert text_of(Talk(stage, "signs-in").say("hello")) == "You said: hello"
    sent = [message["method"] for message in stage.received("signs-in")]
    assert sent == ["initialize", "session/new", "authenticate", "session/new", "session/prompt"]


def test_an_agent_that_wants_authentication_only_when_prompted_gets_it_then(stage: Stage) -> None:
    assert text_of(Talk(stage, "signs-in-late").say("hello")) == "You said: hello"
    sent = [message["method"] for message in stage.received("signs-in-late")]
    assert sent == ["initialize", "session/new", "session/prompt", "authenticate", "session/prompt"]


@pytest.mark.parametrize("agent", ["signed-out", "signed-out-late"])
def test_without_a_method_the_run_fails_with_the_hint(stage: Stage, agent: str) -> None:
    events = Talk(stage, agent).say("hello")
    assert outcome_of(events) == "AUTH_REQUIRED"
    assert events[-1]["message"].endswith("Authentication required. Run `scripted login`.")
    assert stage.asks(f"/agents/{agent}")["availability"]["status"] == "needs-auth"


# -- stopping


def test_a_client_that_disconnects_cancels_its_turn_and_the_session_goes_on(stage: Stage) -> None:
    talk = Talk(stage)
    with talk.streaming("slow") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
    assert outcome_of(attached(stage, talk.runs[-1])) == "cancelled"
    session = talk.session
    assert stage.received("plain", session, "session/cancel")
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"


def test_a_client_may_leave_and_let_the_turn_go_on(stage: Stage) -> None:
    talk, other = Talk(stage, onDisconnect="continue"), Talk(stage)
    with talk.streaming("hold") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
    other.say("release")
    events_of_it = attached(stage, talk.runs[-1])
    assert (text_of(events_of_it), outcome_of(events_of_it)) == ("holding", "success")


def test_a_session_is_usable_after_a_cancelled_turn(stage: Stage) -> None:
    talk = Talk(stage)
    with talk.streaming("slow") as events:
        until(events, "TEXT_MESSAGE_CONTENT")
        assert talk.cancel() == "cancelling"
        assert outcome_of(list(events)) == "cancelled"
    session = talk.session
    assert text_of(talk.say("turns")) == f"turns: 2, in {session}"


def test_a_turn_that_does_not_end_is_abandoned_and_the_thread_goes_on(hasty: Stage) -> None:
    talk, neighbour = Talk(hasty, "bare"), Talk(hasty, "bare")
    with neighbour.streaming("slow") as others, talk.streaming("stubborn") as events:
        until(others, "TEXT_MESSAGE_CONTENT")
        until(events, "TEXT_MESSAGE_CONTENT")
        stuck = talk.session
        began = time.monotonic()
        talk.cancel()
        assert outcome_of(list(events)) == "cancelled"
        assert time.monotonic() - began < GRACE + 5
        again = talk.say("turns")
        assert warnings_of(again) == ["HISTORY_REPLAYED"]
        assert pid_of(talk.session) != pid_of(stuck)
        until(others, "TEXT_MESSAGE_CONTENT")  # its process has another session, so it lives
        assert alive(pid_of(stuck))
    eventually(lambda: not alive(pid_of(stuck)))


def test_a_run_can_be_stopped_while_its_agent_starts(stage: Stage) -> None:
    talk = Talk(stage, "never")
    with talk.streaming("hello") as events:
        until(events, "RUN_STARTED")
        began = time.monotonic()
        assert talk.cancel() == "cancelling"
        assert outcome_of(list(events)) == "cancelled"
    assert time.monotonic() - began < 10


def test_a_thread_that_was_forked_goes_on_without_loading_the_session_that_is_open(stage: Stage) -> None:
    """mistral-vibe sends everything twice after `session/load` of a session that is open in the same process."""
    talk = Talk(stage, "full")
    talk.say("hello")
    before = len(stage.received("full", method="session/load")) + len(stage.received("full", method="session/resume"))
    fork = talk.copy(stage.asks(f"{talk.path}/fork", {}, status=201)["threadId"])
    assert text_of(fork.say("turns")) == f"turns: 2, in {fork.session}"
    assert fork.session != talk.session
    after = len(stage.received("full", method="session/load")) + len(stage.received("full", method="session/resume"))
    assert after == before
    modes = stage.asks(f"/agents/full/capabilities?thread={fork.id}")["custom"]["session"]["modes"]
    assert modes["current"] == "ask", "its settings are those of the answer to session/fork"
    assert text_of(talk.say("turns")) == f"turns: 2, in {talk.session}"


def test_a_forked_thread_with_other_parameters_closes_the_open_session_first(stage: Stage) -> None:
    (stage.workspace / "elsewhere").mkdir(exist_ok=True)
    talk = Talk(stage, "full")
    talk.say("hello")
    forked = stage.asks(f"{talk.path}/fork", {}, status=201)
    fork = talk.copy(forked["threadId"])
    events = fork.say("turns", forwardedProps={"gateway": {"cwd": "elsewhere"}})
    assert text_of(events) == f"turns: 2, in {fork.session}"
    methods = [message["method"] for message in stage.received("full", fork.session)]
    assert methods[:2] == ["session/close", "session/resume"]


def test_a_session_that_is_loaded_without_its_history_is_told_the_conversation_again(tmp_path: Path) -> None:
    """fast-agent answered `session/load` after many sessions, replayed nothing, and its model knew nothing."""
    stage = Stage(tmp_path)
    stage.agent("forgetful", "--loses-history")
    with stage:
        talk = Talk(stage, "forgetful")
        talk.say("my fruit is PAPAYA")
        stage.asks(f"{talk.path}/close", {})
        events = talk.say("what fruit")
        assert warnings_of(events) == ["HISTORY_REPLAYED"]
        assert "PAPAYA" in talk.prompts[-1]
