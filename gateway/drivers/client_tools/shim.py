"""The program that an agent starts as its MCP server: it relays bytes between the agent and the gateway.

    AGUI_TOOLS_SECRET=… python -I -S shim.py SOCKET

In: stdin, and the gateway's socket. Out: the same bytes on the other side; before them, to the gateway, a line with the
secret. It ends when either side does. Never: it does not read what it relays, and imports no module that is slow to
load, because an agent may wait for it before every session.
"""

import _socket
import _thread
import os
import sys

CHUNK_BYTES = 65536


def relay_to_agent(gateway: _socket.socket) -> None:
    """When the gateway closes the socket, this program ends."""
    try:
        while data := gateway.recv(CHUNK_BYTES):
            while data:
                data = data[os.write(1, data) :]
    except OSError:  # one of the two sides is gone
        pass
    os._exit(0)


def main() -> None:
    gateway = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        gateway.connect(sys.argv[1])
        gateway.sendall(os.environb.get(b"AGUI_TOOLS_SECRET", b"") + b"\n")
    except OSError as exc:
        sys.exit(f"the application's tools are no longer served: {exc.strerror}")
    _thread.start_new_thread(relay_to_agent, (gateway,))
    try:
        while data := os.read(0, CHUNK_BYTES):
            gateway.sendall(data)
    except OSError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
