"""What an agent may ask of its client: permissions, forms, files, terminals. Each by the definition's leave."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.connection import Refusal
from gateway.drivers.acp.files import Missing, Outside, Unfit, Workspace
from gateway.drivers.acp.terminals import NoSuchTerminal, Terminals, exit_status
from gateway.drivers.base import Opening
from gateway.drivers.environment import trimmed
from gateway.errors import AgentFault
from gateway.wire.acp.errors import RESOURCE_NOT_FOUND
from gateway.wire.acp.permissions import decide_by_policy, elicitation_result, permission_result, selected_option_name
from gateway.wire.fields import items
from gateway.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Request

if TYPE_CHECKING:
    from gateway.drivers.acp.session import AcpSession

Params = dict[str, Any]
Policy = Literal["auto", "deny"]

UNREAD = 64
"""Events that wait for the run: with more, a command's output is gathered instead of shown piece by piece."""


class ClientMethods:
    def __init__(self, session: AcpSession, opening: Opening, definition: AgentDefinition, tasks: Tasks) -> None:
        self._session = session
        self._workspace = Workspace([opening.cwd, *opening.additional_directories])
        self._terminals = Terminals(tasks)
        command = definition.command
        self._inherit = command.inherit_env if command else ()
        self._methods: dict[str, Callable[[Request, Params], Awaitable[Any]]] = {
            "session/request_permission": self._permission,
            "elicitation/create": self._elicitation,
        }
        if definition.acp.fs:
            self._methods |= {"fs/read_text_file": self._read, "fs/write_text_file": self._write}
        if definition.acp.terminal:
            self._methods |= {
                "terminal/create": self._create,
                "terminal/output": self._output,
                "terminal/wait_for_exit": self._wait,
                "terminal/kill": self._kill,
                "terminal/release": self._release,
            }

    async def answer(self, request: Request) -> Any:
        method = self._methods.get(request.method)
        if method is None:
            raise Refusal(METHOD_NOT_FOUND, f"{request.method}: this client does not offer it")
        params = request.params if isinstance(request.params, dict) else {}
        try:
            return await method(request, params)
        except Missing as exc:
            raise Refusal(RESOURCE_NOT_FOUND, str(exc)) from exc
        except (Outside, Unfit, NoSuchTerminal) as exc:
            raise Refusal(INVALID_PARAMS, str(exc)) from exc
        except AgentFault as exc:
            raise Refusal(INVALID_PARAMS, exc.detail) from exc

    async def aclose(self) -> None:
        await self._terminals.aclose()

    # -- asking people

    async def _permission(self, request: Request, params: Params) -> Any:
        turn = self._session.turn
        reader = self._session.reader
        if turn is None or turn.over.is_set():
            return {"outcome": {"outcome": "cancelled"}}  # nobody is there to be asked
        events, question = reader.permission(request.id, params, _text(params, "sessionId"))
        turn.put(events)
        policy: Policy | None = _policy(turn.turn.options.approvals)
        if policy is not None:
            outcome = decide_by_policy(params, policy)
        else:
            turn.put(reader.park())
            outcome = permission_result(params, await turn.ask(question))
        reader.permission_given(params, selected_option_name(params, outcome))
        return outcome

    async def _elicitation(self, request: Request, params: Params) -> Any:
        turn = self._session.turn
        if turn is None or turn.over.is_set():
            return {"action": "cancel"}
        events, question = self._session.reader.elicitation(request.id, params, _text(params, "sessionId"))
        turn.put([*events, *self._session.reader.park()])
        return elicitation_result(params, await turn.ask(question))

    # -- files

    async def _read(self, request: Request, params: Params) -> Any:
        path, line, limit = _text(params, "path") or "", _number(params, "line"), _number(params, "limit")
        return {"content": await to_thread.run_sync(self._workspace.read_text, path, line, limit)}

    async def _write(self, request: Request, params: Params) -> Any:
        path, content = _text(params, "path") or "", _text(params, "content")
        if content is None:
            raise Refusal(INVALID_PARAMS, "`content` is missing")
        await to_thread.run_sync(self._workspace.write_text, path, content)
        return {}

    # -- terminals

    async def _create(self, request: Request, params: Params) -> Any:
        command = _text(params, "command")
        if not command:
            raise Refusal(INVALID_PARAMS, "`command` is missing")
        given = params.get("args")
        args = [str(arg) for arg in given] if isinstance(given, list) else []
        extra = {str(item.get("name")): str(item.get("value")) for item in items(params.get("env"))}
        root, below = self._workspace.resolve(_text(params, "cwd") or str(self._workspace.roots[0]))
        terminal_id = await self._terminals.create(
            command,
            args,
            cwd=Path(root / below),
            env=trimmed(self._inherit, extra, os.environ),
            limit=_number(params, "outputByteLimit"),
            shown=self._shown,
            ended=self._ended,
        )
        self._tell(self._session.reader.terminal(terminal_id, command=" ".join([command, *args])))
        return {"terminalId": terminal_id}

    async def _output(self, request: Request, params: Params) -> Any:
        terminal = self._terminals[_text(params, "terminalId") or ""]
        status = terminal.exit_status
        told: Params = {"output": terminal.output, "truncated": terminal.truncated}
        return told if status is None else {**told, "exitStatus": status}

    async def _wait(self, request: Request, params: Params) -> Any:
        terminal = self._terminals[_text(params, "terminalId") or ""]
        await terminal.done.wait()
        return terminal.exit_status

    async def _kill(self, request: Request, params: Params) -> Any:
        await self._terminals[_text(params, "terminalId") or ""].kill()
        return {}

    async def _release(self, request: Request, params: Params) -> Any:
        await self._terminals.release(_text(params, "terminalId") or "")
        return {}

    def _shown(self, terminal_id: str, words: str) -> bool:
        turn = self._session.turn
        if turn is not None and turn.unread > UNREAD:
            return False
        self._tell(self._session.reader.terminal(terminal_id, words))
        return True

    def _ended(self, terminal_id: str, words: str, code: int) -> None:
        status: dict[str, Any] = exit_status(code)
        self._tell(self._session.reader.terminal(terminal_id, words, **status))

    def _tell(self, events: list[Any]) -> None:
        if (turn := self._session.turn) is not None:
            turn.put(events)


def _policy(approvals: str | None) -> Policy | None:
    match approvals:
        case "auto" | "deny":
            return approvals
        case _:
            return None


def _text(params: Params, key: str) -> str | None:
    value = params.get(key)
    return value if isinstance(value, str) else None


def _number(params: Params, key: str) -> int | None:
    value = params.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
