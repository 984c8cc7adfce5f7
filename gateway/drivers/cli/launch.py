"""Starts an agent's process and opens the transport to it."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Cli, Command
from gateway.drivers.cli.command import Added, filled
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.transports.http import HttpTransport, WebSocketTransport, listening
from gateway.drivers.cli.transports.stdio import StdioTransport, Transport
from gateway.drivers.environment import select_variables, trimmed
from gateway.drivers.process.process import Process, spawn
from gateway.errors import AgentFault
from gateway.wire.dialects import DIALECTS


class Launcher:
    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.command is not None and definition.cli is not None  # the definition was checked
        self.definition, self._tasks = definition, tasks
        self.command: Command = definition.command
        self.cli: Cli = definition.cli
        self.dialect = DIALECTS[self.cli.dialect]

    async def launch(self, cwd: Path, added: Added) -> Connection:
        """Raises `AgentFault` when it cannot be started, or does not listen where it should."""
        values = self._values(cwd)
        run = [filled(part, values) for part in (*self.command.run, *added.args)]
        extra = {name: filled(part, values) for name, part in {**self.command.env, **added.env}.items()}
        env = trimmed(self.command.inherit_env, extra, os.environ)
        process = await spawn(run, cwd=cwd, env=env, tasks=self._tasks)
        try:
            transport = await self._open_transport(process, values)
        except BaseException:
            self._tasks.start_soon(process.stop)
            raise
        link = Connection(transport, self.dialect, self._tasks)
        link.secrets = {name: values[name] for name in ("port", "token") if name in values}
        if names := self.cli.params.get("env"):
            link.secrets["env"] = select_variables(names, env)
        link.start()
        return link

    def _values(self, cwd: Path) -> dict[str, str]:
        values = {"cwd": str(cwd), "agents": str(self.definition.source.parent)}
        if self.cli.url is not None:
            values |= {"port": str(_free_port()), "token": secrets.token_urlsafe(24)}
        return values

    async def _open_transport(self, process: Process, values: Mapping[str, str]) -> Transport:
        cli = self.cli
        if cli.transport != "http" and cli.transport != "websocket":
            return StdioTransport(process, cli.transport)
        if cli.url is None:
            raise AgentFault(f"{self.definition.source.name}: cli.url is missing", code="INVALID_CONFIG")
        await listening(process, filled(cli.health or cli.url, values), cli.start_timeout)
        self._tasks.start_soon(_drain, process)  # nobody else reads what a server prints
        if cli.transport == "http":
            return HttpTransport(process, self._tasks, filled(cli.url, values), cli.events)
        return await WebSocketTransport.open(process, filled(cli.url, values))


async def _drain(process: Process) -> None:
    while await process.read():
        pass


def _free_port() -> int:
    """Free now; whoever takes it in between makes the start fail, and the next try takes another."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
