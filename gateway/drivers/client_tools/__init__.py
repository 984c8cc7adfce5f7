"""The client's own tools, served to agents of this machine as an MCP server that they start themselves."""

from gateway.drivers.client_tools.server import Door, is_own
from gateway.drivers.client_tools.socket_dir import Folder

__all__ = ["Door", "Folder", "is_own"]
