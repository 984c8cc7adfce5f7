"""The program that an agent starts in place of an MCP server that a client named: it becomes that server.

    python -I -S launcher.py FILE COMMAND [ARGUMENT]...

In: the environment that the agent passes on; a file with the variables that the client set for the server, `-` if it
set none. Out: the command, in this same process, without the agent's variables that look like secrets, and with the
client's. Never: it imports no module that is slow to load, because the agent waits for the server.
"""

import os
import sys

SECRET_PARTS = (b"KEY", b"TOKEN", b"SECRET", b"PASSW", b"CREDENTIAL")
"""As `gateway.drivers.environment` has them; this program cannot import it."""
NO_FILE = "-"
FAILED_STATUS = 127
"""As in a shell, for a command that cannot be run."""


def is_secret(name: bytes) -> bool:
    return any(part in name.upper() for part in SECRET_PARTS)


def read_variables(path: str) -> dict[bytes, bytes]:
    if path == NO_FILE:
        return {}
    with open(path, "rb") as file:
        pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    return {name: value for name, _, value in pairs}


def main() -> None:
    path, *command = sys.argv[1:]
    try:
        inherited = {name: value for name, value in os.environb.items() if not is_secret(name)}
        os.execvpe(command[0], command, {**inherited, **read_variables(path)})
    except (OSError, ValueError) as exc:
        print(f"{command[0]!r} cannot be run: {exc}", file=sys.stderr)
        sys.exit(FAILED_STATUS)


if __name__ == "__main__":
    main()
