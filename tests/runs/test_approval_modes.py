"""Whether an agent acts without a question, by a run's options and by what its session is set to."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.capability_paths import CONFIG, MODE, PERMISSION_MODE
from gateway.catalog.definition import AgentDefinition
from gateway.runs.approval_modes import SettingChange, is_unattended
from gateway.turn import Options

DEFINITION = AgentDefinition.model_validate(
    {
        "id": "otter",
        "driver": "acp",
        "identity": {"name": "Otter"},
        "command": {"run": ["otter"]},
        "auto_approve_modes": ["yolo"],
        "auto_approve_config": ["allow_all"],
    }
)
ALLOW_ALL = {"id": "allow_all", "type": "boolean", "options": []}
MODE_OPTION = {"id": "style", "category": "mode", "type": "select", "options": []}


@pytest.mark.parametrize(
    ("options", "layer", "expected"),
    [
        (Options(), {}, False),
        (Options(approvals="auto"), {}, True),
        (Options(approvals="prompt"), {}, False),
        (Options(mode="yolo"), {}, True),
        (Options(mode="ask"), {}, False),
        (Options(), {MODE: "yolo"}, True),
        (Options(), {MODE: "ask"}, False),
        (Options(mode="ask"), {MODE: "yolo"}, False),
        (Options(), {PERMISSION_MODE: "yolo"}, True),
        (Options(), {CONFIG: [{**ALLOW_ALL, "value": True}]}, True),
        (Options(mode="ask"), {CONFIG: [{**ALLOW_ALL, "value": "on"}]}, True),
        (Options(), {CONFIG: [{**ALLOW_ALL, "value": False}]}, False),
        (Options(), {CONFIG: [{**ALLOW_ALL, "value": "off"}]}, False),
        (Options(), {CONFIG: [ALLOW_ALL]}, False),
        (Options(), {CONFIG: [{"id": "theme", "value": "dark"}]}, False),
    ],
)
def test_a_run_is_unattended_by_its_options_or_by_its_session(
    options: Options, layer: dict[str, Any], expected: bool
) -> None:
    assert is_unattended(DEFINITION, options, layer) is expected


@pytest.mark.parametrize(
    ("change", "layer", "expected"),
    [
        (SettingChange(mode="yolo"), {}, True),
        (SettingChange(mode="ask"), {MODE: "yolo"}, False),
        (SettingChange(mode="ask"), {MODE: "yolo", CONFIG: [{**ALLOW_ALL, "value": True}]}, True),
        (SettingChange(option="allow_all", value=True), {}, True),
        (SettingChange(option="allow_all", value=False), {CONFIG: [{**ALLOW_ALL, "value": True}]}, False),
        (SettingChange(option="anything", value="yolo"), {}, True),
        (SettingChange(option="style", value="ask"), {MODE: "yolo", CONFIG: [{**MODE_OPTION, "value": "yolo"}]}, False),
        (SettingChange(option="theme", value="dark"), {MODE: "yolo"}, True),
        (SettingChange(option="theme", value="dark"), {MODE: "ask"}, False),
    ],
)
def test_a_setting_that_is_about_to_change_counts_as_changed(
    change: SettingChange, layer: dict[str, Any], expected: bool
) -> None:
    assert is_unattended(DEFINITION, Options(), layer, change) is expected


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({}, True),
        ({CONFIG: [{**ALLOW_ALL, "value": True}]}, True),
        ({CONFIG: [{**ALLOW_ALL, "value": False}]}, False),
    ],
)
def test_a_setting_of_the_thread_counts_before_its_session_is_open(layer: dict[str, Any], expected: bool) -> None:
    assert is_unattended(DEFINITION, Options(), layer, stored_config={"allow_all": True}) is expected
