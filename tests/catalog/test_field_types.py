"""Words of an agent's file that are more than text: options, programs, headers."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.agui.options import OPTION_SCHEMAS
from gateway.catalog.field_types import OPTIONS
from gateway.catalog.load import with_bare
from gateway.catalog.problems import Place
from gateway.errors import ConfigError
from tests.catalog.invalid_files import mistakes


def test_the_options_are_those_that_a_run_may_ask_for() -> None:
    assert set(OPTIONS) == set(OPTION_SCHEMAS)
    assert mistakes(options=[*OPTIONS]) == []


def test_an_unknown_option_is_refused_with_the_most_similar_and_all_known_ones() -> None:
    known = f"Known: {', '.join(OPTIONS)}."
    assert mistakes(options=["mode", "nosuch", "thinking_override"]) == [
        (("options", 1), f"there is no such option. {known}"),
        (("options", 2), f"there is no such option. Did you mean thinkingOverride? {known}"),
    ]
    fallback = {"name": "other", "driver": "acp", "command": {"run": ["x"]}, "options": ["MODEL"]}
    [(place, why)] = mistakes(fallback=[fallback])
    assert place == ("fallback", 0, "options", 0) and "Did you mean model or mode?" in why


@pytest.mark.parametrize(
    ("table", "place"),
    [
        ({"command": {"run": [""]}}, ("command", "run")),
        ({"command": {"run": [" ", "--flag"]}}, ("command", "run")),
        ({"command": {"run": ["x"], "version": [""]}}, ("command", "version")),
        ({"auth": [{"kind": "command", "run": ["", "whoami"]}]}, ("auth", 0, "run")),
    ],
)
def test_a_program_without_a_name_is_refused(table: dict[str, Any], place: Place) -> None:
    assert mistakes(**table) == [(place, "the first item is the program and must not be empty")]


def test_an_argument_may_be_empty() -> None:
    assert mistakes(command={"run": ["x", ""], "version": []}) == []


@pytest.mark.parametrize("line", ["", "''", "' ' --flag"])
def test_a_bare_command_line_names_a_program(line: str) -> None:
    with pytest.raises(ConfigError, match="needs a command line"):
        with_bare({}, [line])


@pytest.mark.parametrize("name", ["two words", "", "colon:", "line\n", "ümlaut", "[key]"])
def test_the_name_of_a_header_is_a_token(name: str) -> None:
    [(place, why)] = mistakes(remote={"url": "https://far.example", "headers": {name: "x", "x-fine.1": "{TOKEN}"}})
    assert place == ("remote", "headers", name) and why.startswith("is not the name of an HTTP header")


@pytest.mark.parametrize("value", ["a\nb", "a\r\nHost: other", "a\n", " a", "a ", "\x00", "\x7f", "grün"])
def test_the_value_of_a_header_is_one_line(value: str) -> None:
    [(place, why)] = mistakes(remote={"url": "https://far.example", "headers": {"x-one": value}})
    assert place == ("remote", "headers", "x-one") and why.startswith("must be one line")


@pytest.mark.parametrize("value", ["", "a", "Bearer {TOKEN}", 'a\tb; c="d"'])
def test_other_values_of_headers_are_taken(value: str) -> None:
    assert mistakes(remote={"url": "https://far.example", "headers": {"X-One": value}}) == []
