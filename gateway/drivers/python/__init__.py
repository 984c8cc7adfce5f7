"""Agents that are functions in the gateway's own process.

In: `entry = "module:name"` of an agent's file. Out: a `PythonDriver`. `driver` calls the function and turns what it
yields into events; `entry_point` imports it; `threads` and `abandon` keep a function that blocks, or ignores its
cancellation, from holding up the gateway; `modes` are the modes of a thread.
"""

from gateway.drivers.python.driver import PythonDriver, PythonSession, PythonTurn

__all__ = ["PythonDriver", "PythonSession", "PythonTurn"]
