"""Old keys of agent files: refused, with the new name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gateway.catalog.capability_table import model_in
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import load_file
from gateway.catalog.renamed_keys import RENAMED_KEYS, RENAMED_VALUES
from gateway.errors import ConfigError
from tests.catalog.invalid_files import mistakes

LISTS = ("fallback", "install", "models")
"""Tables that are lists."""


def nested(path: str, value: Any) -> dict[str, Any]:
    """`cli.door` → `{"cli": {"door": value}}`."""
    key, _, rest = path.partition(".")
    inner = nested(rest, value) if rest else value
    return {key: [inner] if rest and key in LISTS else inner}


def table_at(path: str) -> type[BaseModel]:
    model: type[BaseModel] = AgentDefinition
    for name in path.split(".")[:-1]:
        inner = model_in(model.model_fields[name].annotation)
        assert inner is not None
        model = inner
    return model


@pytest.mark.parametrize(("old", "new"), RENAMED_KEYS.items())
def test_an_old_key_is_refused_with_its_new_name(old: str, new: str) -> None:
    messages = [message for _, message in mistakes(**nested(old, "x"))]
    assert f"`{old.rpartition('.')[2]}` is called `{new}` now" in messages


@pytest.mark.parametrize(("old", "new"), RENAMED_KEYS.items())
def test_the_old_name_is_no_longer_a_key_and_the_new_one_is(old: str, new: str) -> None:
    table = table_at(old)
    assert old.rpartition(".")[2] not in table.model_fields
    assert new.partition(".")[0] in table.model_fields


def test_a_fallback_has_the_same_old_keys() -> None:
    fallback = {"name": "other", "driver": "cli", "command": {"run": ["x"]}, "cli": {"dialect": "text", "door": "raw"}}
    assert (("fallback", 0, "cli", "door"), "`door` is called `transport` now") in mistakes(fallback=[fallback])


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [(key, old, new) for key, values in RENAMED_VALUES.items() for old, new in values.items()],
)
def test_an_old_value_is_refused_with_the_new_one(key: str, old: str, new: str) -> None:
    assert f'"{old}" is called "{new}" now' in [message for _, message in mistakes(**nested(key, old))]


def test_loading_a_file_reports_the_new_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('id = "mine"\ndriver = "python"\nentry = "mine:agent"\nannounces = "a:b"\nidentity.name = "Mine"\n')
    with pytest.raises(ConfigError) as caught:
        load_file(path)
    assert caught.value.detail == f"{path}: announces: `announces` is called `capabilities_entry` now"
