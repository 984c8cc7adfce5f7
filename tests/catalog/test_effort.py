"""Thinking options as the agent's parameters, and refusals with agent-mux's messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import (
    LEVELS,
    all_levels,
    check_thinking,
    effort_parameter,
    offered_budget,
    offered_effort,
    override_names,
    thinking_parameters,
)
from gateway.catalog.models.definition import Model
from gateway.errors import NotCapable
from gateway.turn import Options
from tests.agui.streams import steady
from tests.catalog.example_agent import EFFORT, otter

OTTER = otter()
LARGE, SMALL, OLD = OTTER.models
SILENT = otter(driver="acp", cli=None, effort={}, models=())
"""An agent whose file has no [effort]."""
POINTER = "/forwardedProps/gateway"


def with_options(**options: Any) -> Options:
    return Options(**options)


def refusal(definition: AgentDefinition, model: Model | None, options: Options, **more: Any) -> dict[str, Any]:
    with pytest.raises(NotCapable) as caught:
        check_thinking(definition, model, options, **more)
    return caught.value.problem()


# -- translated


@pytest.mark.parametrize(
    ("options", "model", "params"),
    [
        ({}, None, {}),
        ({"effort": "low"}, None, {"think": "brief"}),
        ({"effort": "max"}, LARGE, {"think": "abyss"}),
        ({"effort": "low"}, OLD, {"think": "x"}),
        ({"thinking_budget_tokens": 2000}, None, {"budget_tokens": 2000}),
        ({"thinking_budget_tokens": 2000, "effort": "high"}, LARGE, {"think": "deep", "budget_tokens": 2000}),
        ({"thinking_override": {"style": "loud"}}, None, {"style": "loud"}),
        ({"effort": "high", "thinking_override": {"think": "sideways"}}, LARGE, {"think": "sideways"}),
        ({"thinking_override": {"budget_tokens": 1}, "thinking_budget_tokens": 100}, None, {"budget_tokens": 1}),
    ],
)
def test_an_option_becomes_the_agent_s_own_parameter(
    options: dict[str, Any], model: Model | None, params: dict[str, Any]
) -> None:
    assert thinking_parameters(OTTER, model, with_options(**options)) == params


def test_where_level_and_budget_are_one_parameter_the_number_counts() -> None:
    agent = otter(effort={"parameter": "tokens", "budget_parameter": "tokens", "values": {"high": 32768}}, models=())
    assert thinking_parameters(agent, None, with_options(effort="high")) == {"tokens": 32768}
    assert thinking_parameters(agent, None, with_options(effort="high", thinking_budget_tokens=5)) == {"tokens": 5}


def test_an_override_is_laid_over_by_its_topmost_keys_alone() -> None:
    options = with_options(effort="low", thinking_override={"think": {"deep": {"er": 1}}})
    assert thinking_parameters(OTTER, None, options) == {"think": {"deep": {"er": 1}}}


OVERRIDES = st.dictionaries(st.sampled_from(["think", "budget_tokens", "style"]), st.integers() | st.text(max_size=3))


@steady
@given(st.sampled_from(LEVELS), st.integers(1024, 4096) | st.none(), OVERRIDES)
def test_an_override_always_wins(level: str, number: int | None, override: dict[str, Any]) -> None:
    options = with_options(effort=level, thinking_budget_tokens=number, thinking_override=override)
    params = thinking_parameters(OTTER, LARGE, options)
    assert {key: params[key] for key in override} == override
    assert set(params) <= {*override_names(OTTER)}


def test_an_agent_whose_file_states_nothing_is_reported_nothing() -> None:
    assert thinking_parameters(SILENT, None, with_options(effort="high", thinking_budget_tokens=9)) == {}


# -- what there is


def test_a_model_s_own_table_stands_before_the_agent_s() -> None:
    assert offered_effort(OTTER) == offered_effort(OTTER, LARGE) == EFFORT["values"]
    assert offered_effort(OTTER, OLD) == {"low": "x"}
    assert offered_effort(OTTER, SMALL) == {}
    assert offered_effort(SILENT) is None


def test_an_agent_offers_what_one_of_its_models_offers() -> None:
    assert all_levels(OTTER) == ["low", "medium", "high", "max"]
    some = otter(effort={}, models=({"id": "a", "effort": {"max": "m"}}, {"id": "b", "effort": {"low": "l"}}))
    assert all_levels(some) == ["low", "max"]
    assert all_levels(SILENT) is None
    assert all_levels(otter(effort={}, models=())) == []


def test_a_budget_has_the_model_s_range_before_the_agent_s() -> None:
    assert offered_budget(OTTER) == (100, 9000)
    assert offered_budget(OTTER, LARGE) == (1024, 4096)
    assert offered_budget(OTTER, SMALL) is offered_budget(OTTER, OLD) is False
    assert offered_budget(SILENT) is None
    assert offered_budget(otter(effort={"budget_parameter": "b"}, models=())) is True
    assert offered_budget(otter(effort={"parameter": "p"}), LARGE) is False  # a range, and no way to say it


def test_an_empty_table_states_that_there_are_no_levels() -> None:
    assert offered_effort(otter(driver="acp", cli=None, effort={"values": {}}, models=())) == {}


# -- agent-mux §8 "translation visible to a user": what an ACP session lists


def session(*values: str, option: str = "reasoning") -> dict[str, Any]:
    choices = [{"value": value} for value in values]
    config = [{"id": "other", "options": []}, {"id": option, "category": "thought_level", "options": choices}]
    return {"custom.session.cwd": "/", "custom.session.config": config}


def test_an_acp_session_offers_the_levels_that_its_option_has() -> None:
    layer = session("off", "low", "high")
    assert offered_effort(SILENT, None, layer) == {"low": "low", "high": "high"}
    assert (effort_parameter(SILENT, layer), override_names(SILENT, layer)) == ("reasoning", ["reasoning"])
    assert thinking_parameters(SILENT, None, with_options(effort="high"), layer) == {"reasoning": "high"}


def test_max_is_xhigh_where_a_session_has_only_that() -> None:
    """agent-mux §8: pi over ACP refused `max`."""
    assert offered_effort(SILENT, None, session("low", "medium", "high", "xhigh")) == {
        **{level: level for level in ("low", "medium", "high")},
        "max": "xhigh",
    }
    assert (offered_effort(SILENT, None, session("xhigh", "max")) or {})["max"] == "max"


def test_the_file_s_word_for_a_level_comes_first() -> None:
    agent = otter(driver="acp", cli=None, effort={"values": {"high": "deep"}}, models=())
    assert offered_effort(agent, None, session("high", "deep")) == {"high": "deep"}
    assert offered_effort(agent, None, session("high", "max")) == {"high": "high", "max": "max"}


def test_a_session_that_can_only_turn_thinking_on_and_off_has_no_levels() -> None:
    layer = session("on", "off")
    assert offered_effort(SILENT, None, layer) == {}
    with pytest.raises(NotCapable, match="The session of agent 'otter' does not support thinking effort level 'low'"):
        check_thinking(SILENT, None, with_options(effort="low"), layer)


def test_a_session_without_the_option_has_no_levels_and_one_that_is_not_open_says_nothing() -> None:
    assert offered_effort(SILENT, None, {"custom.session.cwd": "/"}) == {}
    assert offered_effort(SILENT, None, {"custom.gateway.worktree.branch": "b"}) is None


# -- the five cases of agent-mux


def test_effort_for_an_agent_that_does_not_think() -> None:
    problem = refusal(OTTER, None, with_options(effort="low"), thinks=False, source="handshake (init)")
    assert problem["detail"].startswith("Agent 'otter' does not support thinking/reasoning mode: ")
    assert (problem["capability"], problem["source"]) == ("reasoning.supported", "handshake (init)")
    assert problem["pointer"] == f"{POINTER}/effort"


@pytest.mark.parametrize("thinks", [None, False])
def test_effort_for_a_model_that_does_not_think(thinks: bool | None) -> None:
    problem = refusal(OTTER, SMALL, with_options(effort="low"), thinks=thinks)
    assert problem["detail"].startswith("Model 'otter-2-small' on agent 'otter' does not support thinking: ")
    assert problem["source"] == "model (otter.toml: models.otter-2-small)"


def test_a_level_that_the_model_does_not_have() -> None:
    problem = refusal(OTTER, OLD, with_options(effort="max"), thinks=True)
    assert problem["detail"].startswith("Model 'otter-1' does not support thinking effort level 'max': ")
    assert "the levels are low, stated by model (otter.toml: models.otter-1)" in problem["detail"]
    assert problem["capability"] == "custom.mux.thinkingEffortLevels"


def test_a_level_that_the_agent_does_not_have() -> None:
    problem = refusal(otter(effort={"parameter": "p", "values": {"low": 1}}), None, with_options(effort="max"))
    assert problem["detail"].startswith("Agent 'otter' does not support thinking effort level 'max': ")
    assert problem["source"] == "profile (otter.toml)"


@pytest.mark.parametrize(
    ("definition", "model", "who"),
    [
        (OTTER, OLD, "model (otter.toml: models.otter-1)"),
        (otter(effort={"parameter": "p"}, models=()), None, "profile (otter.toml)"),
    ],
)
def test_a_number_where_none_is_taken(definition: AgentDefinition, model: Model | None, who: str) -> None:
    problem = refusal(definition, model, with_options(thinking_budget_tokens=5))
    assert problem["detail"].startswith("Agent 'otter' does not support numeric thinking budget: ")
    assert (problem["capability"], problem["source"]) == ("custom.mux.supportsThinkingBudgetTokens", who)
    assert problem["pointer"] == f"{POINTER}/thinkingBudgetTokens"


@pytest.mark.parametrize("number", [0, 1023, 4097])
def test_a_number_outside_the_model_s_range(number: int) -> None:
    problem = refusal(OTTER, LARGE, with_options(thinking_budget_tokens=number))
    begins = f"Thinking budget {number} is outside valid range [1024, 4096] for model 'otter-2-large'"
    assert problem["detail"].startswith(begins)
    assert problem["source"] == "model (otter.toml: models.otter-2-large)"


@pytest.mark.parametrize("number", [1024, 4096])
def test_the_ends_of_a_range_are_in_it(number: int) -> None:
    assert thinking_parameters(OTTER, LARGE, with_options(thinking_budget_tokens=number)) == {"budget_tokens": number}


def test_a_number_outside_the_agent_s_range() -> None:
    problem = refusal(OTTER, None, with_options(thinking_budget_tokens=99))
    assert "[100, 9000] for agent 'otter'" in problem["detail"]
    assert problem["source"] == "profile (otter.toml)"


def test_a_budget_for_a_model_that_does_not_think() -> None:
    problem = refusal(OTTER, SMALL, with_options(thinking_budget_tokens=5))
    assert "does not support thinking" in problem["detail"]
    assert problem["pointer"] == f"{POINTER}/thinkingBudgetTokens"


# -- beyond the five


@pytest.mark.parametrize("name", ["permission_mode", "dangerously-skip", "a/b"])
def test_an_override_may_only_set_what_the_file_names(name: str) -> None:
    problem = refusal(OTTER, None, with_options(thinking_override={"style": 1, name: True}))
    assert repr(name) in problem["detail"] and "lists budget_tokens, style, think" in problem["detail"]
    assert problem["pointer"] == f"{POINTER}/thinkingOverride/{name.replace('/', '~1')}"


def test_a_function_receives_overrides_unchanged() -> None:
    function = otter(driver="python", entry="otter:run", effort={}, models=())
    check_thinking(function, None, with_options(thinking_override={"anything": 1}))


def test_who_knows_better_than_a_model_s_entry_is_believed() -> None:
    problem = refusal(OTTER, SMALL, with_options(effort="low"), thinks=True)
    assert "does not support thinking effort level" in problem["detail"]  # it thinks, and the file knows no level


def test_a_model_that_only_the_agent_lists_is_not_attributed_to_the_file() -> None:
    problem = refusal(OTTER, Model(id="otter-3", thinking=False), with_options(effort="low"))
    assert problem["source"] == "model (what the agent lists: otter-3)"


def test_every_refusal_states_what_to_do() -> None:
    for options in (
        with_options(effort="low"),
        with_options(thinking_budget_tokens=1),
        with_options(thinking_override={"x": 1}),
    ):
        assert refusal(OTTER, SMALL, options)["detail"].count(". ") >= 1
