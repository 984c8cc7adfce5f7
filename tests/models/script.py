"""What the scripted model answers: plain words in the newest message decide, whatever the wire format.

In: a request as `Asked`. Out: an `Answer`, or the `Failure` it asked for. It knows no provider and no clock.

| a line of the message | the answer |
|---|---|
| anything | `You said: …`, a word at a time |
| `THINK` anywhere | the same after some reasoning |
| `SHELL command` | a call of the shell tool; several such lines are called at once |
| `WRITE path content` | a call of the tool that writes files |
| `CALL name {json}` | a call of the tool whose name ends so |
| after a tool's result | `done: ` and the first 200 characters of it |
| `LONG n`, `SLOW n` | n words; slowly, one in 200 ms |
| `IMAGE?` | how many images came, and of what kinds |
| `ERROR status` | no answer but this HTTP status |
"""

from __future__ import annotations

import json
import re

from tests.models.arguments import COMMAND, CONTENT, PATH, fill, instance
from tests.models.talk import Answer, Asked, Call, Failure, Say, Step, Think, Tool

SHELLS = (
    "bash", "shell", "shell_command", "run_shell_command", "exec_command", "execute", "execute_command", "run_command",
    "run_commands", "run_terminal_command", "run_terminal_cmd", "terminal", "local_shell", "exec", "powershell",
)  # fmt: skip
WRITERS = (
    "write", "write_file", "create", "create_file", "write_to_file", "write_text_file", "file_editor",
    "str_replace_editor", "editor", "search_replace",
)  # fmt: skip
SLOW_PAUSE = 0.2
RESULT_LIMIT = 200
THOUGHTS = ("First ", "I ", "consider ", "the ", "request. ", "Then ", "I ", "answer.")

_LINE = re.compile(r"^[ \t]*(SHELL|WRITE|CALL)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_COUNT = re.compile(r"\b(LONG|SLOW) (\d{1,6})\b")
_ERROR = re.compile(r"\bERROR ([45]\d\d)\b")
_SIDE = re.compile(r"\b(title|summari|topic|classif|suggest|compress|name coding)", re.IGNORECASE)
_SIDE_HEAD = 300  # such prompts come to the point at once; an agent's own instructions do not


def answer(asked: Asked) -> Answer | Failure:
    if aside := _aside(asked):
        return aside
    if asked.results:
        return _said(f"done: {asked.results[-1][:RESULT_LIMIT]}")
    if wanted := _ERROR.search(asked.words):
        return Failure(int(wanted[1]))
    if wanted := _COUNT.search(asked.words):
        pieces = tuple(f"w{index} " for index in range(int(wanted[2])))
        return Answer((Say(pieces),), SLOW_PAUSE if wanted[1] == "SLOW" else 0.0)
    thoughts = (Think(THOUGHTS),) if "THINK" in asked.words else ()
    return Answer((*thoughts, *_spoken(asked)))


def _aside(asked: Asked) -> Answer | None:
    """Agents ask for titles, summaries and verdicts between the user's turns: short, and in the shape they want."""
    if asked.forced and (tool := _find(asked, asked.forced)):
        return Answer((Call(tool, instance({**tool.schema, "type": "object"})),))
    if asked.shape is not None:
        return _said(json.dumps(instance(asked.shape)))
    if not asked.tools and _SIDE.search((asked.system or asked.words)[:_SIDE_HEAD]):
        return _said("A short answer")
    return None


def _spoken(asked: Asked) -> tuple[Step, ...]:
    if "IMAGE?" in asked.words:
        kinds = ", ".join(asked.images) or "none"
        return (_say(f"I see {len(asked.images)} image(s): {kinds}"),)
    if calls := [_call(asked, line[1], line[2]) for line in _LINE.finditer(asked.words)]:
        return tuple(calls)
    return (_say(f"You said: {asked.words}"),)


def _call(asked: Asked, verb: str, rest: str) -> Step:
    match verb:
        case "SHELL":
            return _filled(asked, SHELLS, (COMMAND, rest))
        case "WRITE":
            path, _, content = rest.partition(" ")
            return _patched(asked, path, content) or _filled(asked, WRITERS, (PATH, path), (CONTENT, content))
        case _:
            name, _, given = rest.partition(" ")
            tool = _find(asked, name)
            if tool is None:
                return _say(f"there is no tool {name}")
            return Call(tool, instance({**tool.schema, "type": "object"}) | json.loads(given or "{}"))


def _filled(asked: Asked, names: tuple[str, ...], *values: tuple[tuple[str, ...], str]) -> Step:
    by_name = {tool.name.lower(): tool for tool in asked.tools}
    for tool in (by_name[name] for name in names if name in by_name):
        if (arguments := fill(tool, *values)) is not None:
            return Call(tool, arguments)
    return _say(f"there is no tool like {names[0]}")


def _patched(asked: Asked, path: str, content: str) -> Call | None:
    """Codex and Cline write files by a patch in words."""
    tool = next((tool for tool in asked.tools if tool.name == "apply_patch"), None)
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n"
    return Call(tool, {"input": patch}, patch) if tool else None


def _find(asked: Asked, name: str) -> Tool | None:
    """By its whole name, else by its end: MCP tools carry their server's name before their own."""
    whole = next((tool for tool in asked.tools if tool.name == name), None)
    return whole or next((tool for tool in asked.tools if tool.name.endswith(name)), None)


def _said(text: str) -> Answer:
    return Answer((_say(text),))


def _say(text: str) -> Say:
    return Say(tuple(re.findall(r"\S+\s*|\s+", text)))
