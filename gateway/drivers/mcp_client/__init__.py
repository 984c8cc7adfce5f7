"""A client of the MCP servers that sessions have: it lists their tools for the capabilities.

In: the `mcpServers` of a session. Out: the state of each server now (`SessionServers.known`). Each distinct server is
connected to once (`McpServers`), for as long as a session has it, and watched for changes (`ServerWatcher`). Never: a
tool call; the agent has its own connection for that.
"""

from gateway.drivers.mcp_client.pool import KnownServer, McpServers, SessionServers

__all__ = ["KnownServer", "McpServers", "SessionServers"]
