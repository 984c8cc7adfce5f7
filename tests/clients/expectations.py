"""What each of the demo's words means, as assertions on what a client's application holds after the run.

`MEANINGS` has one check per prompt whose run goes well. A check is told whether the client is an older one: from before
AG-UI 1.0, when a tool's result could be nothing but text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.clients.node import Step

Check: TypeAlias = Callable[[Step, bool], None]

THEIR_STATE = {"theme": "dark"}
"""What the page itself keeps in the shared state."""
OSLO, LISBON, REYKJAVIK = "Oslo: snow, -3 °C", "Lisbon: sun, 24 °C", "Reykjavík: wind, 5 °C"
TEA = ["Boil the water", "Warm the pot", "Let it draw", "Pour"]
BILL = [
    {
        "provider": "demo",
        "model": "demo-large",
        "inputTokens": 1200,
        "outputTokens": 340,
        "totalTokens": 1540,
        "reasoningTokens": 120,
        "cachedInputTokens": 800,
    },
    {"provider": "demo", "model": "demo-small", "inputTokens": 300, "outputTokens": 45, "totalTokens": 345},
]


def roles(step: Step) -> list[str]:
    return [message["role"] for message in step.new]


def helps(step: Step, older: bool) -> None:
    assert step.said.startswith("Hello!")
    for word in ("think", "tools", "approve", "form", "frontend", "state", "plan", "subagent", "image", "everything"):
        assert f"`{word}`" in step.said


def thinks(step: Step, older: bool) -> None:
    assert roles(step) == ["reasoning", "assistant"]
    thought = "".join(event["delta"] for event in step.of("REASONING_MESSAGE_CONTENT"))
    assert step.new[0]["content"] == thought
    assert thought.startswith("They would like to see me think.")
    assert thought.endswith("Now for the answer.")
    assert step.said.startswith("I thought about it before I answered")


def calls_one_tool(step: Step, older: bool) -> None:
    assert roles(step) == ["assistant", "tool", "assistant"]
    assert step.calls == [("get_weather", {"city": "Oslo"})]
    assert step.results == [OSLO]
    assert step.said.startswith("In Oslo it is snow, -3 °C.")


def calls_two_tools(step: Step, older: bool) -> None:
    assert roles(step) == ["assistant", "tool", "tool", "assistant"]
    assert step.calls == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lisbon"})]
    assert step.results == [OSLO, LISBON]
    assert step.said.startswith("Oslo has snow, -3 °C, Lisbon has sun, 24 °C.")


def asks_for_approval(step: Step, older: bool) -> None:
    assert step.seen["outcome"] == "interrupt"
    assert step.calls == [("delete_file", {"path": "notes.txt"})]
    assert step.results == []
    [interrupt] = step.interrupts
    assert interrupt["reason"] == "tool_call"
    assert interrupt["toolCallId"] == step.new[-1]["toolCalls"][0]["id"]
    assert interrupt["message"].startswith("May I delete notes.txt?")
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert interrupt["responseSchema"]["properties"]["editedArgs"]["required"] == ["path"]


def asks_twice(step: Step, older: bool) -> None:
    assert step.seen["outcome"] == "interrupt"
    assert step.calls == [("delete_file", {"path": "notes.txt"}), ("delete_file", {"path": "draft.txt"})]
    assert [interrupt["toolCallId"] for interrupt in step.interrupts] == [
        call["id"] for message in step.new for call in message.get("toolCalls", ())
    ]


def asks_for_a_form(step: Step, older: bool) -> None:
    assert step.seen["outcome"] == "interrupt"
    [interrupt] = step.interrupts
    assert interrupt["reason"] == "input_required"
    assert "toolCallId" not in interrupt
    assert interrupt["responseSchema"]["required"] == ["name", "seats"]
    assert interrupt["responseSchema"]["properties"]["seats"] == {"type": "integer", "minimum": 1}


def misses_a_tool(step: Step, older: bool) -> None:
    assert step.calls == []
    assert step.said.startswith("Your page offers no tools.")


def shares_state(step: Step, older: bool) -> None:
    assert step.state == {**THEIR_STATE, "steps": TEA, "progress": 100}
    assert step.types.count("STATE_SNAPSHOT") == 1
    assert step.said.startswith("Tea is ready")


def shows_a_plan(step: Step, older: bool) -> None:
    assert roles(step) == ["activity", "assistant"]
    plan = step.new[0]
    assert plan["activityType"] == "plan"
    assert [entry["status"] for entry in plan["content"]["entries"]] == ["completed"] * 3
    assert plan["content"]["entries"][0]["content"] == "Read the question"
    assert "ACTIVITY_DELTA" in step.types


def sets_markdown(step: Step, older: bool) -> None:
    assert step.said.startswith("## What a frontend may receive")
    assert "```python" in step.said


def edits_and_tests(step: Step, older: bool) -> None:
    assert step.calls == [("edit", {"path": "greet.py"}), ("shell", {"command": "pytest"})]
    assert step.results == ["greet.py was changed", "3 passed"]
    assert "activity" in roles(step)


def delegates(step: Step, older: bool) -> None:
    assert roles(step) == ["assistant", "tool", "assistant", "assistant"]
    [started], [finished] = step.of("SUBAGENT_STARTED"), step.of("SUBAGENT_FINISHED")
    scout = started["subagentRunId"]
    assert started["name"] == "scout"
    assert finished["result"] == {"city": "Reykjavík", "weather": "wind, 5 °C"}
    assert [message.get("subagentRunId") for message in step.new] == [scout, scout, scout, None]
    assert [message["content"] for message in step.new[:3]] == ["Off to Reykjavík!", REYKJAVIK, "Windy, but lovely."]
    assert step.calls == [("get_weather", {"city": "Reykjavík"})]
    assert step.said.startswith("My scout is back from Reykjavík")
    steps = [(event["stepName"], event.get("subagentRunId")) for event in step.of("STEP_FINISHED")]
    assert steps == [("look up", scout), ("explore", scout), ("delegate", None)]


def shows_a_picture(step: Step, older: bool) -> None:
    assert step.calls == [("look_at", {"parts": ["image"]})]
    assert step.said.startswith("You attached nothing, so I show you a picture of mine:")
    [result] = step.results
    described = "- **image**, image/png, 140 bytes"
    if older:
        assert result == described
        return
    text, image = result
    assert text == {"type": "text", "text": described}
    assert image["type"] == "image"
    assert image["source"]["mimeType"] == "image/png"
    assert image["source"]["value"].startswith("iVBORw0KGgo")


def counts_tokens(step: Step, older: bool) -> None:
    assert step.events[-1]["usage"] == BILL
    assert step.said.startswith("Here is the bill")


def counts_to_twenty_thousand(step: Step, older: bool) -> None:
    assert step.said == "".join(f"{number} " for number in range(1, 20_001))


def takes_its_time(step: Step, older: bool) -> None:
    assert step.said == "Slow and steady: "
    assert step.types.count("TEXT_MESSAGE_CONTENT") > 1


def sends_events_of_its_own(step: Step, older: bool) -> None:
    [custom], [raw] = step.of("CUSTOM"), step.of("RAW")
    assert (custom["name"], custom["value"]) == ("demo.confetti", {"pieces": 200, "colors": ["teal", "amber"]})
    assert (raw["source"], raw["event"]) == ("demo", {"kind": "weather-balloon", "altitude": 31_000})


def does_everything(step: Step, older: bool) -> None:
    assert step.said.startswith("Here is the bill")
    assert step.calls == [("get_weather", {"city": city}) for city in ("Oslo", "Lisbon", "Reykjavík")]
    assert step.results == [OSLO, LISBON, REYKJAVIK]
    assert step.state == {"steps": TEA, "progress": 100}
    assert step.events[-1]["usage"] == BILL
    assert {"reasoning", "activity"} <= set(roles(step))
    assert len(step.of("SUBAGENT_FINISHED")) == 1


def answers_anything(step: Step, older: bool) -> None:
    assert roles(step) == ["assistant"]
    assert "good morning" in step.said
    assert "`help`" in step.said


MEANINGS: dict[str, Check] = {  # the last prompt has none of the demo's words
    "help": helps,
    "think": thinks,
    "tools": calls_two_tools,
    "tool": calls_one_tool,
    "approve": asks_for_approval,
    "two approvals": asks_twice,
    "form": asks_for_a_form,
    "markdown": sets_markdown,
    "edit": edits_and_tests,
    "frontend": misses_a_tool,
    "state": shares_state,
    "plan": shows_a_plan,
    "subagent": delegates,
    "image": shows_a_picture,
    "usage": counts_tokens,
    "long 20000": counts_to_twenty_thousand,
    "slow 3": takes_its_time,
    "custom": sends_events_of_its_own,
    "everything": does_everything,
    "good morning": answers_anything,
}
