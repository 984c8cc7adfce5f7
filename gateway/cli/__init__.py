"""The command `agui-gateway`.

In: arguments of the command line. Out: text for a terminal, plain text or JSON for a pipe, and an exit code. The names
to know: `commands.COMMANDS` (the subcommands), `chat` (a conversation with an agent), `output` (what is printed),
`exit` (exit codes), `agent_options` (the options `--agents` and `--acp`).
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Any

import click

from gateway.cli.group import LazyGroup

HELP = """Put coding agents behind AG-UI.

\b
  agui-gateway serve                        start on http://127.0.0.1:8123
  agui-gateway serve --agents ~/my-agents   add your own agents (a directory of TOML files)
  agui-gateway serve --help                 list the most important settings
  agui-gateway agents                       show which agents can run here, and what the others need
  agui-gateway run demo "help"              talk to an agent in this terminal
"""


def _print_version(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if not value or ctx.resilient_parsing:
        return
    from gateway import __version__

    click.echo(f"agui-gateway, version {__version__}")
    ctx.exit()


@click.group(
    cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal cannot show must not end the command
