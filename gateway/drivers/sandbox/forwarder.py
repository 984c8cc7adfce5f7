"""The program around an agent inside its sandbox: it starts the agent, and connects it with the network.

    python -I -S forwarder.py [OPTION=VALUE…] -- COMMAND [ARGUMENT…]

In: the agent's stdin and stdout as files 200 and 201, which it passes on and closes; file 202, where it reports to the
supervisor (`drivers/process/supervisor.py`). The sandbox has a loopback interface of its own and no other. Options:
`socket=PATH`, the Unix socket of the gateway's proxy. `proxy=PORT`: connections to this loopback port go to the proxy.
`loopback=PORT`: connections to it go through the proxy to the same port of the machine's loopback. `inbound=FD:PORT`:
connections at this listening Unix socket go to the agent's port. `processes=COUNT`: with more, all are killed.

Never: the gateway's modules, or any module that is slow to import. It holds no right that the agent does not have.
"""

from __future__ import annotations

import _socket
import _thread
import os
import sys
import time

TYPE_CHECKING = False  # `typing` itself would be the slowest import here
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    Connect = Callable[[], _socket.socket | None]
else:  # without its enums, which cost 8 ms of processor time at every start
    import _signal as signal

STDIN_FD, STDOUT_FD, STATUS_FD = 200, 201, 202
CHUNK_BYTES = 65536
MAX_HEAD_BYTES = 65536
MAX_CONNECTIONS = 512  # at once; each has two threads
BACKLOG = 128
WATCH_INTERVAL_SECONDS = 0.2  # between two counts of the processes in the sandbox
LOOPBACKS = ((_socket.AF_INET, "127.0.0.1"), (_socket.AF_INET6, "::1"))


class Forwarder:
    def __init__(self, proxy: str) -> None:
        self._proxy = proxy
        self._slots = MAX_CONNECTIONS

    def listen(self, port: int, connect: Connect) -> None:
        """Serve a loopback port, by IPv4 and, where there is one, by IPv6."""
        for family, address in LOOPBACKS:
            try:
                listener = _socket.socket(family, _socket.SOCK_STREAM)
                listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
                listener.bind((address, port))
            except OSError:
                if family == _socket.AF_INET:
                    raise
                continue
            listener.listen(BACKLOG)
            self.serve(listener, connect)

    def serve(self, listener: _socket.socket, connect: Connect) -> None:
        _thread.start_new_thread(self._accept, (listener, connect))

    def forward_outside(self, port: int) -> None:
        self.listen(port, lambda: self.connect_outside(port))

    def forward_inside(self, listener: _socket.socket, port: int) -> None:
        self.serve(listener, lambda: connect_inside(port))

    def _accept(self, listener: _socket.socket, connect: Connect) -> None:
        while True:
            try:
                fd, _ = listener._accept()  # type: ignore[attr-defined]  # `accept` is of the slow module `socket`
            except OSError:
                time.sleep(WATCH_INTERVAL_SECONDS)  # out of files for a moment
                continue
            client = _socket.socket(fileno=fd)
            if self._slots <= 0:
                client.close()
                continue
            self._slots -= 1
            _thread.start_new_thread(self._relay, (client, connect))

    def _relay(self, client: _socket.socket, connect: Connect) -> None:
        try:
            server = connect()
            if server is not None:
                done = _thread.allocate_lock()
                done.acquire()
                _thread.start_new_thread(copy_then_release, (server, client, done))
                copy(client, server)
                done.acquire()
                server.close()
        except OSError:  # the other side is not there, or there are too many threads
            pass
        finally:
            client.close()
            self._slots += 1

    def connect_proxy(self) -> _socket.socket:
        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        server.connect(self._proxy)
        return server

    def connect_outside(self, port: int) -> _socket.socket | None:
        """To a port of the machine's loopback interface; None: the proxy refuses it."""
        server = self.connect_proxy()
        server.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head and len(head) < MAX_HEAD_BYTES:
            data = server.recv(1)  # not a byte more than the head: what follows is the server's
            if not data:
                break
            head += data
        if b" 200 " in head.split(b"\r\n", 1)[0]:
            return server
        server.close()
        return None


def connect_inside(port: int) -> _socket.socket:
    """To the agent's own port: by IPv4, else by IPv6."""
    for family, address in LOOPBACKS:
        server = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            server.connect((address, port))
        except OSError:
            server.close()
            continue
        return server
    raise ConnectionRefusedError


def copy(source: _socket.socket, target: _socket.socket) -> None:
    """Until the source ends; then the target gets an end, and may go on sending."""
    try:
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
        target.shutdown(_socket.SHUT_WR)
    except OSError:  # one of the two is gone, so neither is of use
        end(source)
        end(target)


def end(each: _socket.socket) -> None:
    try:
        each.shutdown(_socket.SHUT_RDWR)
    except OSError:  # it has ended already
        return


def copy_then_release(source: _socket.socket, target: _socket.socket, done: _thread.LockType) -> None:
    copy(source, target)
    done.release()


def watch_processes(limit: int) -> None:
    """SIGKILL reaches every process of the sandbox at once, so that none can start another meanwhile. Process 1 and
    this one are spared: they report the end."""
    while True:
        if sum(name.isdigit() for name in os.listdir("/proc")) - 2 > limit:
            report("Lprocesses")
            os.kill(-1, signal.SIGKILL)
        time.sleep(WATCH_INTERVAL_SECONDS)


def report(line: str) -> None:
    os.write(STATUS_FD, line.encode() + b"\n")


def start(command: list[str]) -> int:
    """The agent's process id. It gets the signals that this program and the sandbox ignore."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ]
    actions = [
        (os.POSIX_SPAWN_DUP2, STDIN_FD, 0),
        (os.POSIX_SPAWN_DUP2, STDOUT_FD, 1),
        *((os.POSIX_SPAWN_CLOSE, fd) for fd in (STDIN_FD, STDOUT_FD, STATUS_FD)),
    ]
    return os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setsigdef=numbers)


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    options = [option.split("=", 1) for option in arguments[:end]]
    forwarder = Forwarder(dict(options).get("socket", ""))
    for name, value in options:
        if name == "proxy":
            forwarder.listen(int(value), forwarder.connect_proxy)
        elif name == "loopback":
            forwarder.forward_outside(int(value))
        elif name == "inbound":
            fd, port = map(int, value.split(":"))
            os.set_inheritable(fd, False)
            forwarder.forward_inside(_socket.socket(fileno=fd), port)
        elif name == "processes":
            _thread.start_new_thread(watch_processes, (int(value),))
    try:
        agent = start(arguments[end + 1 :])
    except OSError as exc:
        report(f"E{exc.errno}")
        os._exit(1)
    for fd in (STDIN_FD, STDOUT_FD):
        os.close(fd)
    report("S")
    _, status = os.waitpid(agent, 0)
    report(f"X{os.waitstatus_to_exitcode(status)}")
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
