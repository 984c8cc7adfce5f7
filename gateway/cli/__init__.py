"""`agui-gateway`: the command.

What a subcommand needs is imported when it is called: `agents` has answered before the server's modules would be
loaded. So the table here has one line for each, and `gateway/cli/NAME.py` has the rest, with a `command` in it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

HELP = """Puts coding agents behind AG-UI.

\b
  agui-gateway serve                        start on http://127.0.0.1:8123
  agui-gateway serve --agents ./my-agents   add your own (a folder of TOML files)
  agui-gateway serve --help                 everything that can be set
  agui-gateway agents                       which agents can run here, and what the others need
  agui-gateway run demo "help"              talk to one, in this terminal
"""

COMMANDS = {
    "serve": "Start the gateway.",
    "agents": "Show which agents can run here.",
    "capabilities": "Show what an agent can do, and where several differ.",
    "check": "Check an agent's file, and start it.",
    "doctor": "Find out what an agent needs to run.",
    "models": "Show an agent's models.",
    "run": "Talk to an agent in this terminal.",
}


class Lazy(click.Group):
    """A group whose commands are modules, imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"gateway.cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _tell_version(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if not value or ctx.resilient_parsing:
        return
    from gateway import __version__

    click.echo(f"agui-gateway, version {__version__}")
    ctx.exit()


@click.group(cls=Lazy, help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version, help="Show the version."
)
def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot write a sign shows another, and goes on
