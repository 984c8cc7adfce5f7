"""What a session is known to have, and the requests that change it: on the recorded answers of all agents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import NotCapable
from gateway.wire.acp.config_requests import set_config_request, set_mode_request, set_model_request
from gateway.wire.acp.session_state import SessionState, session_layer
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import played


def facts(agent: str, scenario: str = "init") -> SessionState:
    """Of the first session of a recording."""
    return next(iter(played(f"{agent}/{scenario}").sessions.values())).reader.state


MODES = {
    "claude-agent-acp": ["default", "acceptEdits", "plan", "auto", "bypassPermissions"],
    "codex-acp": ["read-only", "workspace-write", "agent", "agent-full-access"],
    "gemini-cli": ["default", "autoEdit", "yolo", "plan"],
    "qwen-code": ["plan", "default", "auto-edit", "auto", "yolo"],
    "hermes-agent": ["default", "accept_edits", "dont_ask"],
    "pi-acp": ["off", "minimal", "low", "medium", "high"],
    "cline": ["plan", "act"],
    "openhands": ["always-ask", "always-approve", "llm-approve"],
}


@pytest.mark.parametrize("agent", MODES)
def test_modes_are_read(agent: str) -> None:
    assert [mode["id"] for mode in facts(agent).modes] == MODES[agent]


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (
            "claude-agent-acp",
            [
                ("mode", "mode", "select"),
                ("model", "model", "select"),
                ("effort", "thought_level", "select"),
                ("fast", "model_config", "boolean"),
                ("ultracode", "model_config", "boolean"),
            ],
        ),
        ("opencode", [("model", "model", "select"), ("effort", "thought_level", "select"), ("mode", "mode", "select")]),
        (
            "cline",
            [
                ("provider", "model", "select"),
                ("model", "model", "select"),
                ("mode", "mode", "select"),
                ("auto_approve", None, "boolean"),
            ],
        ),
        ("gemini-cli", []),
    ],
)
def test_config_options_are_read(agent: str, options: list[Any]) -> None:
    assert [(one["id"], one.get("category"), one["type"]) for one in facts(agent).options] == options


def test_version_2_has_the_same_shape_afterwards() -> None:
    state = facts("claude-agent-acp", "v2")
    assert [option["id"] for option in state.options][:3] == ["mode", "model", "effort"]
    assert state.version == 2
    assert all(set(command) <= {"name", "description", "hint"} for command in state.commands)


def test_the_layer_lists_what_there_is() -> None:
    state = session_layer(facts("claude-agent-acp", "text"))
    assert state["custom.session.modes.current"] == "default"
    assert state["custom.session.modes.available"][0] == {
        "id": "default",
        "name": "Manual",
        "description": "Always ask before making changes",
    }
    assert state["custom.session.usage.size"] == 1_000_000
    assert state["custom.session.usage.cost"]["currency"] == "USD"
    assert state["custom.session.info.title"] == "hello there"
    assert {"custom.session.models.current", "custom.session.config", "custom.session.commands"} <= state.keys()


def test_models_by_the_older_api_are_listed() -> None:
    state = session_layer(facts("gemini-cli"))
    assert state["custom.session.models.current"] == "gemini-2.5-flash"
    assert len(state["custom.session.models.available"]) == 6


def test_nothing_known_is_nothing_claimed() -> None:
    assert session_layer(SessionState()) == {}


def test_vendors_data_is_not_kept() -> None:
    """qwen-code carries whole skill texts in `_meta` of its commands."""
    assert "availableSkill" not in str(facts("qwen-code"))


def option(key: str = "mode", category: str | None = "mode", value: Any = "a", **more: Any) -> dict[str, Any]:
    values = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    made = {"id": key, "name": key, "category": category, "type": "select", "currentValue": value, "options": values}
    return made | more


def having(**result: Any) -> SessionState:
    made = SessionState()
    made.read_result(result)
    return made


MODE_API = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "c", "name": "C"}]}
MODEL_API = {"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}]}


def test_a_new_mode_is_seen_in_the_option_that_shows_it() -> None:
    state = having(configOptions=[option()], modes=MODE_API)
    assert state.read_update({"sessionUpdate": "current_mode_update", "modeId": "b"}) == ("session.mode", {"mode": "b"})
    shown = session_layer(state)
    assert (shown["custom.session.modes.current"], shown["custom.session.config"][0]["value"]) == ("b", "b")
    state.read_update({"sessionUpdate": "config_option_update", "configOptions": [option(value="a")]})
    assert session_layer(state)["custom.session.modes.current"] == "a"


def test_a_change_is_reported_once() -> None:
    state = SessionState()
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}
    assert state.read_update(usage) == (
        "session.usage",
        {"used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}},
    )
    assert state.read_update(usage) is None


@pytest.mark.parametrize("kind", ["current_mode_update", "config_option_update", "available_commands_update"])
def test_an_update_without_its_field_changes_nothing(kind: str) -> None:
    state = having(configOptions=[option(), {"name": "nameless"}])
    assert state.read_update({"sessionUpdate": kind}) is None
    assert [one["id"] for one in state.options] == ["mode"]


def test_a_title_is_cleared_by_null_and_kept_when_absent() -> None:
    state = SessionState(title="x", updated_at="then")
    assert state.read_update({"sessionUpdate": "session_info_update", "updatedAt": "now"}) == (
        "session.info",
        {"updatedAt": "now"},
    )
    assert state.title == "x"
    state.read_update({"sessionUpdate": "session_info_update", "title": None})
    assert state.title is None


def test_grouped_values_are_flat_and_know_their_group() -> None:
    grouped = [{"group": "g", "name": "Group", "options": [{"value": "a", "name": "A"}]}, {"value": "b"}]
    state = having(configOptions=[option(options=grouped)])
    assert state.options[0]["options"] == [{"value": "a", "name": "A", "group": "Group"}, {"value": "b"}]


def test_a_mode_is_set_by_the_option_if_there_is_one() -> None:
    state = having(configOptions=[option()], modes=MODE_API)
    assert set_mode_request(state, "s", "b") == (
        "session/set_config_option",
        {"sessionId": "s", "configId": "mode", "value": "b"},
    )
    assert set_mode_request(state, "s", "c") == ("session/set_mode", {"sessionId": "s", "modeId": "c"})


def test_a_model_is_set_by_the_older_api_where_that_is_all() -> None:
    state = having(models=MODEL_API)
    assert set_model_request(state, "s", "a") == ("session/set_model", {"sessionId": "s", "modelId": "a"})
    assert set_model_request(facts("gemini-cli"), "s", "auto")[0] == "session/set_model"


def test_of_two_options_for_the_model_the_one_that_has_it_is_set() -> None:
    """cline: the provider is of the same category."""
    provider = option("provider", "model", options=[{"value": "x", "name": "X"}])
    state = having(configOptions=[provider, option("model", "model")])
    assert set_model_request(state, "s", "b")[1]["configId"] == "model"


def test_version_2_names_the_type_of_the_value() -> None:
    state = having(configOptions=[option()])
    state.version = 2
    assert set_mode_request(state, "s", "b")[1] == {"sessionId": "s", "configId": "mode", "type": "id", "value": "b"}


def test_an_option_is_found_by_its_category_too() -> None:
    state = having(configOptions=[option("effort", "thought_level"), option("fast", None, False, type="boolean")])
    assert set_config_request(state, "s", "thought_level", "b")[1]["configId"] == "effort"
    assert set_config_request(state, "s", "fast", True)[1] == {
        "sessionId": "s",
        "configId": "fast",
        "type": "boolean",
        "value": True,
    }


@pytest.mark.parametrize(
    ("ask", "detail"),
    [
        (lambda f: set_mode_request(f, "s", "z"), "the session has no mode 'z'; it has: a, b, c"),
        (lambda f: set_model_request(f, "s", "z"), "the session has no model 'z'; it offers none"),
        (lambda f: set_config_request(f, "s", "z", "a"), "the session has no config option 'z'; it has: mode, fast, x"),
        (lambda f: set_config_request(f, "s", "mode", "z"), "the session has no value for 'mode' 'z'; it has: a, b"),
        (
            lambda f: set_config_request(f, "s", "fast", "a"),
            "the session has no value for 'fast' 'a'; it has: true, false",
        ),
        (
            lambda f: set_config_request(f, "s", "x", "a"),
            "the session has no way to set an option of type 'dial' 'x'; it offers none",
        ),
    ],
)
def test_a_value_that_is_not_offered_is_refused_with_the_known_values(ask: Any, detail: str) -> None:
    state = having(
        configOptions=[option(), option("fast", None, False, type="boolean"), option("x", None, type="dial")],
        modes=MODE_API,
    )
    with pytest.raises(NotCapable) as refused:
        ask(state)
    assert refused.value.detail == detail


def test_what_was_set_by_an_api_that_answers_nothing_is_noted() -> None:
    state = having(modes=MODE_API, models=MODEL_API)
    state.set_mode("c")
    state.set_model("z")
    assert (
        session_layer(state)["custom.session.modes.current"],
        session_layer(state)["custom.session.models.current"],
    ) == ("c", "z")


KEYS = st.sampled_from(["modes", "models", "configOptions", "availableCommands", "availableModes", "options", "id"])
SHAPES = st.recursive(VALUES, lambda inner: st.dictionaries(KEYS, inner | st.lists(inner, max_size=2), max_size=3))


@steady
@given(SHAPES)
def test_any_answer_is_read(result: Any) -> None:
    session_layer(having(**result) if isinstance(result, dict) else SessionState())
