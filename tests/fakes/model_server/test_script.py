"""The script: which words make the model do what, with the tools that real agents offer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.model_server.arguments import instance
from tests.fakes.model_server.conversation import Answer, Asked, Call, Say, Tool, own_words
from tests.fakes.model_server.script import SLOW_PAUSE, answer


def tool(name: str, *required: str, **properties: Any) -> Tool:
    return Tool(name, {"type": "object", "properties": properties, "required": list(required)})


TEXT = {"type": "string"}


def said(words: str, *tools: Tool, **more: Any) -> str:
    decided = answer(Asked(words, tools=tools, **more))
    assert isinstance(decided, Answer)
    return "".join(piece for step in decided.steps if isinstance(step, Say) for piece in step.pieces)


def called(words: str, *tools: Tool, **more: Any) -> list[tuple[str, Any]]:
    decided = answer(Asked(words, tools=tools, **more))
    assert isinstance(decided, Answer)
    return [(step.tool.name, step.text or step.arguments) for step in decided.steps if isinstance(step, Call)]


def test_long_and_slow_say_so_many_words() -> None:
    long, slow = answer(Asked("LONG 4")), answer(Asked("please SLOW 2"))
    assert isinstance(long, Answer) and isinstance(slow, Answer)
    assert long == Answer((Say(("w0 ", "w1 ", "w2 ", "w3 ")),), 0.0)
    assert slow == Answer((Say(("w0 ", "w1 ")),), SLOW_PAUSE)


def test_several_lines_are_called_at_once() -> None:
    bash = tool("bash", "command", command=TEXT)
    calls = called("SHELL one\nand then\nSHELL two", bash)
    assert calls == [("bash", {"command": "one"}), ("bash", {"command": "two"})]


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (tool("exec_command", "cmd", cmd=TEXT), {"cmd": "ls"}),
        (tool("shell", "command", command={"type": "array", "items": TEXT}), {"command": ["bash", "-lc", "ls"]}),
        (tool("run_commands", "commands", commands={"type": "array", "items": TEXT}), {"commands": ["ls"]}),
        (tool("run_shell_command", "command", "is_background", command=TEXT, is_background={"type": "boolean"}),
         {"command": "ls", "is_background": False}),
        (tool("exec_command", "cmd", cmd=TEXT, sandbox_permissions={"enum": ["use_default", "require_escalated"]}),
         {"cmd": "ls", "sandbox_permissions": "require_escalated", "justification": "The script says so."}),
    ],
)  # fmt: skip
def test_a_command_fits_every_agents_shell(offered: Tool, arguments: Any) -> None:
    assert called("SHELL ls", tool("read", "path", path=TEXT), offered) == [(offered.name, arguments)]


@pytest.mark.parametrize(
    ("offered", "arguments"),
    [
        (tool("Write", "file_path", "content", file_path=TEXT, content=TEXT), {"file_path": "/a", "content": "b c"}),
        (tool("write", "filePath", "content", filePath=TEXT, content=TEXT), {"filePath": "/a", "content": "b c"}),
        (tool("file_editor", "command", "path", command={"enum": ["view", "create"]}, path=TEXT, file_text=TEXT),
         {"command": "create", "path": "/a", "file_text": "b c"}),
        (Tool("apply_patch", {}, "free"), "*** Begin Patch\n*** Add File: /a\n+b c\n*** End Patch\n"),
    ],
)  # fmt: skip
def test_a_file_is_written_with_every_agents_tool(offered: Tool, arguments: Any) -> None:
    todo = tool("todo_write", "todos", todos={"type": "array"})
    assert called("WRITE /a b c", todo, offered) == [(offered.name, arguments)]


def test_without_a_fitting_tool_it_says_so() -> None:
    assert said("SHELL ls", tool("read", "path", path=TEXT)) == "there is no tool like bash"
    assert said("CALL say {}", tool("read", "path", path=TEXT)) == "there is no tool say"
    assert said("CALL say {", tool("say")) == "the arguments of say are no JSON object"


def test_a_tool_is_called_by_the_end_of_its_name_with_what_it_requires_beside() -> None:
    mcp = tool("mcp__one__say", "text", "risk", text=TEXT, risk={"enum": ["LOW", "HIGH"]})
    assert called('CALL say {"text": "hi"}', mcp) == [("mcp__one__say", {"text": "hi", "risk": "LOW"})]


def test_a_tool_that_is_held_back_is_searched_for_and_then_used() -> None:
    tools = (
        tool("search_tool", "query", query=TEXT),
        tool("use_tool", "tool_name", "tool_input", tool_name=TEXT, tool_input={"type": "object"}),
    )
    words = 'CALL say {"text": "hi"}'
    assert called(words, *tools) == [("search_tool", {"query": "say"})]
    found = ("found one__say: Says a text.",)
    used = {"tool_name": "one__say", "tool_input": {"text": "hi"}}
    assert called(words, *tools, results=found) == [("use_tool", used)]
    assert said(words, *tools, results=(*found, "say: hi")) == "done: say: hi"


def test_a_search_that_found_nothing_is_not_repeated() -> None:
    search = Tool("tool_search", {"properties": {"query": TEXT}}, "search")
    assert called("CALL say {}", search) == [("tool_search", {"query": "say"})]
    assert said("CALL say {}", search, searched=True) == "there is no tool say"


@pytest.mark.parametrize("words", ["hello", "SHELL ls", "LONG 500", "SLOW 500", "ERROR 500"])
@pytest.mark.parametrize("system", ["You are a title generator.", "You name coding-agent sessions.", "Summarise this:"])
def test_side_questions_get_a_short_answer_whatever_the_user_said(system: str, words: str) -> None:
    assert said(words, system=system) == "A short answer"


def test_an_agents_own_instructions_make_no_side_question() -> None:
    assert said("hello", system="You are a crow. " * 40 + "Summarise what you did.") == "You said: hello"
    assert said("hello", tool("bash", "command", command=TEXT), system="Give it a title.") == "You said: hello"


def test_a_wanted_shape_and_a_forced_tool_are_served() -> None:
    title = {"type": "object", "properties": {"title": TEXT}, "required": ["title"]}
    assert said("SHELL ls", shape=title) == '{"title": "short"}'
    assert called("SHELL ls", Tool("session_title", title), forced="session_title") == [
        ("session_title", {"title": "short"})
    ]


def test_what_an_agent_wraps_around_the_users_words_is_left_out() -> None:
    assert own_words(["<system-reminder>SHELL rm</system-reminder>\n", "<user_query>\nhello\n</user_query>"]) == "hello"
    assert own_words(["<<<BEGIN_CONTEXT>>>\nSHELL rm\n<<<END_CONTEXT>>>\n", "hello"]) == "hello"
    assert own_words(["[Mon 2026-11-16 14:28 UTC] hello\n\nRuntime: agent=main | host=vm"]) == "hello"
    assert own_words(["<task>do <b>it</b></task>", "<env>x</env>"]) == "do"
    assert own_words(["1 < 2 and 3 > 2"]) == "1 < 2 and 3 > 2"


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        ({"const": 5}, 5),
        ({"enum": ["a", "b"]}, "a"),
        ({"anyOf": [{"type": "null"}, TEXT]}, None),
        ({"type": ["integer", "null"], "minimum": 3}, 3),
        ({"type": "ARRAY", "items": {"type": "BOOLEAN"}, "minItems": 2}, [False, False]),
        ({"type": "object", "properties": {"a": {"type": "number"}, "b": TEXT}, "required": ["a"]}, {"a": 1}),
        ({}, "short"),
    ],
)
def test_the_smallest_value_of_a_schema(schema: dict[str, Any], smallest: Any) -> None:
    assert instance(schema) == smallest
