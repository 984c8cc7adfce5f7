"""Directories of agent files: what is read, which definition wins, and how a mistake is reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from ag_ui.core import ToolsCapabilities
from pydantic import BaseModel

from gateway.catalog.capability_table import MAX_PROBLEMS, camel, capability_tree
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_catalog, load_file, load_folder
from gateway.catalog.problems import Place
from gateway.catalog.sections import Identity
from gateway.errors import ConfigError
from tests.catalog.invalid_files import mistakes

KEYS = 'id = "mine"\ndriver = "python"\nentry = "mine:agent"\n'
IDENTITY = '[identity]\nname = "Mine"\n'
WHOLE = KEYS + IDENTITY


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def refusal(path: Path) -> str:
    """Why the file is refused; it is named first."""
    with pytest.raises(ConfigError) as caught:
        load_file(path)
    name, _, why = caught.value.detail.partition(": ")
    assert name == str(path)
    return why


# -- one file


def test_the_least_that_an_agent_needs(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    definition = load_file(path)
    assert (definition.id, definition.driver, definition.entry, definition.identity.name) == (
        "mine",
        "python",
        "mine:agent",
        "Mine",
    )
    assert (definition.capabilities, definition.options, definition.merge, definition.stall_timeout) == (
        {},
        None,
        True,
        None,
    )
    assert definition.source == path.resolve()


def test_capabilities_are_written_in_snake_case_and_read_in_agui_s_own(tmp_path: Path) -> None:
    tables = "[capabilities]\ntools.client_provided = true\nexecution.max_execution_time = 60_000\n"
    assert load_file(write(tmp_path, WHOLE + tables)).capabilities == {
        "tools": {"clientProvided": True},
        "execution": {"maxExecutionTime": 60000},
    }


def test_an_author_s_own_keys_stay_as_they_are_written(tmp_path: Path) -> None:
    tables = '[capabilities.custom]\nmy_key = { other_key = 1 }\n"acme.example/x" = true\n'
    custom = load_file(write(tmp_path, WHOLE + tables)).capabilities["custom"]
    assert custom == {"my_key": {"other_key": 1}, "acme.example/x": True}


def test_numbers_and_dates_are_read_as_json_has_them(tmp_path: Path) -> None:
    lines = ["[capabilities.custom]", "fraction = 0.7", "list = [1.5, 2]", "day = 2026-01-15", f"huge = {10**21}"]
    custom = load_file(write(tmp_path, WHOLE + "\n".join(lines))).capabilities["custom"]
    assert custom == {"fraction": 0.7, "list": [1.5, 2], "day": "2026-01-15", "huge": 1e21}
    assert [type(number) for number in custom["list"]] == [float, int]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (KEYS.replace('id = "mine"\n', "") + IDENTITY, "id: is missing"),
        (KEYS, "identity: is missing"),
        (KEYS + "[identity]\n", "identity.name: is missing"),
        (WHOLE.replace("mine", "Mine Own", 1), "id: "),
        (WHOLE.replace('"mine"', '"-mine"', 1), "id: "),
        (WHOLE.replace('"mine"', '"' + "x" * 65 + '"', 1), "id: "),
        (WHOLE.replace("python", "telepathy"), "driver: "),
        (WHOLE.replace("mine:agent", "mine.agent"), "entry: "),
        ("merge_window_ms = -1\n" + WHOLE, "merge_window_ms: "),
        ("stall_timeout = 0\n" + WHOLE, "stall_timeout: "),
        ("merge = 'perhaps'\n" + WHOLE, "merge: "),
        ("options = 'model'\n" + WHOLE, "options: "),
        (WHOLE + "documentation_url = 3\n", "identity.documentation_url: "),
        ("capabilities = 3\n" + WHOLE, "capabilities: must be a table"),
        (WHOLE + "[capabilities]\ntools.supported = 'yes'\n", "capabilities.tools.supported: "),
        (WHOLE + "[capabilities]\ntools = true\n", "capabilities.tools: must be a table"),
        (WHOLE + "[capabilities]\nexecution.max_iterations = -1\n", "capabilities.execution.max_iterations: "),
    ],
)
def test_a_wrong_value_is_reported_with_its_key(tmp_path: Path, text: str, key: str) -> None:
    assert refusal(write(tmp_path, text)).startswith(key)


@pytest.mark.parametrize(
    ("text", "key", "known"),
    [
        ("drivr = 'python'\n" + WHOLE, "drivr", ("driver", "entry", "identity")),
        ("source = '/etc/passwd'\n" + WHOLE, "source", ("driver", "entry", "identity")),
        (WHOLE + "nmae = 'Mine'\n", "identity.nmae", tuple(Identity.model_fields)),
    ],
)
def test_an_unknown_key_is_reported_with_those_that_are_known_there(
    tmp_path: Path, text: str, key: str, known: tuple[str, ...]
) -> None:
    text = refusal(write(tmp_path, text))
    assert text.startswith(f"{key}: there is no such key.")
    names = text.partition("Known: ")[2].rstrip(".").split(", ")
    assert set(known) <= set(names) and "source" not in names
    assert ("driver" in names) == ("." not in key)


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("colour", None),
        ("multimodal.input.smell", None),
        ("tools.suported", "supported"),
        ("tools.client_provied", "client_provided"),
        ("tools.clientProvied", "clientProvided"),
        ("human_in_the_lop.supported", "human_in_the_loop"),
    ],
)
def test_a_capability_that_agui_does_not_have_is_refused_with_the_nearest_that_it_has(
    tmp_path: Path, key: str, near: str | None
) -> None:
    text = refusal(write(tmp_path, WHOLE + f"[capabilities]\n{key} = true\n"))
    place, _, why = text.partition(": ")
    assert f"capabilities.{key}".startswith(place)
    assert why.startswith("AG-UI has no such capability") and why.endswith("put it under `custom`")
    assert (f"did you mean {near}?" in why) if near else ("did you mean" not in why)


def test_every_mistake_in_capabilities_is_reported_at_its_own_key_as_it_is_written() -> None:
    invalid = {
        "tools": {"suported": True, "items": [{"name": "t", "description": "d"}, {"name": 3, "descripton": "d"}]},
        "execution": {"max_iterations": -1},
        "multi_agent": {"subagents": [{}]},
        "custom": {"my_key": {"any": 1}},
    }
    fallback = {
        "name": "other",
        "driver": "acp",
        "command": {"run": ["x"]},
        "capabilities": {"tools": {"cleint": True}},
    }
    modes = [{"id": "plan"}, {"id": "act", "capabilities": {"reasoning": 3, "colour": "red"}}]
    assert {place for place, _ in mistakes(capabilities=invalid, fallback=[fallback], modes=modes)} == {
        ("capabilities", "tools", "suported"),
        ("capabilities", "tools", "items", 1, "name"),
        ("capabilities", "tools", "items", 1, "description"),
        ("capabilities", "tools", "items", 1, "descripton"),
        ("capabilities", "execution", "max_iterations"),
        ("capabilities", "multi_agent", "subagents", 0, "name"),
        ("fallback", 0, "capabilities", "tools", "cleint"),
        ("modes", 1, "capabilities", "reasoning"),
        ("modes", 1, "capabilities", "colour"),
    }


def test_of_very_many_mistakes_the_first_are_reported() -> None:
    assert len(mistakes(capabilities={f"colour{number}": 1 for number in range(5000)})) == MAX_PROBLEMS


@pytest.mark.parametrize(
    ("flags", "place"),
    [
        ({"approvals": {"auto": {"arg": 1}}}, ("approvals", "auto", "arg")),
        ({"schema": {"arg": 1}}, ("schema", "arg")),
    ],
)
def test_an_unknown_key_below_a_name_of_the_author_s_own_is_reported_too(flags: dict[str, Any], place: Place) -> None:
    problems = mistakes(cli={"dialect": "parrot", "flags": flags})
    assert problems == [(("cli", "flags", *place), "there is no such key. Known: args, env, json_env.")]


def test_a_driver_without_what_it_needs_is_refused(tmp_path: Path) -> None:
    text = refusal(write(tmp_path, WHOLE.replace('entry = "mine:agent"\n', "")))
    assert "entry" in text and not text.startswith(":")


def test_what_is_not_toml_is_reported_with_the_line(tmp_path: Path) -> None:
    assert "line 3" in refusal(write(tmp_path, 'id = "mine"\ndriver = "python"\nentry = mine\n'))


def test_what_is_no_text_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"id = '\xff'")
    assert "cannot be read" in refusal(path)


def test_a_folder_with_the_name_of_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").mkdir()
    assert "cannot be read" in refusal(tmp_path / "mine.toml")


# -- folders


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        write(tmp_path, WHOLE.replace("mine", name, 1), f"{name}.toml")
    assert list(load_folder(tmp_path)) == ["a", "b", "c"]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    write(tmp_path, "not TOML at all", "README.md")
    write(tmp_path / "deeper", "not TOML at all", "other.toml")
    assert list(load_folder(tmp_path)) == ["mine"]


def test_an_id_that_is_taken_is_reported_with_who_has_it(tmp_path: Path) -> None:
    first, second = write(tmp_path, WHOLE, "a.toml"), write(tmp_path, WHOLE, "b.toml")
    with pytest.raises(ConfigError) as caught:
        load_folder(tmp_path)
    assert caught.value.detail == f"{second}: id: 'mine' is already used by {first.resolve()}"


def test_a_folder_that_is_none_is_reported_with_what_it_should_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_folder(tmp_path / "nowhere")
    assert caught.value.detail.startswith(f"{tmp_path / 'nowhere'}: not a directory.")
    assert "*.toml" in caught.value.detail


def test_a_later_folder_replaces_an_agent_whole_and_in_its_place(tmp_path: Path) -> None:
    write(tmp_path / "one", WHOLE + "[capabilities]\ntools.supported = true\n")
    write(tmp_path / "one", WHOLE.replace("mine", "other", 1), "other.toml")
    write(tmp_path / "two", WHOLE.replace("Mine", "Better"))
    catalog = load_catalog([tmp_path / "one", tmp_path / "two"])
    assert list(catalog) == ["mine", "other"]
    assert (catalog["mine"].identity.name, catalog["mine"].capabilities) == ("Better", {})


def test_no_folders_are_no_agents() -> None:
    assert load_catalog([]) == {}


def test_every_bundled_agent_is_read() -> None:
    catalog = load_catalog([bundled()])
    assert {"demo", "echo"} <= set(catalog)
    assert all(definition.source.name == f"{agent}.toml" for agent, definition in catalog.items())


def section_models() -> list[type[BaseModel]]:
    """`AgentDefinition` and all tables below it."""
    models: list[type[BaseModel]] = [AgentDefinition]
    for model in models:
        for field in model.model_fields.values():
            models += [inner for inner in models_in(field.annotation) if inner not in models]
    return models


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from models_in(inner)


@pytest.mark.parametrize("model", section_models(), ids=lambda model: model.__name__)
def test_every_key_of_the_format_is_documented(model: type[BaseModel]) -> None:
    assert model.__doc__
    assert [name for name, field in model.model_fields.items() if not field.description] == []


def test_the_documented_tables_are_all_of_them() -> None:
    names = {model.__name__ for model in section_models()}
    assert names >= {"AgentDefinition", "Cli", "FlagTable", "CircuitBreaker", "Price", "PluginRegistry", "Fallback"}


# -- capabilities from an agent's own function, which may return anything


@pytest.mark.parametrize(
    ("capabilities", "message"),
    [
        (3, "must be a table"),
        (None, "must be a table"),
        ([("tools", {})], "must be a table"),
        ({1: {}}, "1: the name of a capability is a string"),
        ({"tools": {1: True}}, "1: the name of a capability is a string"),
        ({"custom": {1: True}}, "custom"),
        ({"custom": {"x": object()}}, "object"),
        ({"tools": {"suported": True}, "colour": 1}, "^tools.suported: AG-UI has no such capability: did you"),
        ({"tools": ToolsCapabilities.model_validate({"suported": True})}, "^tools.suported: AG-UI has no such"),
    ],
)
def test_what_is_not_capabilities_is_a_value_error_and_nothing_else(capabilities: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        capability_tree(capabilities)


def test_capabilities_in_agui_s_spelling_are_taken_as_they_are() -> None:
    capabilities = {"tools": {"clientProvided": True}, "humanInTheLoop": {"approveWithEdits": False}}
    assert capability_tree(capabilities) == capabilities


def test_null_states_nothing() -> None:
    assert capability_tree({"tools": None, "reasoning": {"supported": None, "streaming": True}}) == {
        "reasoning": {"streaming": True}
    }


@pytest.mark.parametrize(("name", "wire"), [("id", "id"), ("max_execution_time", "maxExecutionTime"), ("isSo", "isSo")])
def test_snake_becomes_camel(name: str, wire: str) -> None:
    assert camel(name) == wire
