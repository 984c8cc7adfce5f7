"""Exit codes, and the lines on stderr by which a command fails or warns."""

from __future__ import annotations

import sys
from typing import NoReturn

from gateway.errors import ConfigError, GatewayError

FAILED = 1
USAGE_ERROR = 2
"""An argument or a file is wrong; the same code as click's."""
CANCELLED = 130
"""As in a shell: 128 and the number of SIGINT."""


def fail(exc: GatewayError) -> NoReturn:
    """Ends the command with the error's text."""
    print_error(exc.detail)
    sys.exit(USAGE_ERROR if isinstance(exc, ConfigError) else FAILED)


def print_error(sentence: str) -> None:
    _print_line(sentence, "red")


def print_note(sentence: str) -> None:
    """Something that the user should know; the command goes on."""
    _print_line(sentence, "yellow")


def _print_line(sentence: str, style: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(f"agui-gateway: {sentence}", style=style), soft_wrap=True)
