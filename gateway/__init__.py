"""agui-gateway: any coding agent behind AG-UI."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("agui-gateway")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0"

from gateway.errors import GatewayError
from gateway.settings import Settings
from gateway.web.app import create_app

__all__ = ["GatewayError", "Settings", "__version__", "create_app"]
