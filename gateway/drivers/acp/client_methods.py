"""The requests that an agent may send to its client: permissions, elicitations, files, terminals.

In: a request of the agent. Out: its result, or a `Refusal`. Files and terminals are offered only where the agent's
definition permits them, and stay inside the workspace. Never: an approval that neither the user nor the run's policy
gave.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.connection import Refusal
from gateway.drivers.acp.files import FileMissing, FileUnusable, PathOutside, Workspace
from gateway.drivers.acp.terminals import TerminalNotFound, Terminals, to_exit_status
from gateway.drivers.acp.turn import AcpTurn, TurnHost
from gateway.drivers.base import Opening
from gateway.drivers.confinement import Launch, start_confined
from gateway.drivers.environment import agent_environment
from gateway.drivers.process import Process
from gateway.errors import AgentFault
from gateway.events import Event
from gateway.wire.acp.errors import RESOURCE_NOT_FOUND
from gateway.wire.acp.permissions import decide_by_policy, elicitation_result, permission_result, selected_option_name
from gateway.wire.fields import items
from gateway.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Request

Params = dict[str, Any]
Policy = Literal["auto", "deny"]

MAX_UNREAD_EVENTS = 64
"""Events that wait for the run: with more, a terminal's output is collected instead of sent piece by piece."""


