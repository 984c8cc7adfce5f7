"""What an ACP agent does in a turn, as a client of the gateway sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agui.replay import accepted
from tests.behaviour.acp.harness import Stage, Talk, custom, json_of, of_type, outcome_of, warnings_of
from tests.runs.harness import eventually
from tests.support.gateway import text_of, types_of

CONTENT = "TEXT_MESSAGE_CONTENT"


def test_text_is_one_message(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("hello")  # a first run also reports what its session can do
    events = talk.say("hello there")
    assert types_of(events) == ["RUN_STARTED", "TEXT_MESSAGE_START", CONTENT, "TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert text_of(events) == "You said: hello there"


def test_thoughts_are_reasoning_and_the_answer_is_another_message(stage: Stage) -> None:
    events = Talk(stage).say("think")
    thought, answers = of_type(events, "REASONING_MESSAGE_CONTENT"), of_type(events, CONTENT)
    assert [event["delta"] for event in (*thought, *answers)] == ["Let me see. ", "Done."]
    assert thought[0]["messageId"] != answers[0]["messageId"]


def test_many_chunks_come_whole_and_in_few_events(stage: Stage) -> None:
    events = Talk(stage).say("many 20000")
    assert text_of(events) == "word " * 20000
    assert len(events) < 2000


def test_a_tool_call_has_events_from_its_start_to_its_result(stage: Stage) -> None:
    events = Talk(stage).say("tools")
    edit = [event for event in events if event.get("toolCallId", "").endswith(":c1")]
    assert types_of(edit) == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    start, args, end, result = edit
    assert (start["toolCallName"], start["metadata"]["acp"]["title"]) == ("edit", "Edit a.txt")
    assert args["delta"] == '{"path":"a.txt"}'
    assert end["metadata"]["acp"]["locations"] == [{"path": "/a.txt"}]
    assert result["metadata"]["acp"]["diffs"] == [{"path": "/a.txt", "oldText": "1", "newText": "2"}]
    assert result["content"].endswith("done")


def test_failed_and_forgotten_calls_have_a_result_too(stage: Stage) -> None:
    results = {event["metadata"]["acp"]["id"]: event for event in of_type(Talk(stage).say("tools"), "TOOL_CALL_RESULT")}
    assert {name: event["metadata"]["acp"]["status"] for name, event in results.items()} == {
        "c1": "completed",
        "c2": "failed",
        "c3": "unknown",
    }
    assert results["c2"]["content"] == "no network"


def test_the_same_call_ids_in_two_turns_are_two_calls(stage: Stage) -> None:
    talk = Talk(stage)
    calls = {event["toolCallId"] for _ in range(2) for event in of_type(talk.say("tools"), "TOOL_CALL_START")}
    assert len(calls) == 6


def test_a_plan_is_one_activity_that_changes(stage: Stage) -> None:
    events = of_type(Talk(stage).say("plan"), "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    first, *later = events
    assert (first["activityType"], first["content"]["entries"][0]["status"]) == ("plan", "pending")
    assert [event["patch"][0]["value"] for event in later] == ["in_progress", "completed"]
    assert len({event["messageId"] for event in events}) == 1


def test_a_tools_growing_output_is_an_activity_that_grows(stage: Stage) -> None:
    events = Talk(stage).say("print")
    first, *later = of_type(events, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    shown = [*first["content"]["output"], *(event["patch"][0]["value"] for event in later)]
    assert (first["activityType"], shown) == ("tool_output", ["one\n", "two\n", "three\n"])
    assert of_type(events, "TOOL_CALL_RESULT")[0]["content"] == "one\ntwo\nthree\n"


def test_a_terminals_output_is_shown_while_its_command_runs(stage: Stage) -> None:
    gate = stage.workspace / "gate"
    talk = Talk(stage)
    command = f"echo before; until [ -e {gate} ]; do sleep 0.01; done; echo after; exit 3"
    with talk.streaming(f"terminal {command}") as events:
        seen: list[dict[str, Any]] = []
        while "before\n" not in terminal_output(seen):
            seen.append(next(events))
        assert not of_type(seen, "TOOL_CALL_RESULT")
        gate.touch()
        seen.extend(events)
    accepted(seen)
    assert "".join(terminal_output(seen)) == "before\nafter\n"
    result = of_type(seen, "TOOL_CALL_RESULT")[0]
    assert (result["content"], result["metadata"]["acp"]["exitCode"]) == ("before\nafter\n", 3)
    assert json_of(seen)["exit"] == {"exitCode": 3, "signal": None}


def terminal_output(events: list[dict[str, Any]]) -> list[str]:
    patches = [patch for event in of_type(events, "ACTIVITY_DELTA") for patch in event["patch"]]
    return [patch["value"] for patch in patches if patch["path"] == "/output/-"]


def test_a_terminals_flood_costs_no_more_than_is_kept_of_it(stage: Stage) -> None:
    events = Talk(stage).say("terminal yes | head -c 8000000")
    result = json_of(events)["output"]
    assert result["truncated"] and len(result["output"]) == 1024 * 1024
    assert events[-1]["type"] == "RUN_FINISHED"


def test_a_terminal_that_is_killed_keeps_its_output_until_it_is_released(stage: Stage) -> None:
    talk = Talk(stage)
    where = json.dumps(json_of(talk.say("leave_running echo hi; sleep 600")))

    def call(method: str) -> Any:
        return json_of(talk.say(f"call terminal/{method} {where}"))

    eventually(lambda: call("output") == {"output": "hi\n", "truncated": False})
    assert call("kill") == {}
    assert call("output")["output"] == "hi\n"
    assert call("wait_for_exit") == {"exitCode": None, "signal": "SIGKILL"}
    assert call("release") == {}
    assert call("output")["code"] == -32602


def test_a_character_that_a_terminal_prints_in_two_writes_is_whole(stage: Stage) -> None:
    events = Talk(stage).say(r"terminal printf '\303'; sleep 0.2; printf '\251'")
    assert "".join(terminal_output(events)) == "é"


def test_unknown_messages_are_passed_on_raw_and_noise_is_ignored(stage: Stage) -> None:
    events = Talk(stage).say("noise")
    raw = [event["event"] for event in of_type(events, "RAW")]
    vendor = {"method": "_vendor/chatter", "params": {"sessionId": raw[1]["params"]["sessionId"]}}
    assert raw == ["nonsense", vendor, {"sessionUpdate": "moon_phase", "phase": "full"}]
    assert text_of(events) == "heard"


def test_token_counts_come_with_the_end(stage: Stage) -> None:
    assert Talk(stage).say("hello")[-1]["usage"] == [{"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}]


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal"])
def test_an_unusual_end_is_a_finished_run_with_its_reason(stage: Stage, reason: str) -> None:
    events = Talk(stage).say(f"stop {reason}")
    assert (outcome_of(events), events[-1]["result"]) == ("success", {"stopReason": reason})


def test_a_turn_that_the_agent_cancels_by_itself_is_a_cancelled_run(stage: Stage) -> None:
    assert outcome_of(Talk(stage).say("stop cancelled")) == "cancelled"


def test_an_empty_turn_causes_a_warning(stage: Stage) -> None:
    events = Talk(stage).say("empty")
    assert (warnings_of(events), outcome_of(events)) == (["EMPTY_TURN"], "success")


def test_an_error_response_is_a_failed_run_with_the_agents_text(stage: Stage) -> None:
    talk = Talk(stage)
    events = talk.say("refuse")
    assert outcome_of(events) == "AGENT_ERROR"
    assert "the model is on holiday" in events[-1]["message"]
    assert text_of(talk.say("hello")) == "You said: hello"


def test_what_comes_right_after_the_end_still_belongs_to_the_turn(stage: Stage) -> None:
    assert text_of(Talk(stage).say("afterwards")) == "You said: afterwards A moment later."


def test_version_two_ends_its_turns_by_an_update_and_goes_on(stage: Stage) -> None:
    talk = Talk(stage, "second")
    events = talk.say("hello")
    assert (text_of(events), outcome_of(events)) == ("You said: hello", "success")
    eventually(lambda: stage.asks(talk.path)["session"].get("info", {}).get("title"))
    session = talk.session
    assert text_of(talk.say("again")) == "You said: again"
    assert talk.session == session
    assert outcome_of(talk.say("stop max_tokens")) == "success"


def test_settings_of_a_run_reach_the_agent_before_its_prompt(stage: Stage) -> None:
    talk = Talk(stage, "full", mode="auto", model="large", effort="high")
    talk.say("hello")
    sent = [message["method"] for message in stage.received("full", talk.session)]
    assert sent == ["session/set_model", "session/set_mode", "session/set_config_option", "session/prompt"]


def test_an_unknown_setting_fails_the_run_and_lists_the_known_ones(stage: Stage) -> None:
    events = Talk(stage, "full", model="huge").say("hello")
    assert outcome_of(events) == "CAPABILITY_ERROR"
    assert "small, large" in events[-1]["message"]


def test_directories_that_the_agent_does_not_take_cause_one_warning(stage: Stage) -> None:
    (stage.workspace / "more").mkdir(exist_ok=True)
    talk = Talk(stage, additionalDirectories=["more"])
    assert warnings_of(talk.say("hello")) == ["DIRECTORIES_DROPPED"]
    assert warnings_of(talk.say("hello")) == []
    full = Talk(stage, "full", additionalDirectories=["more"])
    assert warnings_of(full.say("hello")) == []
    opened = stage.received("full", method="session/new")[-1]["params"]
    assert opened["additionalDirectories"] == [str(stage.workspace / "more")]


def test_an_image_reaches_an_agent_that_takes_images(stage: Stage) -> None:
    picture = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    talk = Talk(stage)
    talk.say("hello")
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}, picture]}
    talk.say("", messages=[message])
    assert talk.prompts[-1] == "look\nimage"


def test_changes_of_a_session_are_events(stage: Stage) -> None:
    talk = Talk(stage, "second")
    talk.say("hello")
    eventually(lambda: stage.asks(talk.path)["session"].get("info", {}).get("title"))
    assert custom(talk.say("hello"), "session.info") == [{"title": "Two lines in one write"}]
