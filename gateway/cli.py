"""`agui-gateway`: the command."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from gateway import __version__, create_app
from gateway.catalog.load import bundled, load_catalog, with_bare
from gateway.errors import ConfigError, GatewayError
from gateway.settings import Settings, load
from gateway.web.server import bind, serve

HELP = """Puts coding agents behind AG-UI.

\b
  agui-gateway serve                        start on http://127.0.0.1:8123
  agui-gateway serve --agents ./my-agents   add your own (a folder of TOML files)
  agui-gateway serve --help                 everything that can be set
"""

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


@click.group(help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="agui-gateway")
def main() -> None:
    pass


@main.command("serve", help=SERVE_HELP)
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 takes a free one.  [default: 8123]")
@click.option("--agents", multiple=True, metavar="DIR", help="Folder of agent files, beside the bundled. Repeatable.")
@click.option("--acp", multiple=True, metavar="COMMAND", help="Try any ACP agent: its command line. Repeatable.")
@click.option("--workspace", multiple=True, metavar="DIR", help="Folder to work in; repeatable.  [default: here]")
@click.option("--store", metavar="URL", help="sqlite:///PATH or memory:  [default: a file in your data directory]")
@click.option("--token-file", metavar="FILE", help="File of tokens, one a line; then every call needs one.")
@click.option("--allow-origin", multiple=True, metavar="ORIGIN", help="Web origin that may call. Repeatable.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Host name that requests may use. Repeatable.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file.  [default: gateway.toml, if there]")
@click.option("--verbose", is_flag=True, help="Log more.")
def serve_command(config: Path | None, verbose: bool, **given: Any) -> None:
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    flags = {name: value for name, value in given.items() if value not in (None, ())}
    try:
        settings = load(flags, os.environ, config)
        app = create_app(settings)
        sock = bind(settings)
        started = serve(app, settings, sock, lambda: greet(settings, sock))
    except GatewayError as exc:
        fail(exc)
    if not started:
        sys.exit(1)


def fail(exc: GatewayError) -> None:
    Console(stderr=True).print(Text(f"agui-gateway: {exc.detail}", style="red"), soft_wrap=True)
    sys.exit(2 if isinstance(exc, ConfigError) else 1)


def url_of(settings: Settings, sock: socket.socket) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host and '[' not in host else host}:{sock.getsockname()[1]}"


def greet(settings: Settings, sock: socket.socket) -> None:
    """What a person wants to know first: where it is, what it has, what to try."""
    url = url_of(settings, sock)
    catalog = with_bare(load_catalog([bundled(), *settings.agents]), settings.acp).values()
    here = [agent.id for agent in catalog if agent.command is None or shutil.which(agent.command.run[0])]
    missing = len(catalog) - len(here)
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
    console.print(f"  curl {url}/agents/demo/capabilities{token}", soft_wrap=True, markup=False)
    run = f"  curl -N {url}/agents/demo{token} -H 'content-type: application/json' -d '{body}'"
    console.print(run, soft_wrap=True, markup=False)
    console.print("[dim]Ctrl-C stops it.[/dim]")