class ClientMethods:
    """Of one session."""

    def __init__(self, host: TurnHost, opening: Opening, definition: AgentDefinition, tasks: Tasks) -> None:
        self._host = host
        self._workspace = Workspace([opening.cwd, *opening.additional_directories], opening.withheld)
        self._terminals = Terminals(tasks, self._start_command)
        self._opening = opening
        self._definition = definition
        self._tasks = tasks
        command = definition.command
        self._inherit_env = command.inherit_env if command else ()
        self._methods: dict[str, Callable[[Request, Params], Awaitable[Any]]] = {
            "session/request_permission": self._request_permission,
            "elicitation/create": self._create_elicitation,
        }
        if definition.acp.fs:
            self._methods |= {"fs/read_text_file": self._read_file, "fs/write_text_file": self._write_file}
        if definition.acp.terminal:
            self._methods |= {
                "terminal/create": self._create_terminal,
                "terminal/output": self._read_output,
                "terminal/wait_for_exit": self._wait_for_exit,
                "terminal/kill": self._kill_terminal,
                "terminal/release": self._release_terminal,
            }

    async def handle(self, request: Request) -> Any:
        method = self._methods.get(request.method)
        if method is None:
            raise Refusal(METHOD_NOT_FOUND, f"{request.method}: this client does not offer it")
        params = request.params if isinstance(request.params, dict) else {}
        try:
            return await method(request, params)
        except FileMissing as exc:
            raise Refusal(RESOURCE_NOT_FOUND, str(exc)) from exc
        except (PathOutside, FileUnusable, TerminalNotFound) as exc:
            raise Refusal(INVALID_PARAMS, str(exc)) from exc
        except AgentFault as exc:
            raise Refusal(INVALID_PARAMS, exc.detail) from exc

    async def aclose(self) -> None:
        await self._terminals.aclose()

    async def end_commands(self, turn: AcpTurn) -> None:
        """The turn was cancelled: the commands that it started in terminals end."""
        await self._terminals.kill_all(turn)

    # -- permissions and elicitations

    async def _request_permission(self, request: Request, params: Params) -> Any:
        turn = self._host.turn
        reader = self._host.reader
        if turn is None or turn.over.is_set():
            return {"outcome": {"outcome": "cancelled"}}  # no run could put it to the user
        events, interrupt = reader.read_permission(request.id, params, _read_text(params, "sessionId"))
        turn.put(events)
        policy = _read_policy(turn.approvals)
        if policy is not None:
            outcome = decide_by_policy(params, policy)
        else:
            turn.put(reader.park())
            outcome = permission_result(params, await turn.request_interrupt(interrupt))
        reader.set_permission_outcome(params, selected_option_name(params, outcome))
        return outcome

    async def _create_elicitation(self, request: Request, params: Params) -> Any:
        turn = self._host.turn
        reader = self._host.reader
        if turn is None or turn.over.is_set():
            return {"action": "cancel"}
        events, interrupt = reader.read_elicitation(request.id, params, _read_text(params, "sessionId"))
        turn.put([*events, *reader.park()])
        return elicitation_result(params, await turn.request_interrupt(interrupt))

    # -- files

    async def _read_file(self, request: Request, params: Params) -> Any:
        path = _read_text(params, "path") or ""
        line, limit = _read_number(params, "line"), _read_number(params, "limit")
        return {"content": await to_thread.run_sync(self._workspace.read_text, path, line, limit)}

    async def _write_file(self, request: Request, params: Params) -> Any:
        path, content = _read_text(params, "path") or "", _read_text(params, "content")
        if content is None:
            raise Refusal(INVALID_PARAMS, "`content` is missing")
        await to_thread.run_sync(self._workspace.write_text, path, content)
        return {}

    # -- terminals (https://agentclientprotocol.com/protocol/v1/terminals)

    async def _create_terminal(self, request: Request, params: Params) -> Any:
        command = _read_text(params, "command")
        if not command:
            raise Refusal(INVALID_PARAMS, "`command` is missing")
        values = params.get("args")
        args = [str(arg) for arg in values] if isinstance(values, list) else []
        variables = {str(item.get("name")): str(item.get("value")) for item in items(params.get("env"))}
        root, relative_path = self._workspace.resolve(_read_text(params, "cwd") or str(self._workspace.roots[0]))
        turn = self._host.turn
        if turn is not None and turn.is_cancelled:
            raise Refusal(INVALID_PARAMS, "the turn was cancelled: no command is started for it any more")
        terminal_id = await self._terminals.create(
            turn,
            command,
            args,
            cwd=Path(root / relative_path),
            env=agent_environment(self._inherit_env, variables, os.environ),
            limit=_read_number(params, "outputByteLimit"),
            on_output=self._show_output,
            on_exit=self._show_exit,
        )
        self._put(self._host.reader.show_terminal(terminal_id, command=" ".join([command, *args])))
        return {"terminalId": terminal_id}

    async def _start_command(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Process:
        """As the agent itself is confined, in a sandbox of its own."""
        launch = Launch(command, env, cwd)
        return await start_confined(launch, self._definition, self._opening.confinement, self._tasks)

    async def _read_output(self, request: Request, params: Params) -> Any:
        terminal = self._terminals[_read_text(params, "terminalId") or ""]
        status = terminal.exit_status
        result: Params = {"output": terminal.output, "truncated": terminal.is_truncated}
        return result if status is None else {**result, "exitStatus": status}

    async def _wait_for_exit(self, request: Request, params: Params) -> Any:
        terminal = self._terminals[_read_text(params, "terminalId") or ""]
        await terminal.done.wait()
        return terminal.exit_status

    async def _kill_terminal(self, request: Request, params: Params) -> Any:
        await self._terminals[_read_text(params, "terminalId") or ""].kill()
        return {}

    async def _release_terminal(self, request: Request, params: Params) -> Any:
        await self._terminals.release(_read_text(params, "terminalId") or "")
        return {}

    def _show_output(self, terminal_id: str, text: str) -> bool:
        turn = self._host.turn
        if turn is not None and turn.unread_count > MAX_UNREAD_EVENTS:
            return False
        self._put(self._host.reader.show_terminal(terminal_id, text))
        return True

    def _show_exit(self, terminal_id: str, text: str, code: int) -> None:
        status: dict[str, Any] = to_exit_status(code)
        self._put(self._host.reader.show_terminal(terminal_id, text, **status))

    def _put(self, events: list[Event]) -> None:
        if (turn := self._host.turn) is not None:
            turn.put(events)


def _read_policy(approvals: str | None) -> Policy | None:
    match approvals:
        case "auto" | "deny":
            return approvals
        case _:
            return None


def _read_text(params: Params, key: str) -> str | None:
    value = params.get(key)
    return value if isinstance(value, str) else None


def _read_number(params: Params, key: str) -> int | None:
    value = params.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
