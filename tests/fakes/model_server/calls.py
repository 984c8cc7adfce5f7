"""`SHELL`, `WRITE` and `CALL` lines → calls of the tools that this agent happens to offer.

In: a request as `Asked`. Out: steps; where there is no fitting tool, a sentence that says so. Some agents hold the
tools of MCP servers back and offer a search instead; then a `CALL` takes one round more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.fakes.model_server.arguments import COMMAND, CONTENT, PATH, fill, instance
from tests.fakes.model_server.conversation import Asked, Call, Json, Step, Tool, say

SHELLS = (
    "bash", "shell", "shell_command", "run_shell_command", "exec_command", "execute", "execute_command", "run_command",
    "run_commands", "run_terminal_command", "run_terminal_cmd", "terminal", "local_shell", "exec", "powershell",
)  # fmt: skip
WRITERS = (
    "write", "write_file", "create", "create_file", "write_to_file", "write_text_file", "file_editor",
    "str_replace_editor",
)  # fmt: skip
SEARCHERS = ("tool_search", "search_tool")
"""Tools that tell of other tools."""
PROXIES = ("tool_call", "use_tool")
"""Tools that call another by its name."""

_LINE = re.compile(r"^[ \t]*(SHELL|WRITE|CALL)[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)


def first_calls(asked: Asked) -> tuple[Step, ...]:
    """What the user's lines ask for, all at once."""
    return tuple(_step(asked, line[1], line[2]) for line in _LINE.finditer(asked.words))


def next_call(asked: Asked) -> Call | None:
    """The call that a search was for, once its result is there."""
    line = _LINE.search(asked.words)
    if line is None or line[1] != "CALL" or len(asked.results) != 1:
        return None
    name, arguments = _named(line[2])
    proxy = _first(asked.tools, PROXIES)
    full = re.search(rf"[\w.-]+__{re.escape(name)}\b", asked.results[0])
    if _find(asked.tools, name) or proxy is None or full is None or arguments is None:
        return None
    known: Json = {"name": full[0], "tool_name": full[0], "arguments": arguments, "tool_input": arguments}
    return Call(proxy, {key: known[key] for key in proxy.schema.get("properties", {}) if key in known})


def forced_call(asked: Asked) -> Call | None:
    """The call that the request insists on."""
    tool = _find(asked.tools, asked.forced) if asked.forced else None
    return Call(tool, least(tool)) if tool else None


def least(tool: Tool) -> Json:
    """The smallest arguments it takes."""
    found: Json = instance({**tool.schema, "type": "object"})
    return found


def _step(asked: Asked, verb: str, rest: str) -> Step:
    match verb:
        case "SHELL":
            return _filled(asked.tools, SHELLS, (COMMAND, rest))
        case "WRITE":
            path, _, content = rest.partition(" ")
            return _patched(asked, path, content) or _filled(asked.tools, WRITERS, (PATH, path), (CONTENT, content))
        case _:
            return _called(asked, *_named(rest))


def _named(rest: str) -> tuple[str, Json | None]:
    """`name {json}`; None where that is no object."""
    name, _, given = rest.partition(" ")
    try:
        read: Any = json.loads(given or "{}")
    except ValueError:
        return name, None
    return name, read if isinstance(read, dict) else None


def _called(asked: Asked, name: str, arguments: Json | None) -> Step:
    if arguments is None:
        return say(f"the arguments of {name} are no JSON object")
    if tool := _find(asked.tools, name):
        return Call(tool, least(tool) | arguments)
    searcher = _first(asked.tools, SEARCHERS)
    if searcher is None or asked.searched:
        return say(f"there is no tool {name}")
    return Call(searcher, least(searcher) | {"query": name})


def _filled(tools: tuple[Tool, ...], names: tuple[str, ...], *values: tuple[tuple[str, ...], str]) -> Step:
    for tool in _among(tools, names):
        if (arguments := fill(tool, *values)) is not None:
            return Call(tool, arguments)
    return say(f"there is no tool like {names[0]}")


def _patched(asked: Asked, path: str, content: str) -> Call | None:
    """Codex and Cline write files by a patch in words."""
    tool = _first(asked.tools, ("apply_patch",))
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n"
    return Call(tool, {"input": patch}, patch) if tool else None


def _find(tools: Iterable[Tool], name: str) -> Tool | None:
    """By its whole name, else by its end: MCP tools carry their server's name before their own."""
    found = [tool for tool in tools if tool.name.endswith(name)]
    return next((tool for tool in found if tool.name == name), found[0] if found else None)


def _first(tools: tuple[Tool, ...], names: tuple[str, ...]) -> Tool | None:
    return next(_among(tools, names), None)


def _among(tools: tuple[Tool, ...], names: tuple[str, ...]) -> Iterator[Tool]:
    by_name = {tool.name.lower(): tool for tool in tools}
    return (by_name[name] for name in names if name in by_name)
