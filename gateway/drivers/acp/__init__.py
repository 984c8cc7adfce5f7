"""Agents that speak the Agent Client Protocol over stdio (https://agentclientprotocol.com/protocol/v1/initialization).

In: `[command]` and `[acp]` of an agent's file. Out: an `AcpDriver`. A `Connection` is one agent process and its
JSON-RPC; an `AcpSession` is one session on it; an `AcpTurn` is one `session/prompt`. What the agent sends is read by
`wire.acp`, without IO. `client_methods` answer the agent's own requests, `client_tools` offer it the client tools.
"""

from gateway.drivers.acp.driver import AcpDriver

__all__ = ["AcpDriver"]
