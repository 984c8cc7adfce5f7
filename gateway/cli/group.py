"""The click group that imports a subcommand when it is used.

`agui-gateway agents` has answered before the modules of the server would be loaded.
"""

from __future__ import annotations

from importlib import import_module

import click

from gateway.cli.commands import COMMANDS


class LazyGroup(click.Group):
    """A group whose commands are modules of `gateway.cli.commands`, imported one at a time."""

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
