"""Every field of the four interfaces, asked by HTTP of every agent that comes along."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from ag_ui.core import AgentCapabilities

from gateway.capabilities.views import acp, mux
from gateway.capability_paths import flatten
from gateway.catalog.load import bundled, load_catalog
from gateway.catalog.models import mux_json
from tests.behaviour.acp.harness import Stage, Talk
from tests.interfaces import Interface, interface, mistakes_in
from tests.interfaces.all_fields import answered_by
from tests.interfaces.answers import ask, capabilities
from tests.interfaces.sources import NOT_CARRIED
from tests.support.gateway import Gateway

CATALOG = load_catalog([bundled()])
VIEWS = ("agui", "acp", "mux", "relay")


def check_answer(answer: Any, against: Interface) -> None:
    """All that is required, or is said to be unknown and absent; each of its type; and no field that the interface, or
    what we add to it, does not have."""
    assert mistakes_in(answer, against) == []
    required = {field.path for field in against.fields if not field.optional}
    unknown = answer.get("unknown", [])
    assert set(unknown) <= required
    assert [name for name in unknown if name in flatten(answer)] == []


# -- agents


@pytest.mark.parametrize("agent", sorted(CATALOG))
def test_every_agent_answers_in_the_terms_of_every_interface(served: Gateway, agent: str) -> None:
    for view in VIEWS:
        check_answer(capabilities(served, agent, view), interface(view))


@pytest.mark.parametrize("agent", sorted(CATALOG))
def test_agui_s_own_models_read_the_same_answer(served: Gateway, agent: str) -> None:
    answer = ask(served, f"/agents/{agent}/capabilities")
    read = AgentCapabilities.model_validate(answer, strict=True)
    assert read.model_dump(by_alias=True, mode="json", exclude_unset=True) == answer


@pytest.mark.parametrize("agent", sorted(CATALOG))
def test_no_view_loses_what_the_snapshot_knows(served: Gateway, agent: str) -> None:
    known = ask(served, f"/agents/{agent}/capabilities").get("custom", {})
    manifest, view = capabilities(served, agent, "mux"), capabilities(served, agent, "acp")
    lost = {name for name in known.get("mux", {}) if name not in manifest or name in manifest.get("unknown", ())}
    assert lost == set()
    assert flatten(known.get("acp", {})).items() <= flatten(view).items()


# -- models


@pytest.mark.parametrize("agent", sorted(CATALOG))
def test_every_model_answers_and_so_does_its_agent_with_it(served: Gateway, agent: str) -> None:
    shape = interface("models")
    listed = ask(served, f"/agents/{agent}/models")["models"]
    assert [model["modelId"] for model in listed] == [model.id for model in CATALOG[agent].models]
    for model in listed:
        name = model["modelId"]
        check_answer(model, shape)
        assert ask(served, f"/agents/{agent}/models/{quote(name)}") == model
        verdict = ask(served, f"/agents/{agent}/models:validate", model=name)
        check_answer(verdict["model"], shape)
    for model in listed[:3]:  # the others differ in their values alone, and each is computed again
        for view in VIEWS:
            check_answer(capabilities(served, agent, view, model=model["modelId"]), interface(view))


# -- sessions


def test_a_session_answers_too(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    for view in VIEWS:
        answer = capabilities(stage, "full", view, thread=talk.id)
        check_answer(answer, interface(view))
    assert capabilities(stage, "full", "relay", thread=talk.id)["status"] == "idle"


@pytest.mark.parametrize("agent", ["plain", "bare", "full", "second"])
def test_after_its_handshake_an_acp_agent_has_every_field_of_agents_wire(stage: Stage, agent: str) -> None:
    answer = capabilities(stage, agent, "acp", probe="1")
    check_answer(answer, interface("acp"))
    assert "unknown" not in answer


# -- each field


@pytest.mark.parametrize("view", [*VIEWS, "models"])
def test_an_agent_that_states_everything_fills_every_field(served: Gateway, view: str) -> None:
    path = "/agents/whole/models/large"
    answer = ask(served, path) if view == "models" else capabilities(served, "whole", view)
    against = interface(view)
    check_answer(answer, against)
    extras = {field.path for field in against.fields if field.extra} | NOT_CARRIED
    assert answered_by(answer, against) - extras == {field.path for field in against.fields} - extras
    assert "unknown" not in answer


def test_an_agent_that_states_nothing_claims_nothing(served: Gateway) -> None:
    answer = {view: capabilities(served, "silent", view) for view in VIEWS}
    refused = {"supportsJsonMode", "supportsStructuredOutput", "supportsThinkingBudgetTokens"}  # ACP has none of them
    known = {"agent", "installMethods", *refused}
    assert set(answer["mux"]["unknown"]) == set(mux.FIELDS) - mux.OPTIONAL - known
    assert [answer["mux"][name] for name in refused] == [False] * len(refused)
    assert set(answer["acp"]["unknown"]) == set(acp.FIELDS) - {"prompt.text", "mcp.stdio"}
    assert answer["relay"]["messaging"]["attachments"] == ["text"]
    assert {"resume", "fork"} & answer["relay"]["lifecycle"].keys() == set()
    by_the_gateway = {"state", "multiAgent", "humanInTheLoop", "output", "execution"}  # what it knows of every process
    assert answer["agui"].keys() == {"identity", "transport", "custom", *by_the_gateway}


@pytest.mark.parametrize(
    ("name", "fields"),
    [("mux", mux.FIELDS), ("models", mux_json.FIELDS), ("acp", acp.FIELDS)],
)
def test_the_fields_in_the_code_are_the_interface_s(name: str, fields: tuple[str, ...]) -> None:
    assert list(fields) == [field.path for field in interface(name).fields if not field.extra]


@pytest.mark.parametrize(("name", "optional"), [("mux", mux.OPTIONAL), ("models", mux_json.OPTIONAL)])
def test_what_may_be_left_out_is_what_the_interface_lets_be(name: str, optional: frozenset[str]) -> None:
    assert optional == {field.path for field in interface(name).fields if field.optional and not field.extra}


def test_a_wrong_answer_would_be_found(tmp_path: Path) -> None:
    for wrong in ({}, {"agent": 1}, {"agent": "x", "wings": True}):
        with pytest.raises(AssertionError):
            check_answer(wrong, interface("mux"))
