"""Options → arguments, by the data of a definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.catalog.sections import Cli
from gateway.drivers.cli.command import (
    CommandOptions,
    fill_template,
    media_arguments,
    option_arguments,
    session_arguments,
)
from gateway.drivers.mcp_entry import to_config_entry
from gateway.drivers.skills import Skill
from gateway.errors import BadInput

STDIO = {"name": "files", "command": "mcp-files", "args": ["--root"], "env": [{"name": "KEY", "value": "v"}]}
HTTP = {"name": "web", "type": "http", "url": "http://localhost/mcp", "headers": [{"name": "a", "value": "b"}]}
OTTER = Skill("otter", "/skills/otter")
BEAVER = Skill("beaver")


def cli(**flags: Any) -> Cli:
    return Cli.model_validate({"dialect": "x", "flags": flags})


def save_file(name: str, content: bytes) -> str:
    return f"/files/{name}:{content.decode()}"


def test_each_option_becomes_the_arguments_of_the_definition() -> None:
    section = cli(
        model=["--model", "{model}"],
        approvals={"auto": ["--yolo"]},
        thinking={"effort": ["--effort={value}"]},
        directory=["--add-dir", "{path}"],
        max_turns=["--max-turns", "{n}"],
    )
    options = CommandOptions(
        model="m1", approvals="auto", thinking={"effort": "high"}, directories=("/a", "/b"), max_turns=3
    )
    assert option_arguments(section, options, save_file).args == (
        *("--model", "m1", "--yolo", "--effort=high"),
        *("--add-dir", "/a", "--add-dir", "/b", "--max-turns", "3"),
    )


def test_an_option_without_a_flag_adds_nothing() -> None:
    options = CommandOptions(model="m", mode="plan", skills=(OTTER, BEAVER), max_turns=1)
    assert option_arguments(cli(), options, save_file).args == ()


def test_a_flag_for_skills_takes_directories_or_names() -> None:
    options = CommandOptions(skills=(OTTER, BEAVER))
    assert option_arguments(cli(skill=["--plugin-dir", "{path}"]), options, save_file).args == (
        "--plugin-dir",
        "/skills/otter",
    )
    assert option_arguments(cli(skill=["--skills", "{name}"]), options, save_file).args == ("--skills", "beaver")


def test_all_directories_of_skills_may_be_one_json_list_in_a_variable() -> None:
    section = cli(skills={"json_env": {"CONFIG": '{"skills": {"paths": {json}}}'}})
    arguments = option_arguments(section, CommandOptions(skills=(OTTER, BEAVER)), save_file)
    assert arguments.json_env == {"CONFIG": '{"skills": {"paths": ["/skills/otter"]}}'}
    assert option_arguments(section, CommandOptions(skills=(BEAVER,)), save_file).json_env == {}


def test_an_option_may_be_an_environment_variable() -> None:
    section = cli(approvals={"deny": {"env": {"PERMISSION": '{"bash":"deny"}'}}})
    assert option_arguments(section, CommandOptions(approvals="deny"), save_file).env == {
        "PERMISSION": '{"bash":"deny"}'
    }


def test_documents_are_passed_as_json_or_as_a_file() -> None:
    section = cli(schema=["--schema", "{json}"], mcp={"args": ["--mcp", "{file}"], "env": {"MCP": "{json}"}})
    options = CommandOptions(output_schema={"type": "object"}, mcp_servers=(STDIO, HTTP))
    arguments = option_arguments(section, options, save_file)
    document = (
        '{"mcpServers":{"files":{"command":"mcp-files","args":["--root"],"env":{"KEY":"v"}},'
        '"web":{"type":"http","url":"http://localhost/mcp","headers":{"a":"b"}}}}'
    )
    assert arguments.args == ("--mcp", f"/files/mcp.json:{document}", "--schema", '{"type":"object"}')
    assert arguments.env == {"MCP": document}


def test_secrets_of_mcp_servers_are_never_an_argument() -> None:
    with pytest.raises(ValidationError, match="every user of the machine"):
        cli(mcp=["--mcp", "{json}"])


def test_a_conversation_is_new_resumed_or_forked() -> None:
    section = cli(
        session_id=["--id", "{session}"], resume=["--resume", "{session}"], fork=["--fork", "{session}", "{new}"]
    )
    assert session_arguments(section, None, "n", fork=False).args == ("--id", "n")
    assert session_arguments(section, "s", "n", fork=False).args == ("--resume", "s")
    assert session_arguments(section, "s", "n", fork=True).args == ("--fork", "s", "n")


@pytest.mark.parametrize("session", ["/etc/passwd", "../x", "a\\b", "x.jsonl"])
def test_a_path_is_no_session_id(session: str) -> None:
    section = cli(resume=["--resume", "{session}"], fork=["--fork", "{session}"])
    for fork in (False, True):
        with pytest.raises(BadInput, match="no session id"):
            session_arguments(section, session, "n", fork=fork)
    assert session_arguments(cli(), session, "n", fork=False).args == (), "without a flag the dialect resumes it"


def test_each_file_of_the_prompt_is_one_argument() -> None:
    assert media_arguments(cli(media=["-i", "{path}"]), ["a", "b"]).args == ("-i", "a", "-i", "b")


def test_a_value_that_could_be_read_as_a_flag_is_refused() -> None:
    with pytest.raises(BadInput, match="must not begin"):
        option_arguments(cli(model=["--model", "{model}"]), CommandOptions(model="--yolo"), save_file)
    assert option_arguments(cli(model=["--model={model}"]), CommandOptions(model="-x"), save_file).args == (
        "--model=-x",
    )


@given(st.text().filter(lambda text: not text.startswith("-")))
def test_any_value_is_one_argument_and_never_a_template(text: str) -> None:
    assert option_arguments(cli(model=["--model", "{model}"]), CommandOptions(model=text), save_file).args == (
        "--model",
        text,
    )
    assert fill_template("a{x}b{y}", {"x": "{y}", "y": text}) == "a{y}b" + text


def test_braces_that_name_nothing_stay() -> None:
    assert fill_template('{"a": {b}}', {"c": "x"}) == '{"a": {b}}'


def test_an_mcp_server_without_a_name_is_refused() -> None:
    with pytest.raises(BadInput):
        to_config_entry({"command": "x"})
