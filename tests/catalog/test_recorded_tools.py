"""`agents/tools/ID.json`: the tools of an agent, as they were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from gateway.catalog.load import bundled, load_file
from gateway.catalog.recorded_tools import FOLDER, RecordedTools, recorded_tools
from tests.live.recipes import load_recipes
from tests.live.record_tools import FREE_TEXT, first_sentence, keep_keywords, offered_tools

FILES = sorted((bundled() / FOLDER).glob("*.json"))
MAX_DESCRIPTION_CHARS = 200
MAX_FILE_BYTES = 16_000

every_file = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])


def test_the_agents_with_recorded_tools() -> None:
    recorded = {"claude", "codex", "copilot", "gemini", "hermes", "opencode", "pi", "qwen-code"}
    assert {file.stem for file in FILES} == recorded


@every_file
def test_a_file_belongs_to_its_agent_and_to_the_version_of_the_live_tests(file: Path) -> None:
    found = recorded_tools(load_file(bundled() / f"{file.stem}.toml"))
    assert found is not None
    assert found.agent == file.stem
    recipe = load_recipes().agents[file.stem]
    assert any(found.version in package for package in (*recipe.npm, *recipe.pypi))


@every_file
def test_every_tool_has_a_short_description_and_a_valid_schema(file: Path) -> None:
    found = RecordedTools.model_validate_json(file.read_bytes())
    for name, tool in found.tools.items():
        assert 0 < len(tool.description) <= MAX_DESCRIPTION_CHARS, name
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert tool.parameters["type"] == "object", name
    listed = {*found.names, *(name for names in found.modes.values() for name in names)}
    assert listed == set(found.tools)
    assert file.stat().st_size < MAX_FILE_BYTES


def test_claude_s_subagent_tool_has_the_name_that_its_model_sees() -> None:
    found = recorded_tools(load_file(bundled() / "claude.toml"))
    assert found is not None
    assert "Agent" in found.names and "Task" not in found.names


def test_a_mode_has_its_own_tools() -> None:
    """gemini in plan mode has no shell."""
    found = recorded_tools(load_file(bundled() / "gemini.toml"))
    assert found is not None
    assert "run_shell_command" in {item["name"] for item in found.items("default")}
    assert "run_shell_command" not in {item["name"] for item in found.items("plan")}


def test_another_way_to_run_the_agent_has_none() -> None:
    definition = load_file(bundled() / "gemini.toml")
    assert definition.fallback[0].cli is not None
    other = definition.model_copy(update={"driver": "cli", "cli": definition.fallback[0].cli})
    assert recorded_tools(other) is None


def test_an_agent_without_a_file_has_none(tmp_path: Path) -> None:
    definition = load_file(bundled() / "gemini.toml")
    assert recorded_tools(definition.model_copy(update={"source": tmp_path / "gemini.toml"})) is None


def test_a_broken_file_is_no_file_and_a_changed_one_is_read_again(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    file = tmp_path / FOLDER / "gemini.json"
    file.write_text("{")
    definition = load_file(bundled() / "gemini.toml").model_copy(update={"source": tmp_path / "gemini.toml"})
    assert recorded_tools(definition) is None
    file.write_bytes((bundled() / FOLDER / "gemini.json").read_bytes())
    assert recorded_tools(definition) is not None


# -- the script that writes them


def test_tools_are_read_from_the_requests_of_every_provider() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "prose"}}}
    plain = {"type": "object", "properties": {"path": {"type": "string"}}}
    tools = {
        "anthropic": [{"name": "a", "description": "A.", "input_schema": schema}],
        "chat": [{"type": "function", "function": {"name": "a", "description": "A.", "parameters": schema}}],
        "responses": [{"type": "function", "name": "a", "description": "A.", "parameters": schema}],
        "gemini": [{"functionDeclarations": [{"name": "a", "description": "A.", "parametersJsonSchema": schema}]}],
    }
    for provider, listed in tools.items():
        assert offered_tools([{"body": {}}, {"body": {"tools": listed}}]) == {"a": ("A.", plain)}, provider
    assert offered_tools([{"body": {"tools": [{"type": "custom", "name": "b"}]}}]) == {"b": ("", FREE_TEXT)}


def test_a_property_may_be_called_like_a_keyword_of_prose() -> None:
    schema = {"type": "OBJECT", "title": "T", "properties": {"description": {"type": "STRING", "description": "d"}}}
    assert keep_keywords(schema) == {"type": "object", "properties": {"description": {"type": "string"}}}


def test_a_new_tool_is_described_by_its_first_sentence() -> None:
    assert first_sentence("Reads a file. Use it often.\nMore.") == "Reads a file."
    assert len(first_sentence("word " * 100)) == MAX_DESCRIPTION_CHARS


@every_file
def test_a_file_is_written_as_the_script_writes_it(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert lines[0] == "{" and lines[-1] == "}"
    assert json.loads("\n".join(lines))
