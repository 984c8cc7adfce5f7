"""MCP servers, asked for their tools on behalf of the sessions that have them."""

from gateway.drivers.mcp_client.pool import Known, McpServers, Using

__all__ = ["Known", "McpServers", "Using"]
