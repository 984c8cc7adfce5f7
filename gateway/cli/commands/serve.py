"""`agui-gateway serve`: starts the gateway and runs it until it is stopped."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from gateway import __version__
from gateway.catalog.definition import AgentDefinition
from gateway.cli.exit import fail
from gateway.drivers.probe import seems_installed
from gateway.errors import GatewayError
from gateway.settings import Settings, load
from gateway.web.app import create_app
from gateway.web.server import bind, serve

SERVE_HELP = """Start the gateway.

It listens on the loopback interface. Any other --host requires a --token-file. Every option can also be set in the
environment (AGUI_GATEWAY_PORT=8200) or in gateway.toml (port = 8200), and so can all other settings. An option takes
precedence over the environment, and the environment over the file.

\b
Allow a web page:           agui-gateway serve --allow-origin http://localhost:5173
Keep nothing on disk:       agui-gateway serve --store memory:
Serve other machines:       openssl rand -hex 24 > tokens.txt
                            agui-gateway serve --host 0.0.0.0 --token-file tokens.txt
"""


@click.command("serve", help=SERVE_HELP)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="The port to listen on; 0 chooses a free one.  [default: 8123]")
@click.option("--agents", multiple=True, metavar="DIR", help="A directory of agent files. Repeatable.")
@click.option(
    "--no-watch", "watch", flag_value=False, default=None, help="Do not apply changes of agent files while running."
)
@click.option("--acp", multiple=True, metavar="COMMAND", help="The command line of an ACP agent. Repeatable.")
@click.option("--workspace", multiple=True, metavar="DIR", help="A directory in which agents may work. Repeatable.")
@click.option(
    "--sandbox",
    type=click.Choice(("auto", "none", "bubblewrap", "container")),
    help="How the processes of all agents are isolated.  [default: as each agent's file says]",
)
@click.option("--sandbox-hosts", multiple=True, metavar="HOST", help="A host for agents in a sandbox. Repeatable.")
@click.option("--store", metavar="URL", help="sqlite:///PATH or memory:  [default: a file in your data directory]")
@click.option("--token-file", metavar="FILE", help="A file with one token per line; every request then needs one.")
@click.option("--allow-origin", multiple=True, metavar="ORIGIN", help="A web origin whose pages may call. Repeatable.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A host name that requests may use. Repeatable.")
@click.option(
    "--config", type=click.Path(path_type=Path), help="A settings file.  [default: gateway.toml, if it exists]"
)
@click.option("--verbose", is_flag=True, help="Log more.")
def command(config: Path | None, verbose: bool, **options: Any) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    flags = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        settings = load(flags, os.environ, config)
        app = create_app(settings)
        sock = bind(settings)

        def on_ready() -> None:  # by now the registered agents are loaded too
            print_banner(settings, sock, [agent.definition for agent in app.state.gateway.agents])

        started = serve(app, settings, sock, on_ready)
    except GatewayError as exc:
        fail(exc)
    if not started:
        sys.exit(1)


def url_for(settings: Settings, sock: socket.socket) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{sock.getsockname()[1]}"


def print_banner(settings: Settings, sock: socket.socket, definitions: Sequence[AgentDefinition]) -> None:
    """The address, the agents, and commands to try."""
    url = url_for(settings, sock)
    installed = [agent.id for agent in definitions if agent.command is None or seems_installed(agent, os.environ)]
    missing = len(definitions) - len(installed)
    agents = ", ".join(installed) + (f"; {missing} more are not installed: {url}/agents" if missing else "")
    token = " -H 'authorization: Bearer TOKEN'" if settings.token_file else ""
    body = '{"threadId":"t1","runId":"r1","messages":[{"id":"1","role":"user","content":"think"}]}'
    console = Console(highlight=False)
    console.print(f"[bold]agui-gateway {__version__}[/bold]  {url}", soft_wrap=True)
    for label, value in (
        ("agents", agents),
        ("store", settings.store),
        ("AG-UI", f"{url}/agents/demo"),
        ("CopilotKit", f"{url}/copilotkit"),
    ):
        console.print(f"  [dim]{label:<11}[/dim]{escape(value)}", soft_wrap=True)
    console.print("[dim]Try:[/dim]")
    console.print(f"  {url} in a browser: the console, with all agents and a chat", soft_wrap=True)
    console.print(f"  curl {url}/agents/demo/capabilities{token}", soft_wrap=True, markup=False)
    run = f"  curl -N {url}/agents/demo{token} -H 'content-type: application/json' -d '{body}'"
    console.print(run, soft_wrap=True, markup=False)
    console.print("[dim]Press Ctrl-C to stop.[/dim]")
