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
from gateway.cli.agent_options import config_option, load_settings
from gateway.cli.exit import fail
from gateway.drivers.probe import seems_installed
from gateway.errors import GatewayError
from gateway.settings import Settings
from gateway.web.app import create_app
from gateway.web.auth.local_token import choose_local_auth, ensure_local_token, has_credentials, local_token_path
from gateway.web.server import bind, serve

SERVE_HELP = """Start the gateway.

It listens on the loopback interface, for you alone. At any other --host every request needs a token: one of the
--token-file, or the one that the gateway makes and prints as a part of its URL. Every option can also be set in the
environment (AGUI_GATEWAY_PORT=8200) or in a settings file (port = 8200), and so can all other settings. An option
takes precedence over the environment, and the environment over the file. The file is the one that --config names, or
gateway.toml in your configuration directory; a gateway.toml in the current directory is not read.

\b
Allow a web page:           agui-gateway serve --allow-origin http://localhost:5173
Keep nothing on disk:       agui-gateway serve --store memory:
Serve other machines:       agui-gateway token add ann --file tokens.json
                            agui-gateway serve --host 0.0.0.0 --token-file tokens.json
Behind a TLS proxy:         agui-gateway serve --proxy 127.0.0.1 --token-file tokens.json
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
@click.option("--trust", multiple=True, metavar="DIR", help="A directory that is trusted for everybody. Repeatable.")
@click.option(
    "--sandbox",
    type=click.Choice(("auto", "none", "bubblewrap", "container")),
    metavar="KIND",
    help="Isolate all agents: auto, none, bubblewrap or container.  [default: as each agent's file says]",
)
@click.option("--sandbox-hosts", multiple=True, metavar="HOST", help="A host for agents in a sandbox. Repeatable.")
@click.option("--store", metavar="URL", help="sqlite:///PATH or memory:  [default: a file in your data directory]")
@click.option("--token-file", metavar="FILE", help="The tokens of `agui-gateway token add`; every request needs one.")
@click.option("--allow-origin", multiple=True, metavar="ORIGIN", help="A web origin whose pages may call. Repeatable.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="A host name that requests may use. Repeatable.")
@click.option("--proxy", multiple=True, metavar="ADDRESS", help="A proxy that may forward requests. Repeatable.")
@config_option
@click.option("--verbose", is_flag=True, help="Log more.")
def command(config: Path | None, verbose: bool, **options: Any) -> None:
    start_log(verbose=verbose)
    try:
        settings = load_settings(options, config)
        app = create_app(settings)
        sock = bind(settings)

        def on_ready() -> None:  # by now the registered agents are loaded too
            print_banner(
                settings, sock, [agent.definition for agent in app.state.gateway.agents if agent.definition.is_listed]
            )

        started = serve(app, settings, sock, on_ready)
    except GatewayError as exc:
        fail(exc)
    if not started:
        sys.exit(1)


def start_log(*, verbose: bool) -> None:
    """With `verbose` only the gateway's own loggers say more: libraries write headers and URLs, and tokens with them,
    into their debug log (uvicorn every header of a WebSocket, httpx every URL)."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if verbose:
        logging.getLogger("gateway").setLevel(logging.DEBUG)
        logging.getLogger("uvicorn").setLevel(logging.INFO)


def url_for(settings: Settings, sock: socket.socket) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{sock.getsockname()[1]}"


def print_banner(settings: Settings, sock: socket.socket, definitions: Sequence[AgentDefinition]) -> None:
    """The address, the agents, and commands to try."""
    url = url_for(settings, sock)
    installed = [agent.id for agent in definitions if agent.command is None or seems_installed(agent, os.environ)]
    missing = len(definitions) - len(installed)
    agents = ", ".join(installed) + (f"; {missing} more are not installed: {url}/agents" if missing else "")
    local_token = None if has_credentials(settings) or choose_local_auth(settings) != "token" else ensure_local_token()
    token = " -H 'authorization: Bearer TOKEN'" if has_credentials(settings) else ""
    if local_token is not None:
        token = f" -H \"authorization: Bearer $(cat '{local_token_path()}')\""
    page = url if local_token is None else f"{url}/#token={local_token}"
    body = '{"threadId":"t1","runId":"r1","messages":[{"id":"1","role":"user","content":"think"}]}'
    console = Console(highlight=False)
    console.print(f"[bold]agui-gateway {__version__}[/bold]  {url}", soft_wrap=True)
    for label, value in (
        ("agents", agents),
        ("settings", "" if settings.config is None else str(settings.config)),
        ("store", settings.store),
        ("AG-UI", f"{url}/agents/demo"),
        ("CopilotKit", f"{url}/copilotkit"),
    ):
        if not value:
            continue
        console.print(f"  [dim]{label:<11}[/dim]{escape(value)}", soft_wrap=True)
    console.print("[dim]Try:[/dim]")
    console.print(f"  {page} in a browser: the console, with all agents and a chat", soft_wrap=True, markup=False)
    console.print(f"  curl {url}/agents/demo/capabilities{token}", soft_wrap=True, markup=False)
    run = f"  curl -N {url}/agents/demo{token} -H 'content-type: application/json' -d '{body}'"
    console.print(run, soft_wrap=True, markup=False)
    console.print("[dim]Press Ctrl-C to stop.[/dim]")
