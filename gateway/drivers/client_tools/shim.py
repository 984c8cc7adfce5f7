"""What an agent starts as its MCP server: a program of its own that carries bytes to the gateway and back.

    AGUI_TOOLS_SECRET=… python -I -S shim.py SOCKET

In: stdin, and the gateway's socket. Out: the same bytes on the other side; before them, to the gateway, the secret as a
line. It ends when either side does. Never: a look at what it carries, or a module that starts slowly; an agent may wait
for it before every session.
"""

import _socket
import _thread
import os
import sys

CHUNK = 65536


def carry_in(gateway: _socket.socket) -> None:
    """From the gateway to the agent. When the gateway is gone, so is this."""
    try:
        while data := gateway.recv(CHUNK):
            while data:
                data = data[os.write(1, data) :]
    except OSError:  # one of the two does not listen any more
        pass
    os._exit(0)


def main() -> None:
    gateway = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        gateway.connect(sys.argv[1])
        gateway.sendall(os.environb.get(b"AGUI_TOOLS_SECRET", b"") + b"\n")
    except OSError as exc:
        sys.exit(f"the application's tools are not served any more: {exc.strerror}")
    _thread.start_new_thread(carry_in, (gateway,))
    try:
        while data := os.read(0, CHUNK):
            gateway.sendall(data)
    except OSError:
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
