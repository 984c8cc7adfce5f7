"""An agent's definition and a run's options → the command that is started. Pure: nothing here is run.

Arguments are a list, never a shell line; the value of an option is one argument, whatever it holds. The prompt is never
among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.catalog import effort
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Cli, FlagTable
from gateway.drivers.base import Opening
from gateway.drivers.mcp_entry import to_config_entry
from gateway.errors import BadInput
from gateway.jsonio import dumps
from gateway.turn import Approvals, Options

_PATH = re.compile(r"[/\\]|\.jsonl$")
"""Some agents take a session's file in place of its id, and create the file if it does not exist."""

SaveFile = Callable[[str, bytes], str]
"""(name, content) → the path of a file with it."""


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The options of a run that may change the command."""

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
class LaunchArguments:
    """Arguments and variables that are added to a command."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def resolve_options(
    definition: AgentDefinition, opening: Opening, options: Options, settings: Mapping[str, str]
) -> CommandOptions:
    """`settings`: `model` and `mode` as they were set between turns, for a run that names none."""
    name = options.model or settings.get("model")
    model = next((each for each in definition.models if name in (each.id, *each.aliases)), None)
    return CommandOptions(
        model=name if model is None else model.argument or model.id,
        mode=options.mode or settings.get("mode"),
        approvals=options.approvals or "prompt",
        thinking=effort.thinking_parameters(definition, model, options),
        directories=tuple(str(folder) for folder in opening.additional_directories),
        mcp_servers=opening.mcp_servers,
        output_schema=options.output_schema,
        max_turns=options.max_turns,
        skills=options.skills or (),
    )


def option_arguments(cli: Cli, options: CommandOptions, save: SaveFile) -> LaunchArguments:
    """The same options give the same command, so that a process that was started with it can go on."""
    return _join(_list_arguments(cli, options, save))


def session_arguments(cli: Cli, session_id: str | None, new_id: str, *, fork: bool) -> LaunchArguments:
    """Which conversation the process is for. `new_id`: the id of a conversation that begins now."""
    flags = cli.flags
    if session_id is None:
        return _join(_fill_flag(flags.session_id, session=new_id))
    flag = flags.fork if fork else flags.resume
    if flag is not None and _PATH.search(session_id):
        raise BadInput(f"{session_id!r} is no session id", pointer="/forwardedProps/gateway/sessionId")
    return _join(_fill_flag(flag, session=session_id, new=new_id))


def media_arguments(cli: Cli, paths: Iterable[str]) -> LaunchArguments:
    return _join(arguments for path in paths for arguments in _fill_flag(cli.flags.media, path=path))


def _list_arguments(cli: Cli, options: CommandOptions, save: SaveFile) -> Iterator[LaunchArguments]:
    flags = cli.flags
    if options.model is not None:
        yield from _fill_flag(flags.model, model=options.model)
    if options.mode is not None:
        yield from _fill_flag(flags.mode, mode=options.mode)
    yield from _fill_flag(flags.approvals.get(options.approvals))
    for name, value in sorted(options.thinking.items()):
        yield from _fill_flag(flags.thinking.get(name), value=_to_text(value))
    for path in options.directories:
        yield from _fill_flag(flags.directory, path=path)
    if options.mcp_servers:
        document = {"mcpServers": dict(map(to_config_entry, options.mcp_servers))}
        yield from _fill_document(flags.mcp, "mcp.json", document, save)
    if options.output_schema is not None:
        yield from _fill_document(flags.schema_, "schema.json", options.output_schema, save)
    if options.max_turns is not None:
        yield from _fill_flag(flags.max_turns, n=str(options.max_turns))
    for name in options.skills:
        yield from _fill_flag(flags.skill, name=name)


def _fill_document(flag: FlagTable | None, name: str, document: Any, save: SaveFile) -> Iterator[LaunchArguments]:
    """A JSON document, as an argument or as a file: as the flag has it."""
    if flag is None:
        return
    content = dumps(document)
    needs_file = any("{file}" in part for part in (*flag.args, *flag.env.values()))
    yield from _fill_flag(flag, json=content.decode(), file=save(name, content) if needs_file else "")


def _fill_flag(flag: FlagTable | None, **values: str) -> Iterator[LaunchArguments]:
    if flag is not None:
        for name, value in values.items():
            if value.startswith("-") and f"{{{name}}}" in flag.args:  # the agent would read it as a flag
                raise BadInput(f"{value!r} must not begin with '-'", pointer="/forwardedProps/gateway")
        args = tuple(fill_template(part, values) for part in flag.args)
        yield LaunchArguments(args, {name: fill_template(part, values) for name, part in flag.env.items()})


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Replaces `{name}`. Not `str.format`, because JSON has braces too. One pass, so that no value is read as a
    template."""
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


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _join(parts: Iterable[LaunchArguments]) -> LaunchArguments:
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    for part in parts:
        args += part.args
        env |= part.env
    return LaunchArguments(args, env)
