"""What a caller may ask of a run, beyond what the agent is capable of.

In: a turn's options, the agent's definition, the caller. Out: nothing, or `Forbidden` with the scope that is missing.
Tool calls that no user is asked about need `approve`: the option `approvals: "auto"`, and the agent's modes and
settings that amount to it. Programs that a run names (stdio MCP servers, skills outside the workspace) need `programs`,
unless the operator allows exactly these (`allow_programs`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.errors import Forbidden
from gateway.identity import Caller
from gateway.settings import Settings
from gateway.turn import Options

OPTIONS_POINTER = "/forwardedProps/gateway"
REMOTE_TRANSPORTS = ("http", "sse")


class RunPermissions:
    def __init__(self, settings: Settings) -> None:
        self._roots = tuple(Path(os.path.realpath(root)) for root in settings.workspace)
        self._commands = frozenset(tuple(shlex.split(line)) for line in settings.allow_programs)
        self._folders = frozenset(os.path.realpath(line) for line in settings.allow_programs if os.path.isabs(line))

    def check(self, definition: AgentDefinition, options: Options, caller: Caller) -> None:
        """Raises `NotFound` for an agent that the caller may not use, `Forbidden` for the rest."""
        caller.require_agent(definition.id)
        if options.approvals == "auto":
            _require(caller, "approve", "approvals", "tool calls that are approved without a question")
        if options.mode is not None:
            check_mode(definition, options.mode, caller)
        for server in options.mcp_servers or ():
            if not _is_remote(server) and not self._is_allowed_server(server):
                name = str(server.get("name", ""))[:80]
                _require(caller, "programs", "mcpServers", f"the MCP server {name!r}, which is a program")
        for skill in options.skills or ():
            if not self._is_allowed_skill(skill, options.cwd):
                _require(caller, "programs", "skills", f"the skill {skill[:80]!r}, which is outside the workspace")

    def _is_allowed_server(self, server: Mapping[str, Any]) -> bool:
        """Only with exactly this command line and no environment: variables can make a program load another one."""
        args = server.get("args") or []
        if server.get("env") or not isinstance(args, list | tuple):
            return False
        return (server.get("command"), *args) in self._commands

    def _is_allowed_skill(self, skill: str, cwd: str | None) -> bool:
        """A name that is no path stands for a folder of this name where the agent works. Links are resolved."""
        if skill.startswith("~"):
            return False
        path = Path(os.path.realpath(self._roots[0] / (cwd or "") / skill))
        return str(path) in self._folders or any(root in path.parents for root in self._roots)


def check_mode(definition: AgentDefinition, mode: str, caller: Caller) -> None:
    """Raises `Forbidden`."""
    if mode in definition.auto_approve_modes:
        _require(caller, "approve", "mode", f"the mode {mode!r}, in which tool calls are not asked about")


def check_config(definition: AgentDefinition, option: Any, value: Any, caller: Caller) -> None:
    """A setting of a session: it may choose the mode, or turn questions off. Raises `Forbidden`."""
    if isinstance(value, str):
        check_mode(definition, value, caller)
    if option in definition.auto_approve_config:
        _require(caller, "approve", "config", f"the setting {option!r}, by which tool calls are not asked about")


def check_call(definition: AgentDefinition, params: Mapping[str, Any], caller: Caller) -> None:
    """The parameters of a method of the agent's own protocol, at any depth. Raises `Forbidden`."""
    ahead: list[Any] = [params]
    while ahead:
        match ahead.pop():
            case Mapping() as table:
                for key, value in table.items():
                    check_config(definition, key, value, caller)
                    check_config(definition, value if isinstance(value, str) else None, None, caller)
                    ahead.append(value)
            case list() | tuple() as items:
                ahead += items
            case _:
                pass


def _is_remote(server: Mapping[str, Any]) -> bool:
    """Whatever is not clearly a server at a URL counts as a program."""
    return "command" not in server and server.get("type", "http") in REMOTE_TRANSPORTS and bool(server.get("url"))


def _require(caller: Caller, scope: str, option: str, what: str) -> None:
    if scope in caller.scopes:
        return
    names: Sequence[str] = sorted(caller.scopes)
    detail = f"the run asks for {what}: this needs the scope {scope!r}; {caller.principal!r} has {', '.join(names)}"
    raise Forbidden(detail, code="SCOPE_MISSING", scope=scope, pointer=f"{OPTIONS_POINTER}/{option}")
