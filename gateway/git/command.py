"""One git command: a clean environment, bounded time, bounded output.

In: arguments and the few variables that name the repository. Out: what git wrote. Never: a prompt, an editor, a pager,
the network, the operator's or the system's git configuration.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gateway.errors import Conflict, Refused

TIMEOUT_SECONDS = 60.0
"""Of one command; a checkout of a large repository takes tens of seconds."""
MAX_OUTPUT_BYTES = 8 * 2**20
MAX_ERROR_CHARS = 500
UNAVAILABLE = "WORKTREE_UNAVAILABLE"

KEPT_VARIABLES = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
FIXED_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # A list of protocols; no protocol has this name. A partial clone fetches missing objects otherwise.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
}
FIXED_CONFIGURATION = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.pager=cat"),
    *("gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "merge.verifySignatures=false"),
    *("submodule.recurse=false", "diff.ignoreSubmodules=all", "protocol.allow=never", "core.quotePath=false"),
)
"""`view` leaves the repository's own configuration out already; these hold even if it did not."""


@dataclass(frozen=True, slots=True)
class Output:
    code: int
    stdout: bytes
    stderr: str
    is_cut: bool = False
    """git wrote more than was asked for."""

    @property
    def line(self) -> str:
        return self.stdout.decode("utf-8", "surrogateescape").strip()

    @property
    def names(self) -> list[str]:
        """Of output that is separated by NUL."""
        return [name for name in self.stdout.decode("utf-8", "surrogateescape").split("\0") if name]


class GitFailed(Conflict):
    """git refused; the text is its own. The state of the repository does not allow what was asked."""

    code = "GIT_FAILED"


def find_git() -> str:
    """Raises `Refused` where git is not installed."""
    program = shutil.which("git")
    if program is None:
        raise Refused("git is not installed where the gateway runs: install it", code=UNAVAILABLE)
    return program


def run_git(
    arguments: Sequence[str],
    variables: Mapping[str, str] | None = None,
    *,
    stdin: bytes = b"",
    accept: Sequence[int] = (0,),
    max_bytes: int = MAX_OUTPUT_BYTES,
    timeout: float = TIMEOUT_SECONDS,
) -> Output:
    """`accept`: exit codes that are answers. Raises `GitFailed` for any other, and when the time is over."""
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    environment |= FIXED_VARIABLES | dict(variables or {})
    settings = [part for setting in FIXED_CONFIGURATION for part in ("-c", setting)]
    command = [find_git(), "--no-pager", *settings, *arguments]
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as source:
        source.write(stdin)
        source.seek(0)
        process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",  # never the repository's folder: no relative name leads into it
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        late = threading.Event()
        timer = threading.Timer(timeout, _kill, (process, late))
        timer.start()
        try:
            assert process.stdout is not None
            with process.stdout:
                stdout = process.stdout.read(max_bytes + 1)
            is_cut = len(stdout) > max_bytes
            if is_cut:
                _kill(process, threading.Event())
            code = process.wait()
        finally:
            timer.cancel()
        errors.seek(0)
        stderr = errors.read(64 * 1024).decode("utf-8", "replace").strip()
    if late.is_set():
        raise GitFailed(f"git {arguments[0]} took longer than {timeout:g} seconds and was stopped", code="GIT_TIMEOUT")
    if code not in accept and not is_cut:
        raise GitFailed(f"git {arguments[0]} failed: {stderr[-MAX_ERROR_CHARS:] or f'exit code {code}'}")
    return Output(code, stdout[:max_bytes], stderr, is_cut)


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
