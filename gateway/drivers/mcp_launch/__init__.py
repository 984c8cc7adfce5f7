"""Starts the stdio MCP servers that clients name: without the secrets of the operator, and without showing their own.

In: an `Opening`. Out: the same, with a small program of the gateway in front of each server's command (`launcher.py`).
Most agents start a server with their own environment, API keys included; some write the configuration of a server
into the arguments of a process, where every user of the machine can read it. The names to know: `hide_secrets`.
"""

from gateway.drivers.mcp_launch.entries import hide_secrets

__all__ = ["hide_secrets"]
