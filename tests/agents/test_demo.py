"""The demo's scenes that play without a pause, each through a real gateway."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest

from agents.demo.frontend import answered
from agents.demo.seeing import OWN_PICTURE
from agents.demo.talking import LONGEST, asked_number
from agents.demo.words import BEST, SCENES, Scene, commands, help_, only_planned, otherwise, scene_for
from gateway.events import Wire
from gateway.turn import Options, Turn
from tests.agents.play import UNMERGED, calls, followed, new_thread, of, play, results
from tests.support.gateway import Gateway, text_of, types_of

IMAGE = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
AUDIO = {"type": "audio", "source": {"type": "url", "value": "https://example.org/a.mp3", "mimeType": "audio/mpeg"}}
VIDEO = {"type": "video", "source": {"type": "file", "value": "file-7", "provider": "acme"}}
PDF = {"type": "document", "source": {"type": "data", "value": "JVBERg==", "mimeType": "application/pdf"}}


def turn(content: str | list[dict[str, Any]], *more: dict[str, Any]) -> Turn:
    return Turn("t", "r", messages=[{"id": "1", "role": "user", "content": content}, *more])


# -- which scene is played


@pytest.mark.parametrize(("word", "scene"), [(word, scene) for words, scene in SCENES.items() for word in words])
def test_every_word_of_the_table_plays_its_scene_in_any_case_and_inside_a_sentence(word: str, scene: Scene) -> None:
    assert scene_for(turn(word)) is scene.play
    assert scene_for(turn(f"Now, {word.upper()}!")) is scene.play


@pytest.mark.parametrize(
    ("text", "word"),
    [("long live the tool", "tool"), ("tool tools", "tools"), ("an error, help!", "help"), ("state a plan", "state")],
)
def test_of_two_words_the_one_that_stands_first_in_the_table_wins(text: str, word: str) -> None:
    assert scene_for(turn(text)) is scene_named(word).play


@pytest.mark.parametrize("text", ["information", "a toolbox", "slowly", "two more approvals", "你好", "?"])
def test_a_word_inside_another_is_not_a_word_of_the_table(text: str) -> None:
    assert scene_for(turn(text)) is otherwise


@pytest.mark.parametrize("messages", [[], [{"id": "1", "role": "user", "content": " \n"}]])
def test_who_says_nothing_gets_help(messages: list[dict[str, Any]]) -> None:
    assert scene_for(Turn("t", "r", messages=messages)) is help_


@pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: scene.play.__name__)
def test_in_the_mode_plan_nothing_is_changed(scene: Scene) -> None:
    word = next(words[0] for words, other in SCENES.items() if other is scene)
    planned = replace(turn(word), options=Options(mode="plan"))
    assert scene_for(planned) is (only_planned if scene.changes else scene.play)


@pytest.mark.parametrize("word", ["approve", "two approvals"])
def test_in_the_mode_auto_nobody_is_asked(gateway: Gateway, word: str) -> None:
    events = play(gateway, word, forwardedProps={"gateway": {"mode": "auto"}})
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "outcome" not in events[-1]
    assert all("is deleted" in result for result in results(events).values())


def test_every_command_that_it_tells_of_is_one_of_its_words() -> None:
    played = {scene_for(turn(f"/{command['name']}")) for command in commands()}
    assert played == {scene.play for scene in SCENES.values()}
    assert [command["name"] for command in commands()][: len(BEST)] == list(BEST)


@pytest.mark.parametrize("part", [IMAGE, AUDIO, VIDEO, PDF])
def test_an_attachment_is_looked_at_whatever_is_said_with_it(part: dict[str, Any]) -> None:
    assert scene_for(turn([part])) is scene_named("image").play
    assert scene_for(turn([{"type": "text", "text": "what is this?"}, part])) is scene_named("image").play


def test_results_of_the_pages_tools_come_before_any_word() -> None:
    assert scene_for(turn("think", {"id": "2", "role": "tool", "toolCallId": "c", "content": "ok"})) is answered


def scene_named(word: str) -> Scene:
    return next(scene for words, scene in SCENES.items() if word in words)


# -- the scenes


@pytest.mark.parametrize("text", ["help", ""])
def test_help_names_every_word_of_the_table_in_a_markdown_list(gateway: Gateway, text: str) -> None:
    lines = re.findall(r"^- (.+?): (.+)$", text_of(play(gateway, text)), re.MULTILINE)
    named = [(tuple(re.findall(r"`([^`]+)`", words)), shows) for words, shows in lines]
    assert named == [(words, scene.shows) for words, scene in SCENES.items()]


def test_anything_else_is_repeated_with_a_hint_at_help(gateway: Gateway) -> None:
    said = text_of(play(gateway, "  good \n morning "))
    assert "“good morning”" in said
    assert "`help`" in said


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
    ((call, made),) = calls(events).items()
    assert made == ("get_weather", {"city": "Oslo"})
    assert len(of(events, "TOOL_CALL_ARGS")) > 1
    assert results(events) == {call: "Oslo: snow, -3 °C"}
    answer = events[types_of(events).index("TOOL_CALL_RESULT") :]
    assert "In Oslo it is snow, -3 °C." in text_of(answer)


def test_two_tool_calls_at_once_interleave_their_arguments(gateway: Gateway) -> None:
    events = play(gateway, "tools")
    made = calls(events)
    assert list(made.values()) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lisbon"})]
    assert [event["toolCallId"] for event in of(events, "TOOL_CALL_ARGS")] == [*made] * 3
    assert results(events) == dict(zip(made, ["Oslo: snow, -3 °C", "Lisbon: sun, 24 °C"], strict=True))
    assert len({event["parentMessageId"] for event in of(events, "TOOL_CALL_START")}) == 1
    assert types_of(events)[-3:] == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]


@pytest.mark.parametrize(
    ("theirs", "kept"), [({"mine": 1, "progress": 7}, {"mine": 1}), ([1, 2], {}), (..., {})], ids=str
)
def test_state_is_set_onto_the_pages_own_and_then_patched(gateway: Gateway, theirs: Any, kept: dict[str, Any]) -> None:
    events = play(gateway, "state", state=theirs)
    (snapshot,) = of(events, "STATE_SNAPSHOT")
    assert snapshot["snapshot"] == {**kept, "steps": [], "progress": 0}
    state = snapshot["snapshot"]
    for delta in of(events, "STATE_DELTA"):
        state = jsonpatch.apply_patch(state, delta["delta"])
    assert state == {**kept, "steps": ["Boil the water", "Warm the pot", "Let it draw", "Pour"], "progress": 100}
    assert len(of(events, "STATE_DELTA")) == 4
    assert "snapshot" in text_of(events)


def test_a_plan_is_an_activity_whose_entries_are_done_one_after_another(gateway: Gateway) -> None:
    events = play(gateway, "plan")
    (snapshot,) = of(events, "ACTIVITY_SNAPSHOT")
    assert snapshot["activityType"] == "plan"
    content, seen = snapshot["content"], list[list[str]]()
    for delta in of(events, "ACTIVITY_DELTA"):
        assert delta["messageId"] == snapshot["messageId"]
        content = jsonpatch.apply_patch(content, delta["patch"])
        seen.append([entry["status"] for entry in content["entries"]])
    assert {entry["status"] for entry in snapshot["content"]["entries"]} == {"pending"}
    assert seen[1::2] == [
        ["completed", "pending", "pending"],
        ["completed", "completed", "pending"],
        ["completed", "completed", "completed"],
    ]
    assert text_of(events)


def test_plans_of_two_runs_on_a_thread_are_two_activities(gateway: Gateway) -> None:
    thread = new_thread()
    first, second = (of(play(gateway, "plan", threadId=thread), "ACTIVITY_SNAPSHOT") for _ in range(2))
    assert first[0]["messageId"] != second[0]["messageId"]


def test_a_subagent_speaks_steps_and_calls_a_tool_in_its_own_name(gateway: Gateway) -> None:
    events = play(gateway, "subagent")
    (start,), (end,) = of(events, "SUBAGENT_STARTED"), of(events, "SUBAGENT_FINISHED")
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
    assert not [event for event in of(after, "TEXT_MESSAGE_CONTENT") if "subagentRunId" in event]


def test_attachments_are_described_and_images_come_back(gateway: Gateway) -> None:
    events = play(gateway, [{"type": "text", "text": "look"}, IMAGE, AUDIO, VIDEO, PDF])
    ((call, made),) = calls(events).items()
    assert made == ("look_at", {"parts": ["image", "audio", "video", "document"]})
    lines = [
        "- **image**, image/png, 5 bytes",
        "- **audio**, audio/mpeg, at https://example.org/a.mp3",
        "- **video**, of an unknown type, kept by acme as file-7",
        "- **document**, application/pdf, 4 bytes",
    ]
    assert results(events)[call] == [{"type": "text", "text": "\n".join(lines)}, IMAGE]
    assert text_of(events).endswith("\n".join(lines))


def test_who_says_image_and_attaches_none_is_shown_one(gateway: Gateway) -> None:
    (content,) = results(play(gateway, "image")).values()
    assert content[1:] == [OWN_PICTURE]


def test_an_image_that_no_event_could_carry_is_described_but_not_echoed(gateway: Gateway) -> None:
    source = {"type": "data", "value": "AAAA" * 3_000_000, "mimeType": "image/png"}
    events = play(gateway, [{"type": "image", "source": source}, IMAGE])
    (content,) = results(events).values()
    assert [part["type"] for part in content] == ["text", "image"]
    assert content[1] == IMAGE
    assert "9,000,000 bytes" in text_of(events)


def test_markdown_is_an_answer_of_many_shapes(gateway: Gateway) -> None:
    said = text_of(gateway.run("demo", "markdown"))
    assert all(mark in said for mark in ("## ", "**", "- [x]", "|---|", "> ", "```python", "<img src=x"))


def test_an_edit_has_its_diff_and_a_command_prints_while_it_runs(gateway: Gateway) -> None:
    events = gateway.run("demo", "edit")
    results = {event["toolCallId"]: event for event in events if event["type"] == "TOOL_CALL_RESULT"}
    changed, tested = results.values()
    assert changed["metadata"]["acp"]["diffs"][0]["path"] == "greet.py"
    kinds = [event["type"] for event in events if event["type"].startswith("ACTIVITY") or event is tested]
    assert kinds == ["ACTIVITY_SNAPSHOT", *["ACTIVITY_DELTA"] * 6, "TOOL_CALL_RESULT"]
    shown = next(event for event in events if event["type"] == "ACTIVITY_SNAPSHOT")
    assert shown["content"]["toolCallId"] == tested["toolCallId"]


def test_usage_is_told_for_two_models_with_totals_that_include_their_parts(gateway: Gateway) -> None:
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
    assert [event["delta"] for event in of(events, "TEXT_MESSAGE_CONTENT")] == [f"{n} " for n in range(1, count + 1)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("long", 5),
        ("long x", 5),
        ("long -3", 5),
        ("headlong 3", 5),
        ("long 0", 1),
        ("long 0007", 7),
        ("long 200001", LONGEST),
        (f"long {'9' * 5_000}", LONGEST),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_is_read_behind_its_word_and_kept_within_bounds(text: str, number: int) -> None:
    assert asked_number(text, "long", 5, LONGEST) == number


def test_a_slow_answer_comes_word_by_word(gateway: Gateway) -> None:
    events = play(gateway, "slow 2")
    assert [event["delta"] for event in of(events, "TEXT_MESSAGE_CONTENT")] == ["Slow ", "and "]


def test_a_slow_answer_can_be_stopped(gateway: Gateway) -> None:
    seen = list[Wire]()
    with gateway.stream("demo", "slow 600", runId="run-to-be-stopped") as events:
        for event in events:
            if event["type"] == "TEXT_MESSAGE_CONTENT" and not of(seen, "TEXT_MESSAGE_CONTENT"):
                gateway.client.post("/runs/run-to-be-stopped/cancel").raise_for_status()
            seen.append(event)
    assert followed(seen)[-1]["outcome"] == {"type": "cancelled"}
    assert len(of(seen, "TEXT_MESSAGE_CONTENT")) < 100


def test_a_custom_event_and_a_raw_one_arrive_as_they_are(gateway: Gateway) -> None:
    events = play(gateway, "custom")
    (custom,), (raw,) = of(events, "CUSTOM"), of(events, "RAW")
    assert (custom["name"], custom["value"]["pieces"]) == ("demo.confetti", 200)
    assert (raw["source"], raw["event"]["kind"]) == ("demo", "weather-balloon")
    assert text_of(events)


@pytest.mark.parametrize(("word", "code"), [("error", "DEMO_ERROR"), ("crash", "AGENT_EXCEPTION")])
def test_a_run_that_fails_closes_its_message_and_says_why(gateway: Gateway, word: str, code: str) -> None:
    events = play(gateway, word)
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
