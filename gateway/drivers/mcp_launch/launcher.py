"""The program that an agent starts in place of an MCP server that a client named: it becomes that server.

    python -I -S launcher.py NAMES COMMAND [ARGUMENT]...

In: the environment that the agent passes on. Out: the command, in this same process, without the variables that look
like secrets. `NAMES`: variables that the client itself set for the server, separated by commas; they stay. Never: it
imports no module that is slow to load, because the agent waits for the server.
"""

import os
import sys

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL")
"""As `gateway.drivers.environment` has them; this program cannot import it."""
NOT_FOUND_STATUS = 127
"""As in a shell."""


def is_secret(name: str) -> bool:
    return any(word in name.upper() for word in SECRET_WORDS)


def main() -> None:
    kept = frozenset(sys.argv[1].split(","))
    command = sys.argv[2:]
    env = {name: value for name, value in os.environ.items() if name in kept or not is_secret(name)}
    try:
        os.execvpe(command[0], command, env)
    except (OSError, ValueError) as exc:
        print(f"{command[0]!r} cannot be run: {exc}", file=sys.stderr)
        sys.exit(NOT_FOUND_STATUS)


if __name__ == "__main__":
    main()
