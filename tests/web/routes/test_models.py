"""`/agents/{agent}/models`, and what a run's model and options are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.support.gateway import Gateway, run_input, text_of
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in

CODE = """
async def agent(turn):
    yield f"{turn.options.model} {turn.options.effort} {turn.options.output_schema}"
"""
MORE = 'options = ["model", "effort", "outputFormat", "outputSchema", "stream", "skills"]\nverified = 2026-01-15\n'
TABLES = """
[capabilities]
reasoning = { supported = true }
output = { structured_output = true }
multimodal.input = { image = true }

[manifest]
supports_text_streaming = false
supports_json_mode = false
supports_skills = false

[[models]]
id = "large"
aliases = ["big"]
default = true
thinking = true
price = { input = 3, cached_input = 0.30, output = 15.00 }
context = 200000

[[models]]
id = "ann/otter:free"
thinking = false
image_input = false

[[models]]
id = "old-1"
deprecated = 2025-12-01
successor = "large"
"""
CLOSED = TABLES.replace("ann/otter:free", "otter-free")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("models")
    write_agent(home / "agents", "mine", CODE, more=MORE, tables=TABLES)
    write_agent(home / "agents", "closed", CODE, more=MORE, tables=CLOSED)
    with Gateway(home, "--agents", str(home / "agents")) as running:
        yield running


def get_json(gateway: Gateway, path: str, **query: str) -> Any:
    response = gateway.client.get(path, params=query)
    assert response.status_code == 200, response.text
    return response.json()


def with_options(**options: Any) -> dict[str, Any]:
    return {"forwardedProps": {"gateway": options}}


# -- looked at


def test_the_models_are_listed_with_the_default_their_source_and_their_date(own: Gateway) -> None:
    body = get_json(own, "/agents/mine/models")
    assert [(model["modelId"], model["isDefault"]) for model in body.pop("models")] == [
        ("large", True),
        ("ann/otter:free", False),
        ("old-1", False),
    ]
    assert body == {"default": "large", "lastUpdated": "2026-01-15T00:00:00Z", "source": "bundled", "open": True}


def test_an_agent_without_models_has_an_empty_list(gateway: Gateway) -> None:
    body = get_json(gateway, "/agents/echo/models")
    assert body == {"models": [], "default": None, "lastUpdated": None, "source": "bundled", "open": True}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("large", "large"),
        ("big", "large"),
        ("ann/otter:free", "ann/otter:free"),
        ("ann%2Fotter%3Afree", "ann/otter:free"),
    ],
)
def test_one_model_is_shown_by_any_of_its_names(own: Gateway, name: str, model: str) -> None:
    body = get_json(own, f"/agents/mine/models/{name}")
    assert (body["agent"], body["modelId"]) == ("mine", model)
    assert body["isDefault"] is (model == "large")


def test_an_unknown_model_is_not_found_and_others_are_suggested(own: Gateway) -> None:
    problem = problem_in(own.client.get("/agents/mine/models/larg"), 404, "UNKNOWN_MODEL")
    assert (problem["suggestions"], problem["modelStatus"]) == (["large"], "unknown")
    problem_in(own.client.get("/agents/mine/models/x/cost"), 404, "UNKNOWN_MODEL")
    problem_in(own.client.get("/agents/ghost/models"), 404, "UNKNOWN_AGENT")


# -- priced


def test_a_cost_is_reported_exactly_and_as_a_number(own: Gateway) -> None:
    counts = {"inputTokens": "1000", "cachedInputTokens": "400", "outputTokens": "7", "thinkingTokens": "3"}
    assert get_json(own, "/agents/mine/models/big/cost", **counts) == {
        "agent": "mine",
        "modelId": "large",
        "cost": 0.002025,
        "usd": "0.002025",
        "currency": "USD",
        "parts": {"input": "0.0018", "cachedInput": "0.00012", "output": "0.00006", "thinking": "0.000045"},
        "priced": True,
        "missing": [],
    }


def test_a_model_without_a_price_says_so(own: Gateway) -> None:
    body = get_json(own, "/agents/mine/models/ann/otter:free/cost", inputTokens="5")
    assert (body["modelId"], body["usd"], body["priced"], body["missing"]) == ("ann/otter:free", "0", False, ["input"])


@pytest.mark.parametrize("count", ["-1", "1.5", "many", "9" * 16, "٣", ""])
def test_a_count_is_a_whole_number(own: Gateway, count: str) -> None:
    response = own.client.get("/agents/mine/models/large/cost", params={"inputTokens": count})
    assert problem_in(response, 422, "INVALID_INPUT")["pointer"] == "?inputTokens"


def test_cached_tokens_are_among_those_of_the_input(own: Gateway) -> None:
    response = own.client.get("/agents/mine/models/large/cost", params={"cachedInputTokens": "1"})
    assert problem_in(response, 422, "INVALID_INPUT")["pointer"] == "?cachedInputTokens"


# -- judged


@pytest.mark.parametrize(
    ("name", "status", "valid"),
    [("large", "ok", True), ("big", "alias", True), ("old-1", "deprecated", True), ("lage", "unknown", False)],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_name_is_judged(own: Gateway, method: str, name: str, status: str, valid: bool) -> None:
    response = own.client.request(method, "/agents/mine/models:validate", params={"model": name})
    body = response.json()
    assert (response.status_code, body["status"], body["valid"]) == (200, status, valid)
    assert ("model" in body) is valid


def test_which_name_must_be_named(own: Gateway) -> None:
    problem_in(own.client.get("/agents/mine/models:validate"), 422, "INVALID_INPUT")


# -- capabilities with a model


def test_a_model_s_limits_are_in_the_capabilities_that_are_asked_with_it(own: Gateway) -> None:
    path = "/agents/mine/capabilities"
    plain, with_model = get_json(own, path), get_json(own, path, model="ann/otter:free")
    assert (plain["reasoning"]["supported"], with_model["reasoning"]["supported"]) == (True, False)
    assert (plain["multimodal"]["input"]["image"], with_model["multimodal"]["input"]["image"]) == (True, False)
    assert with_model["custom"]["model"]["id"] == "ann/otter:free"
    body = get_json(own, path, model="big", explain="1")["explain"]["custom.model.contextWindow"]
    assert (body["layer"], body["source"]) == ("model", "mine.toml: models.large")


def test_an_unknown_model_has_no_capabilities(own: Gateway) -> None:
    response = own.client.get("/agents/mine/capabilities", params={"model": "lrge"})
    assert problem_in(response, 404, "UNKNOWN_MODEL")["suggestions"] == ["large"]


def test_the_view_of_agent_mux_knows_the_model_too(own: Gateway) -> None:
    path = "/agents/mine/capabilities"
    body = get_json(own, path, view="mux")
    assert (body["agent"], body["supportsThinking"], body["supportsTextStreaming"]) == ("mine", True, False)
    assert body["supportsStructuredOutput"] is True and body["supportsSkills"] is False
    assert "supportsMCP" not in body and "supportsMCP" in body["unknown"]
    assert get_json(own, path, view="mux", model="ann/otter:free")["supportsThinking"] is False
    tag = own.client.get(path, params={"view": "mux"}).headers["etag"]
    assert own.client.get(path, params={"view": "mux"}, headers={"if-none-match": tag}).status_code == 304


# -- runs


def test_the_agent_gets_the_id_of_the_model_that_was_meant(own: Gateway) -> None:
    assert text_of(own.run("mine", **with_options(model="big"))).startswith("large ")


def test_an_unknown_model_is_refused_before_anything_starts(own: Gateway) -> None:
    problem = problem_in(own.post("closed", run_input(**with_options(model="lrge"))), 422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["suggestions"]) == ("custom.gateway.options.model", ["large"])


def test_an_agent_that_takes_models_from_elsewhere_is_given_the_name_with_a_warning(own: Gateway) -> None:
    events = own.run("mine", **with_options(model="bob/seal"))
    assert text_of(events).startswith("bob/seal ")
    assert "MODEL_UNKNOWN" in [event["value"].get("code") for event in events if event["type"] == "CUSTOM"]


def test_a_deprecated_model_is_had_with_a_warning(own: Gateway) -> None:
    events = own.run("closed", **with_options(model="old-1"))
    assert text_of(events).startswith("old-1 ")
    assert "MODEL_DEPRECATED" in [event["value"].get("code") for event in events if event["type"] == "CUSTOM"]


def test_effort_for_a_model_that_does_not_think_is_refused(own: Gateway) -> None:
    body_of_run = run_input(**with_options(model="ann/otter:free", effort="high"))
    problem = problem_in(own.post("mine", body_of_run), 422, "CAPABILITY_ERROR")
    assert problem["detail"].startswith("Model 'ann/otter:free' on agent 'mine' does not support thinking")
    assert problem["source"] == "model (mine.toml: models.ann/otter:free)"
    assert text_of(own.run("mine", **with_options(model="large", effort="high"))).startswith("large high")


def test_json_becomes_a_schema_for_an_agent_that_takes_those(own: Gateway) -> None:
    assert text_of(own.run("mine", **with_options(outputFormat="json"))).endswith("{'type': 'object'}")


def test_skills_for_an_agent_without_are_refused(own: Gateway) -> None:
    problem = problem_in(own.post("mine", run_input(**with_options(skills=["swim"]))), 422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["source"]) == ("custom.mux.supportsSkills", "profile (mine.toml)")


def test_text_that_does_not_stream_is_reported_once_and_refused_to_who_insists(own: Gateway) -> None:
    events = own.run("mine")
    body = [event for event in events if event.get("name") == "stream_fallback"]
    assert [event["value"] for event in body] == [
        {"agent": "mine", "unsupported": ["text"], "source": "profile (mine.toml)"}
    ]
    assert events.index(body[0]) == 1  # before anything else is said
    problem = problem_in(own.post("mine", run_input(**with_options(stream=True))), 422, "CAPABILITY_ERROR")
    assert problem["pointer"] == "/forwardedProps/gateway/stream"
    assert "stream_fallback" not in [event.get("name") for event in own.run("mine", **with_options(stream=False))]


# -- agent-mux §6: validate by a body


def test_a_name_is_validated_from_the_query_or_from_a_json_body(own: Gateway) -> None:
    for name in ("large", "lrge", "ann/otter:free"):
        asked = get_json(own, "/agents/mine/models:validate", model=name)
        assert own.client.post("/agents/mine/models:validate", json={"model": name}).json() == asked
    for wrong in ([1], {"model": 3}, {}):
        assert own.client.post("/agents/mine/models:validate", json=wrong).status_code == 422
    assert problem_in(own.client.post("/agents/mine/models:validate"), 422, "INVALID_INPUT")["pointer"] == "?model"


def test_the_cost_of_tokens_that_are_written_to_a_cache_needs_their_price(own: Gateway) -> None:
    counts = {"inputTokens": "1000", "cacheWriteTokens": "400"}
    body = own.client.get("/agents/mine/models/large/cost", params=counts).json()
    assert (body["cost"], body["priced"], body["missing"]) == (0, False, ["cacheWrite"])
    assert body["reason"] == "no price is known for cacheWrite tokens of 'large'"


def test_a_cost_without_a_price_comes_with_the_reason_of_the_agent_s_file(own: Gateway) -> None:
    known = own.client.get("/agents/copilot/models/claude-opus-5/cost", params={"inputTokens": "1000"}).json()
    assert (known["usd"], known["priced"], "reason" in known) == ("0.005", True, False)
    body = own.client.get("/agents/copilot/models/auto/cost", params={"inputTokens": "1000"}).json()
    assert (body["cost"], body["priced"], body["missing"]) == (0, False, ["input"])
    assert body["reason"].startswith("no price is known for input tokens of 'auto': it is not in the list of GitHub's")


# -- refreshed


def test_all_agents_are_asked_and_each_has_a_result(tmp_path: Path) -> None:
    """agent-mux §4 refreshAll."""
    stage = Stage(tmp_path)
    stage.agent("plain", "--full", models=[{"id": "huge"}])
    with stage:
        results = {each["agent"]: each for each in stage.client.post("/models:refresh").json()["agents"]}
        assert results["plain"]["updated"] == 2
        assert [model["modelId"] for model in stage.asks("/agents/plain/models")["models"]] == ["small", "large"]
        other = results["echo"]
        assert (other["updated"], other["code"]) == (None, "CAPABILITY_ERROR") and "cannot list" in other["detail"]


def test_a_missing_program_is_refused_with_the_way_to_install_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with stage:
        problem = problem_in(stage.client.post("/agents/goose/models:refresh"), 422, "AGENT_NOT_INSTALLED")
        assert "Install it: " in problem["detail"]


def test_an_agent_that_cannot_list_its_models_says_so(own: Gateway) -> None:
    problem = problem_in(own.client.post("/agents/mine/models:refresh"), 422, "CAPABILITY_ERROR")
    assert problem["capability"] == "models"
    assert problem_in(own.client.get("/agents/mine/models:refresh"), 405, "METHOD_NOT_ALLOWED")["allow"] == ["POST"]


def test_what_a_live_agent_lists_is_merged_and_its_sessions_have_their_model_s_limits(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    models = [
        {"id": "small", "thinking": False, "price": {"input": 2}},
        {"id": "huge", "thinking": True},
    ]
    stage.agent("plain", "--full", models=models)
    talk = Talk(stage)
    with stage:
        talk.say("hello")
        body = stage.asks("/agents/plain/models:refresh", {})
        assert body["source"] == "remote" and body["lastUpdated"].endswith("Z")
        assert body == stage.asks("/agents/plain/models")
        assert {model["modelId"]: model["source"] for model in body["models"]} == {
            "small": "remote",
            "large": "remote",
        }
        assert body["models"][0]["inputPricePerMillion"] == 2.0
        found = stage.asks(f"/agents/plain/capabilities?thread={talk.id}")
        assert (found["custom"]["session"]["models"]["current"], found["reasoning"]["supported"]) == ("small", False)
        refused = stage.post("plain", talk.input("more", **with_options(effort="high")))
        assert "'small'" in problem_in(refused, 422, "CAPABILITY_ERROR")["detail"]
