"""The client's own tools, served to agents of this machine as an MCP server that they start themselves."""

from gateway.drivers.serving.door import Door, is_own
from gateway.drivers.serving.folder import Folder

__all__ = ["Door", "Folder", "is_own"]
