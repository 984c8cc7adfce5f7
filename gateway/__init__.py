"""agui-gateway: any coding agent behind AG-UI."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway.errors import GatewayError
    from gateway.settings import Settings
    from gateway.web.app import create_app

    __version__: str

__all__ = ["GatewayError", "Settings", "__version__", "create_app"]

# Each is imported when it is first asked for: the terminal's short commands need no web server, and importing one takes
# longer than they do.
_HOMES = {
    "GatewayError": "gateway.errors",
    "Settings": "gateway.settings",
    "create_app": "gateway.web.app",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        found: Any = _version()
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("agui-gateway")
    except PackageNotFoundError:  # a checkout that was never installed
        return "0"
