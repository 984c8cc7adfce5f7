"""An agent's definition and a run's wishes → the command that is started. Pure: nothing here is run.

Arguments are a list, never a shell; a wish becomes one argument, whatever stands in it. The prompt is never among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.catalog.sections import Cli, FlagTable
from gateway.errors import BadInput
from gateway.jsonio import dumps
from gateway.turn import Approvals

_PATH = re.compile(r"[/\\]|\.jsonl$")
"""Some agents take a session by its file, too, and make the file that is not there."""

Save = Callable[[str, bytes], str]
"""(name, content) → the path of a file with it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run wishes for, as far as it may concern the command."""

    model: str | None = None
    mode: str | None = None
    approvals: Approvals = "prompt"
    thinking: Mapping[str, Any] = field(default_factory=dict)
    directories: tuple[str, ...] = ()
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    output_schema: Mapping[str, Any] | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Added:
    """What wishes add to a command."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def added(cli: Cli, wanted: Wanted, save: Save) -> Added:
    """The same wishes give the same command: a process that was started with it can go on."""
    return _joined(_wished(cli, wanted, save))


def session_added(cli: Cli, session_id: str | None, new_id: str, *, fork: bool) -> Added:
    """Which conversation the process is for. `new_id`: for one that begins now."""
    wishes = cli.flags
    if session_id is None:
        return _joined(_one(wishes.session_id, session=new_id))
    flag = wishes.fork if fork else wishes.resume
    if flag is not None and _PATH.search(session_id):
        raise BadInput(f"{session_id!r} is no session's id", pointer="/forwardedProps/gateway/sessionId")
    return _joined(_one(flag, session=session_id, new=new_id))


def media_added(cli: Cli, paths: Iterable[str]) -> Added:
    return _joined(flag for path in paths for flag in _one(cli.flags.media, path=path))


def _wished(cli: Cli, wanted: Wanted, save: Save) -> Iterator[Added]:
    wishes = cli.flags
    if wanted.model is not None:
        yield from _one(wishes.model, model=wanted.model)
    if wanted.mode is not None:
        yield from _one(wishes.mode, mode=wanted.mode)
    yield from _one(wishes.approvals.get(wanted.approvals))
    for name, value in sorted(wanted.thinking.items()):
        yield from _one(wishes.thinking.get(name), value=_text(value))
    for path in wanted.directories:
        yield from _one(wishes.directory, path=path)
    if wanted.mcp_servers:
        yield from _document(wishes.mcp, "mcp.json", {"mcpServers": dict(map(mcp_entry, wanted.mcp_servers))}, save)
    if wanted.output_schema is not None:
        yield from _document(wishes.schema_, "schema.json", wanted.output_schema, save)
    if wanted.max_turns is not None:
        yield from _one(wishes.max_turns, n=str(wanted.max_turns))
    for name in wanted.skills:
        yield from _one(wishes.skill, name=name)


def _document(flag: FlagTable | None, name: str, document: Any, save: Save) -> Iterator[Added]:
    if flag is None:
        return
    content = dumps(document)
    wants_file = any("{file}" in part for part in (*flag.args, *flag.env.values()))
    yield from _one(flag, json=content.decode(), file=save(name, content) if wants_file else "")


def _one(flag: FlagTable | None, **values: str) -> Iterator[Added]:
    if flag is not None:
        for name, value in values.items():
            if value.startswith("-") and f"{{{name}}}" in flag.args:  # it would be read as a flag of its own
                raise BadInput(f"{value!r} must not begin with '-'", pointer="/forwardedProps/gateway")
        args = tuple(filled(part, values) for part in flag.args)
        yield Added(args, {name: filled(part, values) for name, part in flag.env.items()})


def filled(template: str, values: Mapping[str, str]) -> str:
    """Not `format`: JSON has braces of its own. One pass, so that a value is never read as a template."""
    whole = template.removeprefix("{").removesuffix("}")
    if template == f"{{{whole}}}" and whole in values:  # nearly all of them
        return values[whole]
    parts, rest = [], template
    while rest:
        hits = [(at, name) for name in values if (at := rest.find(f"{{{name}}}")) >= 0]
        if not hits:
            break
        at, name = min(hits)
        parts += [rest[:at], values[name]]
        rest = rest[at + len(name) + 2 :]
    return "".join([*parts, rest])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _joined(flags: Iterable[Added]) -> Added:
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    for flag in flags:
        args += flag.args
        env |= flag.env
    return Added(args, env)


def mcp_entry(server: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A server as ACP lists it → as nearly every command-line agent's file does."""
    name = server.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput("an MCP server needs a name", pointer="/forwardedProps/gateway/mcpServers")
    if "command" in server:
        entry = {"command": server["command"], "args": server.get("args", []), "env": _named(server.get("env"))}
    else:
        kind = server.get("type", "http")
        entry = {"type": kind, "url": server.get("url"), "headers": _named(server.get("headers"))}
    return name, {key: value for key, value in entry.items() if value not in ({}, [], None)}


def _named(pairs: Any) -> dict[str, str]:
    """`[{"name", "value"}]`, or an object already."""
    if isinstance(pairs, Mapping):
        return {str(name): str(value) for name, value in pairs.items()}
    listed = pairs if isinstance(pairs, list | tuple) else ()
    return {str(pair["name"]): str(pair["value"]) for pair in listed if isinstance(pair, Mapping) and "name" in pair}
