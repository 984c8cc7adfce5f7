"""The client's own tools, served to agents of this machine as an MCP server that they start themselves."""

from gateway.drivers.client_tools.server import ClientToolServer, is_own
from gateway.drivers.client_tools.socket_dir import SocketDirectory

__all__ = ["ClientToolServer", "SocketDirectory", "is_own"]
