"""Owning an agent's process.

In: a command, a directory, an environment. Out: a running `Process` whose pipes are read and written on the event loop.
Whatever ends the gateway ends the process and everything the process started: its parent is a small program of its own
(`supervisor`), which the gateway talks to over a socket (`supervisor_client`).
"""

from gateway.drivers.process.process import Process, spawn
from gateway.drivers.process.supervisor_client import SupervisorOptions

__all__ = ["Process", "SupervisorOptions", "spawn"]
