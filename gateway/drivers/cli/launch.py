"""Starts an agent's process and opens the transport to it."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path
from typing import Any

from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Cli, Command
from gateway.drivers.cli.command import LaunchArguments, fill_template
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.transports import TRANSPORTS, Endpoint
from gateway.drivers.confinement import Confinement, Launch, start_confined
from gateway.drivers.environment import agent_environment, merge_json, select_variables
from gateway.drivers.homes import agent_environ
from gateway.wire.dialects import DIALECTS

TOKEN_BYTES = 24


class Launcher:
    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.command is not None and definition.cli is not None  # the definition was checked
        self.definition = definition
        self.command: Command = definition.command
        self.cli: Cli = definition.cli
        self.dialect = DIALECTS[self.cli.dialect]
        self._tasks = tasks

    async def launch(self, cwd: Path, arguments: LaunchArguments, confinement: Confinement) -> Connection:
        """Raises `AgentFault` when the agent cannot be started, or cannot be reached by its transport."""
        values = self._placeholder_values(cwd)
        run = [fill_template(part, values) for part in (*self.command.run, *arguments.args)]
        variables = {name: fill_template(part, values) for name, part in {**self.command.env, **arguments.env}.items()}
        environ = await to_thread.run_sync(agent_environ, self.definition, confinement.home)
        env = agent_environment(self.command.inherit_env, variables, environ)
        for name, document in arguments.json_env.items():
            env[name] = merge_json(env.get(name), document)
        port = int(values["port"]) if "port" in values else None
        process = await start_confined(Launch(run, env, cwd, port), self.definition, confinement, self._tasks)
        try:
            endpoint = Endpoint(process, self.cli, values, self.definition.source.name, self._tasks)
            transport = await TRANSPORTS[self.cli.transport](endpoint)
        except BaseException:
            self._tasks.start_soon(process.stop)
            raise
        params: dict[str, Any] = {name: values[name] for name in ("port", "token") if name in values}
        if names := self.cli.params.get("env"):
            params["env"] = select_variables(names, env)
        connection = Connection(transport, self.dialect, self._tasks, params, confinement, arguments)
        connection.start()
        return connection

    def _placeholder_values(self, cwd: Path) -> dict[str, str]:
        values = {"cwd": str(cwd), "agents": str(self.definition.source.parent)}
        if self.cli.url is not None:
            values |= {"port": str(_find_free_port()), "token": secrets.token_urlsafe(TOKEN_BYTES)}
        return values


def _find_free_port() -> int:
    """Free now. If another process takes it meanwhile, the start fails, and the next attempt gets another port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
