"""The published schema says what the loader says: of every file that comes along, and of mistakes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import LOADER_FIELDS
from gateway.catalog.schema import agent_schema
from tests.support.gateway import Gateway
from tests.support.project import ROOT

FILES = sorted((ROOT / "agents").glob("*.toml"))
LEAST = {"id": "mine", "driver": "acp", "command": {"run": ["mine"]}, "identity": {"name": "Mine"}}


def as_an_editor_sees_it(path: Path) -> Any:
    """Dates as text, like JSON has them."""
    return orjson.loads(orjson.dumps(tomllib.loads(path.read_text("utf-8"))))


def complaints(definition: Any) -> list[str]:
    found = Draft202012Validator(agent_schema()).iter_errors(definition)
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_agent_that_comes_along_fits(path: Path) -> None:
    assert complaints(as_an_editor_sees_it(path)) == []


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"drivr": "acp"}, "drivr"),
        ({"command": {"run": ["mine"], "shell": True}}, "shell"),
        ({"command": {"run": []}}, "/command/run"),
        ({"driver": "smoke"}, "/driver"),
        ({"capabilities": {"tools": {"suported": True}}}, "suported"),
        ({"capabilities": {"reasoning": {"supported": "yes"}}}, "/capabilities/reasoning/supported"),
        ({"modes": [{"id": "plan", "capabilities": {"tools": {"suported": True}}}]}, "suported"),
        ({"options": ["model", "nosuch"]}, "/options/1"),
        ({"command": {"run": [""]}}, "/command/run/0"),
        ({"remote": {"url": "https://x.example", "headers": {"a b": "c"}}}, "a b"),
        ({"remote": {"url": "https://x.example", "headers": {"a": "b\nc"}}}, "/remote/headers/a"),
        ({"id": "Not An Id"}, "/id"),
        ({"source": "elsewhere"}, "source"),
        ({"private": True}, "private"),
        ({"driver": "remote"}, "'remote' is a required property"),
        ({"driver": "cli"}, "'cli' is a required property"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_does_not_fit_and_is_named(wrong: dict[str, Any], place: str) -> None:
    assert complaints(LEAST) == []
    [told] = complaints({**LEAST, **wrong})
    assert place in told


def test_an_option_may_be_a_plain_list() -> None:
    cli = {"dialect": "parrot", "flags": {"model": ["--model", "{model}"], "mode": {"env": {"MODE": "{mode}"}}}}
    assert complaints({**LEAST, "driver": "cli", "cli": cli}) == []


def test_every_key_of_the_format_is_described() -> None:
    properties = agent_schema()["properties"]
    assert properties.keys() == AgentDefinition.model_fields.keys() - LOADER_FIELDS
    assert [name for name, about in properties.items() if not about.get("description")] == []


def test_it_is_served(tmp_path: Path) -> None:
    with Gateway(tmp_path) as gateway:
        answer = gateway.client.get("/schemas/agent.json")
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json() == orjson.loads(orjson.dumps(agent_schema()))
    Draft202012Validator.check_schema(answer.json())
