"""One check for every way to ask something of an agent: a run, CopilotKit's run, what is set on a thread, a fork."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.support.gateway import run_input
from tests.web.problem import problem_in

MODELS = [
    {"id": "large", "aliases": ["big"]},
    {"id": "small", "deprecated": True, "successor": "large"},
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("enforcement"))
    stage.agent("full", "--full", models=MODELS)
    stage.agent("modest", "--full", options=["cwd"])
    stage.agent("single", "--full", manifest={"can_fork": False})
    with stage:
        yield stage


Ask = Callable[[Stage, str, str, str], httpx.Response]
"""Stage, agent, what, value."""


def by_run(stage: Stage, agent: str, what: str, value: str) -> httpx.Response:
    return stage.post(agent, run_input(forwardedProps={"gateway": {what: value}}))


def by_copilotkit(stage: Stage, agent: str, what: str, value: str) -> httpx.Response:
    body = run_input(forwardedProps={"gateway": {what: value}})
    return stage.client.post(f"/copilotkit/agent/{agent}/run", json=body)


def by_setting(stage: Stage, agent: str, what: str, value: str) -> httpx.Response:
    return stage.client.post(f"{Talk(stage, agent).path}/{what}", json={what: value})


WAYS = pytest.mark.parametrize("ask", [by_run, by_copilotkit, by_setting])


@WAYS
def test_an_unknown_model_is_refused_with_what_was_perhaps_meant(stage: Stage, ask: Ask) -> None:
    problem = problem_in(ask(stage, "full", "model", "lage"), 422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["suggestions"]) == ("custom.gateway.options.model", ["large"])
    assert problem["source"] == "profile (full.toml)"
    plain = by_run(stage, "full", "model", "lage").json()  # CopilotKit has words of its own beside these
    del plain["pointer"]
    assert {key: problem[key] for key in plain} == plain


@WAYS
@pytest.mark.parametrize(("what", "value"), [("mode", "auto"), ("model", "large")])
def test_what_the_definition_does_not_offer_is_refused_before_anything_is_started(
    stage: Stage, ask: Ask, what: str, value: str
) -> None:
    problem = problem_in(ask(stage, "modest", what, value), 422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["source"]) == (
        f"custom.gateway.options.{what}",
        "profile (modest.toml: options)",
    )
    assert problem["pointer"].endswith(f"/{what}")
    assert stage.received("modest") == []


def test_a_setting_is_named_by_its_own_place_in_the_body(stage: Stage) -> None:
    assert by_setting(stage, "modest", "mode", "auto").json()["pointer"] == "/mode"
    assert by_run(stage, "modest", "mode", "auto").json()["pointer"] == "/forwardedProps/gateway/mode"


def test_a_model_may_be_set_by_any_name_that_means_it(stage: Stage) -> None:
    talk = Talk(stage, "full")
    assert stage.asks(f"{talk.path}/model", {"model": "big"})["models"]["current"] == "large"


def test_what_a_run_would_be_warned_of_is_reported_to_the_client_that_sets_it(stage: Stage) -> None:
    answer = stage.asks(f"{Talk(stage, 'full').path}/model", {"model": "small"})
    assert (answer["models"]["current"], [one["code"] for one in answer["warnings"]]) == ("small", ["MODEL_DEPRECATED"])


def test_a_fork_is_refused_where_the_agent_is_known_to_have_none(stage: Stage) -> None:
    problem = problem_in(stage.client.post("/agents/single/threads/t/fork"), 422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["source"]) == ("custom.mux.canFork", "profile (single.toml)")
    assert stage.received("single") == []
