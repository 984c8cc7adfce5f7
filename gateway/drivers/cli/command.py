"""An agent's definition and a run's options → the command that is started. Pure: nothing here is run.

Arguments are a list, never a shell line; the value of an option is one argument, whatever it holds. The prompt is never
among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from gateway.catalog import effort
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Cli, FlagTable
from gateway.drivers.base import Opening
from gateway.drivers.mcp_entry import check_literal, to_config_entry
from gateway.drivers.skills import Skill, folders, named
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
    skills: tuple[Skill, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchArguments:
    """Arguments and variables that are added to a command. Sessions share a process only if theirs are equal."""

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    json_env: Mapping[str, str] = field(default_factory=dict)
    """Variables that hold a JSON object each, which is merged into the one that the variable has."""
    skills: tuple[str, ...] = ()
    """Directories of skills that the dialect loads into the whole process."""


def resolve_options(
    definition: AgentDefinition,
    opening: Opening,
    options: Options,
    settings: Mapping[str, str],
    thinking: Mapping[str, Any] | None = None,
    skills: tuple[Skill, ...] = (),
) -> CommandOptions:
    """`settings`: `model` and `mode` as they were set between turns, for a run that names none. `thinking`: the agent's
    own parameters; None: those that its file has for the options. `skills`: the run's, as they were found."""
    name = options.model or settings.get("model")
    model = next((each for each in definition.models if name in (each.id, *each.aliases)), None)
    if model is not None:
        name = model.argument or model.id
    params = dict(effort.thinking_parameters(definition, model, options) if thinking is None else thinking)
    if (variant := params.pop(effort.MODEL_PARAMETER, None)) is not None:
        name = effort.require_variant(definition, name, variant)
    return CommandOptions(
        model=name,
        mode=options.mode or settings.get("mode"),
        approvals=options.approvals or "prompt",
        thinking=params,
        directories=tuple(str(folder) for folder in opening.additional_directories),
        mcp_servers=opening.mcp_servers,
        output_schema=options.output_schema,
        max_turns=options.max_turns,
        skills=skills,
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
        entries = dict(map(to_config_entry, options.mcp_servers))
        for name, entry in entries.items():
            check_literal(name, entry, flags.mcp_reserved)
        yield from _fill_document(flags.mcp, "mcp.json", {"mcpServers": entries}, save)
    if options.output_schema is not None:
        yield from _fill_document(flags.schema_, "schema.json", options.output_schema, save)
    if options.max_turns is not None:
        yield from _fill_flag(flags.max_turns, n=str(options.max_turns))
    if takes_skill_folders(cli) and (paths := folders(options.skills)):
        for path in paths:
            yield from _fill_flag(flags.skill, path=path)
        yield from _fill_flag(flags.skills, json=json.dumps(paths))
    elif takes_skill_names(cli):
        for skill in named(options.skills):
            yield from _fill_flag(flags.skill, name=skill.name)


def takes_skill_folders(cli: Cli) -> bool:
    """A flag loads the directory of a skill."""
    return cli.flags.skills is not None or _has_placeholder(cli.flags.skill, "{path}")


def takes_skill_names(cli: Cli) -> bool:
    """A flag makes the agent use a skill that it has."""
    return _has_placeholder(cli.flags.skill, "{name}")


def _has_placeholder(flag: FlagTable | None, placeholder: str) -> bool:
    return flag is not None and any(placeholder in part for part in (*flag.args, *flag.env.values()))


def _fill_document(flag: FlagTable | None, name: str, document: Any, save: SaveFile) -> Iterator[LaunchArguments]:
    """A JSON document, as an argument or as a file: as the flag has it."""
    if flag is None:
        return
    content = dumps(document)
    file = save(name, content) if _has_placeholder(flag, "{file}") else ""
    in_directory = save(f"{name}.d/{name}", content) if _has_placeholder(flag, "{directory}") else ""
    directory = str(PurePath(in_directory).parent)
    yield from _fill_flag(flag, json=content.decode(), file=file, directory=directory)


def _fill_flag(flag: FlagTable | None, **values: str) -> Iterator[LaunchArguments]:
    if flag is not None:
        for name, value in values.items():
            if value.startswith("-") and f"{{{name}}}" in flag.args:  # the agent would read it as a flag
                raise BadInput(f"{value!r} must not begin with '-'", pointer="/forwardedProps/gateway")
        args = tuple(fill_template(part, values) for part in flag.args)
        env = {name: fill_template(part, values) for name, part in flag.env.items()}
        yield LaunchArguments(args, env, {name: fill_template(part, values) for name, part in flag.json_env.items()})


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
    json_env: dict[str, str] = {}
    for part in parts:
        args += part.args
        env |= part.env
        json_env |= part.json_env
    return LaunchArguments(args, env, json_env)
