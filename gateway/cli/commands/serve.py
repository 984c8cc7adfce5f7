"""`agui-gateway serve`: the gateway, until somebody stops it."""

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

It listens on loopback only, unless you give another --host; that needs a --token-file. Every option can also be set in
the environment (AGUI_GATEWAY_PORT=8200) or in gateway.toml (port = 8200); an option beats the environment, which beats
the file.

\b
Give a web page access:     agui-gateway serve --allow-origin http://localhost:5173
Keep nothing on disk:       agui-gateway serve --store memory:
Serve other machines:       openssl rand -hex 24 > tokens.txt
                            agui-gateway serve --host 0.0.0.0 --token-file tokens.txt
"""


@click.command("serve", help=SERVE_HELP)
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8123]")
@click.option("--agents", multiple=True, metavar="DIR", help="Folder of agent files, beside the bundled. Repeatable.")
@click.option("--no-watch", "watch", flag_value=False, default=None, help="Leave agent files be once they are read.")
@click.option("--acp", multiple=True, metavar="COMMAND", help="Try any ACP agent: its command line. Repeatable.")
@click.option("--workspace", multiple=True, metavar="DIR", help="Folder to work in; repeatable.  [default: here]")
@click.option("--store", metavar="URL", help="sqlite:///PATH or memory:  [default: a file in your data directory]")
@click.option("--token-file", metavar="FILE", help="File of tokens, one a line; then every call needs one.")
@click.option("--allow-origin", multiple=True, metavar="ORIGIN", help="Web origin that may call. Repeatable.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Host name that requests may use. Repeatable.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file.  [default: gateway.toml, if there]")
@click.option("--verbose", is_flag=True, help="Log more.")
def command(config: Path | None, verbose: bool, **given: Any) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    flags = {name: value for name, value in given.items() if value not in (None, ())}
    try:
        settings = load(flags, os.environ, config)
        app = create_app(settings)
        sock = bind(settings)

        def ready() -> None:  # by now it has the registered agents too, and every file was read once
            greet(settings, sock, [agent.definition for agent in app.state.gateway.agents])

        started = serve(app, settings, sock, ready)
    except GatewayError as exc:
        fail(exc)
    if not started:
        sys.exit(1)


def url_of(settings: Settings, sock: socket.socket) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{sock.getsockname()[1]}"


def greet(settings: Settings, sock: socket.socket, known: Sequence[AgentDefinition]) -> None:
    """What a person wants to know first: where it is, what it has, what to try."""
    url = url_of(settings, sock)
    here = [agent.id for agent in known if agent.command is None or seems_installed(agent, os.environ)]
    missing = len(known) - len(here)
    agents = ", ".join(here) + (f"; {missing} more when installed: {url}/agents" if missing else "")
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
    console.print("[dim]try[/dim]")
    console.print(f"  {url} in a browser: what every agent can do, and a chat with it", soft_wrap=True)
    console.print(f"  curl {url}/agents/demo/capabilities{token}", soft_wrap=True, markup=False)
    run = f"  curl -N {url}/agents/demo{token} -H 'content-type: application/json' -d '{body}'"
    console.print(run, soft_wrap=True, markup=False)
    console.print("[dim]Ctrl-C stops it.[/dim]")
