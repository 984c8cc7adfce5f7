"""Command-line agents.

In: `[command]` and `[cli]` of an agent's file. Out: a `CliDriver`. A `Launcher` starts the process and opens its
transport (`transports`); a `Connection` reads and writes it for its sessions; a `CliSession` is one thread's
conversation, and a `CliTurn` one prompt of it. What the messages mean is known by the dialect (`wire.dialects`),
without IO; what a run's options become on the command line, by `command`.
"""

from gateway.drivers.cli.driver import CliDriver

__all__ = ["CliDriver"]
