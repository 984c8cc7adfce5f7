"""The demo's scenes that do not wait for the client, each through a real gateway."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonpatch
import pytest

from agents.demo.attachments import OWN_PICTURE
from agents.demo.client_tools import report_results
from agents.demo.scenes import (
    FIRST_COMMANDS,
    SCENES,
    Scene,
    help_,
    list_commands,
    refuse_changes,
    repeat_prompt,
    scene_for,
)
from agents.demo.text_messages import MAX_LONG_PIECES, read_count
from gateway.events import Wire
from gateway.turn import Options, Turn
from tests.agents.demo_runs import UNMERGED, check_order, new_thread, of_type, play, tool_calls, tool_results
from tests.support.gateway import Gateway, text_of, types_of

IMAGE = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
AUDIO = {"type": "audio", "source": {"type": "url", "value": "https://example.org/a.mp3", "mimeType": "audio/mpeg"}}
VIDEO = {"type": "video", "source": {"type": "file", "value": "file-7", "provider": "acme"}}
PDF = {"type": "document", "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"}}


def turn(content: str | list[dict[str, Any]], *more: dict[str, Any]) -> Turn:
    return Turn("t", "r", messages=[{"id": "1", "role": "user", "content": content}, *more])


# -- which scene is played


@pytest.mark.parametrize(
    ("keyword", "scene"), [(keyword, scene) for keywords, scene in SCENES.items() for keyword in keywords]
)
def test_every_keyword_plays_its_scene_in_any_case_and_inside_a_sentence(keyword: str, scene: Scene) -> None:
    assert scene_for(turn(keyword)) is scene.play
    assert scene_for(turn(f"Now, {keyword.upper()}!")) is scene.play


@pytest.mark.parametrize(
    ("text", "keyword"),
    [("long live the tool", "tool"), ("tool tools", "tools"), ("an error, help!", "help"), ("state a plan", "state")],
)
def test_of_two_keywords_the_one_that_comes_first_in_the_table_wins(text: str, keyword: str) -> None:
    assert scene_for(turn(text)) is scene_for_keyword(keyword).play


@pytest.mark.parametrize("text", ["information", "a toolbox", "slowly", "two more approvals", "你好", "?"])
def test_a_keyword_inside_another_word_does_not_count(text: str) -> None:
    assert scene_for(turn(text)) is repeat_prompt


@pytest.mark.parametrize("messages", [[], [{"id": "1", "role": "user", "content": " \n"}]])
def test_an_empty_prompt_gets_help(messages: list[dict[str, Any]]) -> None:
    assert scene_for(Turn("t", "r", messages=messages)) is help_


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.play.__name__)
def test_in_the_mode_plan_nothing_is_changed(scene: Scene) -> None:
    keyword = next(keywords[0] for keywords, other in SCENES.items() if other is scene)
    planned = replace(turn(keyword), options=Options(mode="plan"))
    assert scene_for(planned) is (refuse_changes if scene.makes_changes else scene.play)


@pytest.mark.parametrize("keyword", ["approve", "two approvals"])
def test_in_the_mode_auto_there_is_no_interrupt(gateway: Gateway, keyword: str) -> None:
    events = play(gateway, keyword, forwardedProps={"gateway": {"mode": "auto"}})
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "outcome" not in events[-1]
    assert all("is deleted" in result for result in tool_results(events).values())


def test_every_listed_command_is_a_keyword() -> None:
    played = {scene_for(turn(f"/{command['name']}")) for command in list_commands()}
    assert played == {scene.play for scene in SCENES.values()}
    assert [command["name"] for command in list_commands()][: len(FIRST_COMMANDS)] == list(FIRST_COMMANDS)


@pytest.mark.parametrize("part", [IMAGE, AUDIO, VIDEO, PDF])
def test_an_attachment_chooses_the_image_scene_whatever_the_text(part: dict[str, Any]) -> None:
    assert scene_for(turn([part])) is scene_for_keyword("image").play
    assert scene_for(turn([{"type": "text", "text": "what is this?"}, part])) is scene_for_keyword("image").play


def test_results_of_client_tools_come_before_any_keyword() -> None:
    assert scene_for(turn("think", {"id": "2", "role": "tool", "toolCallId": "c", "content": "ok"})) is report_results


def scene_for_keyword(keyword: str) -> Scene:
    return next(scene for keywords, scene in SCENES.items() if keyword in keywords)


# -- the scenes


@pytest.mark.parametrize("text", ["help", ""])
def test_help_names_every_keyword_in_a_markdown_list(gateway: Gateway, text: str) -> None:
    lines = re.findall(r"^- (.+?): (.+)$", text_of(play(gateway, text)), re.MULTILINE)
    named = [(tuple(re.findall(r"`([^`]+)`", keywords)), summary) for keywords, summary in lines]
    assert named == [(keywords, scene.summary) for keywords, scene in SCENES.items()]


def test_anything_else_is_repeated_with_a_hint_at_help(gateway: Gateway) -> None:
    answer = text_of(play(gateway, "  good \n morning "))
    assert "“good morning”" in answer
    assert "`help`" in answer


def test_a_long_text_is_repeated_only_in_part(gateway: Gateway) -> None:
    assert len(text_of(play(gateway, "blah " * 5_000))) < 400


def test_thinking_streams_before_the_answer(gateway: Gateway) -> None:
    events = play(gateway, "think", forwardedProps=UNMERGED)
    kinds = types_of(events)
    assert kinds.count("REASONING_MESSAGE_CONTENT") > 3
    assert kinds.count("TEXT_MESSAGE_CONTENT") > 3
    assert kinds.index("REASONING_END") < kinds.index("TEXT_MESSAGE_START")


def test_a_tool_call_streams_its_arguments_and_has_a_result_before_the_answer(gateway: Gateway) -> None:
    events = play(gateway, "tool", forwardedProps=UNMERGED)
    ((call, name_and_arguments),) = tool_calls(events).items()
    assert name_and_arguments == ("get_weather", {"city": "Oslo"})
    assert len(of_type(events, "TOOL_CALL_ARGS")) > 1
    assert tool_results(events) == {call: "Oslo: snow, -3 °C"}
    answer = events[types_of(events).index("TOOL_CALL_RESULT") :]
    assert "In Oslo it is snow, -3 °C." in text_of(answer)


def test_two_tool_calls_at_once_interleave_their_arguments(gateway: Gateway) -> None:
    events = play(gateway, "tools")
    calls = tool_calls(events)
    assert list(calls.values()) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lisbon"})]
    assert [event["toolCallId"] for event in of_type(events, "TOOL_CALL_ARGS")] == [*calls] * 3
    assert tool_results(events) == dict(zip(calls, ["Oslo: snow, -3 °C", "Lisbon: sun, 24 °C"], strict=True))
    assert len({event["parentMessageId"] for event in of_type(events, "TOOL_CALL_START")}) == 1
    assert types_of(events)[-3:] == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]


@pytest.mark.parametrize(
    ("client_state", "client_keys"), [({"mine": 1, "progress": 7}, {"mine": 1}), ([1, 2], {}), (..., {})], ids=str
)
def test_state_is_merged_into_the_clients_and_then_patched(
    gateway: Gateway, client_state: Any, client_keys: dict[str, Any]
) -> None:
    events = play(gateway, "state", state=client_state)
    (snapshot,) = of_type(events, "STATE_SNAPSHOT")
    assert snapshot["snapshot"] == {**client_keys, "steps": [], "progress": 0}
    state = snapshot["snapshot"]
    for delta in of_type(events, "STATE_DELTA"):
        state = jsonpatch.apply_patch(state, delta["delta"])
    assert state == {**client_keys, "steps": ["Boil the water", "Warm the pot", "Let it draw", "Pour"], "progress": 100}
    assert len(of_type(events, "STATE_DELTA")) == 4
    assert "snapshot" in text_of(events)


def test_a_plan_is_an_activity_whose_entries_are_done_one_after_another(gateway: Gateway) -> None:
    events = play(gateway, "plan")
    (snapshot,) = of_type(events, "ACTIVITY_SNAPSHOT")
    assert snapshot["activityType"] == "plan"
    content, statuses = snapshot["content"], list[list[str]]()
    for delta in of_type(events, "ACTIVITY_DELTA"):
        assert delta["messageId"] == snapshot["messageId"]
        content = jsonpatch.apply_patch(content, delta["patch"])
        statuses.append([entry["status"] for entry in content["entries"]])
    assert {entry["status"] for entry in snapshot["content"]["entries"]} == {"pending"}
    assert statuses[1::2] == [
        ["completed", "pending", "pending"],
        ["completed", "completed", "pending"],
        ["completed", "completed", "completed"],
    ]
    assert text_of(events)


def test_plans_of_two_runs_on_a_thread_are_two_activities(gateway: Gateway) -> None:
    thread = new_thread()
    first, second = (of_type(play(gateway, "plan", threadId=thread), "ACTIVITY_SNAPSHOT") for _ in range(2))
    assert first[0]["messageId"] != second[0]["messageId"]


def test_a_subagent_has_messages_steps_and_calls_a_tool_in_its_own_name(gateway: Gateway) -> None:
    events = play(gateway, "subagent")
    (start,), (end,) = of_type(events, "SUBAGENT_STARTED"), of_type(events, "SUBAGENT_FINISHED")
    inside = events[events.index(start) + 1 : events.index(end)]
    tagged = [event for event in inside if event.get("subagentRunId") == start["subagentRunId"]]
    assert [(event["type"], event["stepName"]) for event in tagged if "stepName" in event] == [
        ("STEP_STARTED", "explore"),
        ("STEP_STARTED", "look up"),
        ("STEP_FINISHED", "look up"),
        ("STEP_FINISHED", "explore"),
    ]
    assert {"TEXT_MESSAGE_CONTENT", "TOOL_CALL_START", "TOOL_CALL_RESULT"} <= set(types_of(tagged))
    assert end["result"]["city"] == "Reykjavík"
    after = events[events.index(end) :]
    assert "Reykjavík" in text_of(after)
    assert not [event for event in of_type(after, "TEXT_MESSAGE_CONTENT") if "subagentRunId" in event]


def test_attachments_are_described_and_images_come_back(gateway: Gateway) -> None:
    events = play(gateway, [{"type": "text", "text": "look"}, IMAGE, AUDIO, VIDEO, PDF])
    ((call, name_and_arguments),) = tool_calls(events).items()
    assert name_and_arguments == ("look_at", {"parts": ["image", "audio", "video", "document"]})
    lines = [
        "- **image**, image/png, 5 bytes",
        "- **audio**, audio/mpeg, at https://example.org/a.mp3",
        "- **video**, of an unknown type, kept by acme as file-7",
        "- **document**, application/pdf, 4 bytes",
    ]
    assert tool_results(events)[call] == [{"type": "text", "text": "\n".join(lines)}, IMAGE]
    assert text_of(events).endswith("\n".join(lines))


def test_the_keyword_image_without_an_attachment_shows_a_picture(gateway: Gateway) -> None:
    (content,) = tool_results(play(gateway, "image")).values()
    assert content[1:] == [OWN_PICTURE]


def test_an_image_that_no_event_could_carry_is_described_but_not_echoed(tmp_path: Path) -> None:
    source = {"type": "data", "value": "AAAA" * 3_000_000, "mimeType": "image/png"}
    with Gateway(tmp_path, env={"AGUI_GATEWAY_BODY_LIMIT": str(32 * 1024 * 1024)}) as gateway:
        events = play(gateway, [{"type": "image", "source": source}, IMAGE])
    (content,) = tool_results(events).values()
    assert [part["type"] for part in content] == ["text", "image"]
    assert content[1] == IMAGE
    assert "9,000,000 bytes" in text_of(events)


def test_markdown_is_an_answer_of_many_shapes(gateway: Gateway) -> None:
    answer = text_of(gateway.run("demo", "markdown"))
    assert all(mark in answer for mark in ("## ", "**", "- [x]", "|---|", "> ", "```python", "<img src=x"))


def test_an_edit_has_its_diff_and_a_command_prints_while_it_runs(gateway: Gateway) -> None:
    events = gateway.run("demo", "edit")
    tool_results = {event["toolCallId"]: event for event in events if event["type"] == "TOOL_CALL_RESULT"}
    changed, tested = tool_results.values()
    assert changed["metadata"]["acp"]["diffs"][0]["path"] == "greet.py"
    kinds = [event["type"] for event in events if event["type"].startswith("ACTIVITY") or event is tested]
    assert kinds == ["ACTIVITY_SNAPSHOT", *["ACTIVITY_DELTA"] * 6, "TOOL_CALL_RESULT"]
    shown = next(event for event in events if event["type"] == "ACTIVITY_SNAPSHOT")
    assert shown["content"]["toolCallId"] == tested["toolCallId"]


def test_usage_is_reported_for_two_models_with_totals_that_include_their_parts(gateway: Gateway) -> None:
    events = play(gateway, "usage")
    large, small = events[-1]["usage"]
    assert (large["model"], small["model"]) == ("demo-large", "demo-small")
    for entry in (large, small):
        assert entry["totalTokens"] == entry["inputTokens"] + entry["outputTokens"]
    assert large["cachedInputTokens"] < large["inputTokens"]
    assert large["reasoningTokens"] < large["outputTokens"]
    assert text_of(events)


@pytest.mark.parametrize(("text", "count"), [("long", 2_000), ("long 5000", 5_000), ("a LONG  1", 1)])
def test_a_long_answer_has_as_many_pieces_as_asked_and_none_is_lost(gateway: Gateway, text: str, count: int) -> None:
    events = play(gateway, text, forwardedProps=UNMERGED)
    assert [event["delta"] for event in of_type(events, "TEXT_MESSAGE_CONTENT")] == [
        f"{n} " for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("long", 5),
        ("long x", 5),
        ("long -3", 5),
        ("headlong 3", 5),
        ("long 0", 1),
        ("long 0007", 7),
        ("long 200001", MAX_LONG_PIECES),
        (f"long {'9' * 5_000}", MAX_LONG_PIECES),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_is_read_after_its_keyword_and_kept_within_bounds(text: str, number: int) -> None:
    assert read_count(text, "long", 5, MAX_LONG_PIECES) == number


def test_a_slow_answer_comes_word_by_word(gateway: Gateway) -> None:
    events = play(gateway, "slow 2")
    assert [event["delta"] for event in of_type(events, "TEXT_MESSAGE_CONTENT")] == ["Slow ", "and "]


def test_a_slow_answer_can_be_stopped(gateway: Gateway) -> None:
    received = list[Wire]()
    with gateway.stream("demo", "slow 600", runId="run-to-be-stopped") as events:
        for event in events:
            if event["type"] == "TEXT_MESSAGE_CONTENT" and not of_type(received, "TEXT_MESSAGE_CONTENT"):
                gateway.client.post("/runs/run-to-be-stopped/cancel").raise_for_status()
            received.append(event)
    assert check_order(received)[-1]["outcome"] == {"type": "cancelled"}
    assert len(of_type(received, "TEXT_MESSAGE_CONTENT")) < 100


def test_a_custom_event_and_a_raw_one_arrive_as_they_are(gateway: Gateway) -> None:
    events = play(gateway, "custom")
    (custom,), (raw,) = of_type(events, "CUSTOM"), of_type(events, "RAW")
    assert (custom["name"], custom["value"]["pieces"]) == ("demo.confetti", 200)
    assert (raw["source"], raw["event"]["kind"]) == ("demo", "weather-balloon")
    assert text_of(events)


@pytest.mark.parametrize(("keyword", "code"), [("error", "DEMO_ERROR"), ("crash", "AGENT_EXCEPTION")])
def test_a_run_that_fails_closes_its_message_and_reports_why(gateway: Gateway, keyword: str, code: str) -> None:
    events = play(gateway, keyword)
    assert types_of(events)[-3:] == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_ERROR"]
    assert events[-1]["code"] == code
    assert "you asked for" in events[-1]["message"]


def test_everything_shows_the_scenes_one_after_another(gateway: Gateway) -> None:
    events = play(gateway, "everything")
    kinds = types_of(events)
    order = [
        *("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_RESULT", "STATE_SNAPSHOT"),
        *("STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "SUBAGENT_STARTED", "SUBAGENT_FINISHED"),
    ]
    firsts = [kinds.index(kind) for kind in order]
    assert firsts == sorted(firsts)
    assert len(events[-1]["usage"]) == 2
