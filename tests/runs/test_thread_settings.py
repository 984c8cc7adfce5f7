"""What is set on a thread: followed from the session, filled into runs, shown while the session is closed."""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import CONFIG, CWD, MODE, MODEL, MODELS, MODES, SESSION_OPEN, USED_TOKENS
from gateway.runs.thread_settings import MAX_KEPT_BYTES, ThreadSettings
from gateway.turn import Options

LAYER: dict[str, Any] = {
    MODE: "plan",
    MODES: [{"id": "plan"}, {"id": "default"}],
    MODEL: "small",
    CONFIG: [{"id": "depth", "category": "thought_level", "value": "high"}, {"id": "web", "value": False}],
    CWD: "/here",
    USED_TOKENS: 12,
}


def test_a_run_that_names_nothing_gets_what_is_set() -> None:
    settings = ThreadSettings(mode="plan", model="small", cwd="/here", additional_directories=("lib",))
    options, filled = settings.fill(Options(model="large"))
    assert (options.mode, options.model, options.cwd) == ("plan", "large", "/here")
    assert options.additional_directories == ("lib",)
    assert filled == ("mode", "cwd", "additional_directories")


def test_only_what_was_named_is_set_and_it_follows_the_session() -> None:
    settings = ThreadSettings().follow(LAYER, {"mode": "plan"})
    assert (settings.mode, settings.model, settings.config) == ("plan", None, {})
    assert settings.follow({**LAYER, MODE: "default"}, {}).mode == "default", "the agent has left the mode"


def test_what_a_request_sets_holds_though_the_session_does_not_report_it() -> None:
    assert ThreadSettings().follow({}, {"mode": "plan"}, is_kept=True).mode == "plan"
    assert ThreadSettings().follow({}, {"mode": "plan"}).mode is None, "a run's option may be for that run only"


def test_an_option_of_the_session_is_kept_by_its_id_also_if_it_was_named_by_its_category() -> None:
    assert ThreadSettings().follow(LAYER, {"effort": "high"}).config == {"depth": "high"}
    assert ThreadSettings().follow(LAYER, {"config": {"thought_level": "high", "web": False}}).config == {
        "depth": "high",
        "web": False,
    }


def test_a_closed_session_shows_what_it_stated_and_what_is_set() -> None:
    settings = ThreadSettings().follow(LAYER, {"mode": "plan"})
    layer = settings.closed_layer
    assert (layer[MODE], layer[MODEL], layer[CWD], layer[SESSION_OPEN]) == ("plan", "small", "/here", False)
    assert USED_TOKENS not in layer, "it would be stored after every run"
    assert ThreadSettings().closed_layer == {}


def test_it_is_stored_and_read_again() -> None:
    settings = ThreadSettings(cwd="/here", additional_directories=("lib",)).follow(LAYER, {"model": "small"})
    assert ThreadSettings.from_json(settings.to_json()) == settings
    assert ThreadSettings.from_json({}) == ThreadSettings()


def test_a_long_list_of_models_is_not_stored_with_every_thread() -> None:
    models = [{"id": f"model-{number}", "name": "x" * 100} for number in range(MAX_KEPT_BYTES // 100)]
    layer = ThreadSettings().follow({**LAYER, MODELS: models}, {}).closed_layer
    assert MODELS not in layer
    assert layer[MODEL] == "small"
