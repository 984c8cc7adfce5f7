"""How messages travel between the gateway and the process of a command-line agent.

In: an `Endpoint`, that is a process and its `[cli]` section. Out: a `Transport`, which reads and writes whole messages.
`TRANSPORTS` is the registry: `cli.transport` → the function that opens it. Never: what a message means.
"""

from gateway.drivers.cli.transports.base import Endpoint, OpenTransport, Transport
from gateway.drivers.cli.transports.http import open_http
from gateway.drivers.cli.transports.stdio import open_stdio
from gateway.drivers.cli.transports.websocket import open_websocket

__all__ = ["TRANSPORTS", "Endpoint", "OpenTransport", "Transport"]

TRANSPORTS: dict[str, OpenTransport] = {
    "stdio-lines": open_stdio,
    "stdio-raw": open_stdio,
    "stdio-frames": open_stdio,
    "stdio-whole": open_stdio,
    "http": open_http,
    "websocket": open_websocket,
}
