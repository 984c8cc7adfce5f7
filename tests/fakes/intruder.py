"""A hostile agent, run as a real process: a prompt is an attempt to leave the sandbox, the answer is its outcome.

    {"attempt": "read", "path": "/home/ann/.ssh/id"}  →  {"succeeded": true, "detail": "…"}

With `--acp` it speaks ACP, and runs the command of an attempt in a terminal of its client. One file, without imports
from the project, because in a sandbox it sees nothing else. Sizes and counts are bounded: it may succeed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FORK_LIMIT = 300
TIMEOUT_SECONDS = 5.0


def read(path: str) -> str:
    text = Path(path).read_text("utf-8", "replace")
    assert text, "it is empty"
    return text[:200]


def read_named_file(variable: str) -> str:
    return read(os.environ[variable])


def write(path: str) -> str:
    Path(path).write_text("written by the intruder")
    return path


def rename(path: str, target: str) -> str:
    Path(path).rename(target)
    return target


def list_processes() -> str:
    lines = [Path(f"/proc/{name}/cmdline").read_bytes() for name in os.listdir("/proc") if name.isdigit()]
    found = [line for line in lines if b"\0serve\0" in line]
    assert found, "the gateway is not among them"
    return repr(found[0])


def signal_process(pid: int) -> str:
    os.kill(pid, 0)
    return str(pid)


def read_memory(pid: int) -> str:
    return repr(Path(f"/proc/{pid}/environ").read_bytes()[:20])


def connect(host: str, port: int) -> str:
    with socket.create_connection((host, port), TIMEOUT_SECONDS) as stream:
        return str(stream.getpeername())


def connect_by_proxy(host: str, port: int) -> str:
    """Where there is no proxy, directly."""
    proxy = os.environ.get("HTTPS_PROXY", "").removeprefix("http://")
    if not proxy:
        return connect(host, port)
    address, _, proxy_port = proxy.partition(":")
    with socket.create_connection((address, int(proxy_port)), TIMEOUT_SECONDS) as stream:
        stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
        answer = stream.recv(4096).decode()
    assert " 200 " in answer.splitlines()[0], answer
    return answer


def connect_unix(path: str) -> str:
    """`@NAME` is the abstract socket NAME."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(TIMEOUT_SECONDS)
        stream.connect("\0" + path[1:] if path.startswith("@") else path)
    return path


def fork_many(count: int) -> str:
    children = []
    try:
        for _ in range(min(count, FORK_LIMIT)):
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            children.append(child)
        time.sleep(4)
    finally:
        for child in children:
            os.kill(child, 9)
    return str(len(children))


def fill_memory(megabytes: int) -> str:
    block = bytearray(megabytes * 1024 * 1024)
    block[::4096] = b"x" * len(block[::4096])
    return str(len(block))


def fill_disk(path: str, megabytes: int) -> str:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; most programs do not
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * 1024 * 1024)
    os.unlink(path)
    return path


def burn(seconds: float) -> str:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return str(seconds)


def leave_daemon(path: str) -> str:
    """A process that outlives this one: its id is in the file."""
    program = "import os, sys, time; open(sys.argv[1], 'w').write(os.readlink('/proc/self')); time.sleep(60)"
    subprocess.Popen(
        [sys.executable, "-c", program, path],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not Path(path).exists():
        time.sleep(0.01)
    return path


ATTEMPTS = {
    function.__name__: function
    for function in (
        *(
            read,
            read_named_file,
            write,
            rename,
            list_processes,
            signal_process,
            read_memory,
            connect,
            connect_by_proxy,
            connect_unix,
        ),
        *(fork_many, fill_memory, fill_disk, burn, leave_daemon),
    )
}


def perform(prompt: str) -> dict[str, Any]:
    order = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
    try:
        return {"succeeded": True, "detail": ATTEMPTS[order.pop("attempt")](**order)}
    except (OSError, AssertionError, MemoryError, ValueError) as exc:
        return {"succeeded": False, "detail": f"{type(exc).__name__}: {exc}"}


class AcpAgent:
    """Runs the shell command of a prompt in a terminal of the client, and answers with its output."""

    def __init__(self) -> None:
        self._count = 0

    def serve(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            match message.get("method"):
                case "initialize":
                    self._reply(message, {"protocolVersion": 1, "agentCapabilities": {}})
                case "session/new":
                    self._reply(message, {"sessionId": os.urandom(8).hex()})
                case "session/prompt":
                    self._run(message["params"]["sessionId"], message["params"]["prompt"][0]["text"])
                    self._reply(message, {"stopReason": "end_turn"})

    def _run(self, session: str, command: str) -> None:
        terminal = {"sessionId": session, "terminalId": ""}
        terminal |= self._call("terminal/create", {"sessionId": session, "command": command})
        self._call("terminal/wait_for_exit", terminal)
        text = self._call("terminal/output", terminal)["output"]
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text or "(nothing)"}}
        self._send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while True:
            message = json.loads(sys.stdin.readline())
            if message.get("id") == self._count and "method" not in message:
                result: dict[str, Any] = message.get("result") or {"output": json.dumps(message.get("error"))}
                return result

    def _reply(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self._send({"id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    if "--acp" in sys.argv:
        AcpAgent().serve()
    else:
        print(json.dumps(perform(sys.stdin.read())))
