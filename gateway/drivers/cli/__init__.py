"""Command-line agents: a process per turn, per thread or for all; a dialect for what they say."""

from gateway.drivers.cli.driver import CliDriver

__all__ = ["CliDriver"]
