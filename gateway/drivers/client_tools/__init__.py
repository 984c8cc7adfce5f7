"""Client tools, served to agents of this machine as an MCP server that they start themselves.

In: the client tools that a run offers. Out: an entry for `mcpServers` (`ClientToolServer.entry`), whose command is a
small program (`shim`) that connects the agent to a Unix socket of the gateway; every call that comes over it goes to
the session. Sockets are in a private directory (`SocketDirectory`).
"""

from gateway.drivers.client_tools.server import ClientToolServer, is_gateway_server
from gateway.drivers.client_tools.socket_dir import ExistingDirectory, SocketDirectory, SocketPaths

__all__ = ["ClientToolServer", "ExistingDirectory", "SocketDirectory", "SocketPaths", "is_gateway_server"]
