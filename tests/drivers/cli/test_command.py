"""Wishes → arguments, by the data of a definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.sections import Cli
from gateway.drivers.cli.command import Wanted, added, filled, mcp_entry, media_added, session_added
from gateway.errors import BadInput

STDIO = {"name": "files", "command": "mcp-files", "args": ["--root"], "env": [{"name": "KEY", "value": "v"}]}
HTTP = {"name": "web", "type": "http", "url": "http://localhost/mcp", "headers": [{"name": "a", "value": "b"}]}


def cli(**wishes: Any) -> Cli:
    return Cli.model_validate({"dialect": "x", "flags": wishes})


def saved(name: str, content: bytes) -> str:
    return f"/files/{name}:{content.decode()}"


def test_each_wish_becomes_the_arguments_that_the_definition_names() -> None:
    told = cli(
        model=["--model", "{model}"],
        approvals={"auto": ["--yolo"]},
        thinking={"effort": ["--effort={value}"]},
        directory=["--add-dir", "{path}"],
        max_turns=["--max-turns", "{n}"],
    )
    wanted = Wanted(model="m1", approvals="auto", thinking={"effort": "high"}, directories=("/a", "/b"), max_turns=3)
    assert added(told, wanted, saved).args == (
        *("--model", "m1", "--yolo", "--effort=high"),
        *("--add-dir", "/a", "--add-dir", "/b", "--max-turns", "3"),
    )


def test_a_wish_that_the_definition_does_not_name_adds_nothing() -> None:
    assert added(cli(), Wanted(model="m", mode="plan", skills=("s",), max_turns=1), saved).args == ()


def test_a_wish_may_be_told_by_the_environment() -> None:
    told = cli(approvals={"deny": {"env": {"PERMISSION": '{"bash":"deny"}'}}})
    assert added(told, Wanted(approvals="deny"), saved).env == {"PERMISSION": '{"bash":"deny"}'}


def test_documents_are_given_as_json_or_as_a_file() -> None:
    told = cli(schema=["--schema", "{file}"], mcp=["--mcp", "{json}"])
    args = added(told, Wanted(output_schema={"type": "object"}, mcp_servers=(STDIO, HTTP)), saved).args
    assert args[0:2] == (
        "--mcp",
        '{"mcpServers":{"files":{"command":"mcp-files","args":["--root"],"env":{"KEY":"v"}},'
        '"web":{"type":"http","url":"http://localhost/mcp","headers":{"a":"b"}}}}',
    )
    assert args[2:] == ("--schema", '/files/schema.json:{"type":"object"}')


def test_a_conversation_begins_comes_back_or_is_copied() -> None:
    told = cli(
        session_id=["--id", "{session}"], resume=["--resume", "{session}"], fork=["--fork", "{session}", "{new}"]
    )
    assert session_added(told, None, "n", fork=False).args == ("--id", "n")
    assert session_added(told, "s", "n", fork=False).args == ("--resume", "s")
    assert session_added(told, "s", "n", fork=True).args == ("--fork", "s", "n")


@pytest.mark.parametrize("session", ["/etc/passwd", "../x", "a\\b", "x.jsonl"])
def test_a_file_is_no_sessions_id(session: str) -> None:
    told = cli(resume=["--resume", "{session}"], fork=["--fork", "{session}"])
    for fork in (False, True):
        with pytest.raises(BadInput, match="no session's id"):
            session_added(told, session, "n", fork=fork)
    assert session_added(cli(), session, "n", fork=False).args == (), "a protocol has words of its own"


def test_files_of_the_prompt_are_named_once_each() -> None:
    assert media_added(cli(media=["-i", "{path}"]), ["a", "b"]).args == ("-i", "a", "-i", "b")


def test_a_wish_that_could_be_read_as_a_flag_is_refused() -> None:
    with pytest.raises(BadInput, match="must not begin"):
        added(cli(model=["--model", "{model}"]), Wanted(model="--yolo"), saved)
    assert added(cli(model=["--model={model}"]), Wanted(model="-x"), saved).args == ("--model=-x",)


@given(st.text().filter(lambda text: not text.startswith("-")))
def test_whatever_stands_in_a_wish_it_is_one_argument_and_never_a_template(text: str) -> None:
    assert added(cli(model=["--model", "{model}"]), Wanted(model=text), saved).args == ("--model", text)
    assert filled("a{x}b{y}", {"x": "{y}", "y": text}) == "a{y}b" + text


def test_braces_that_name_nothing_stay() -> None:
    assert filled('{"a": {b}}', {"c": "x"}) == '{"a": {b}}'


def test_an_mcp_server_without_a_name_is_refused() -> None:
    with pytest.raises(BadInput):
        mcp_entry({"command": "x"})
