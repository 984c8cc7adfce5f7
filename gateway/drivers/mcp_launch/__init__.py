"""Starts the stdio MCP servers that clients name without the secrets of the operator.

In: an `Opening`. Out: the same, with a small program of the gateway in front of each server's command
(`launcher.py`), which most agents start with their own environment, API keys included. The names to know:
`without_inherited_secrets`.
"""

from gateway.drivers.mcp_launch.entries import without_inherited_secrets

__all__ = ["without_inherited_secrets"]
