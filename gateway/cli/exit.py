"""How a command ends when it cannot do what it was asked: one sentence on stderr, and an exit code."""

from __future__ import annotations

import sys
from typing import NoReturn

from gateway.errors import ConfigError, GatewayError

FAILED = 1
MISTAKEN = 2
"""What was typed, or a file, is wrong; so it is with click."""
CANCELLED = 130
"""As a shell counts it: 128 and the number of SIGINT."""


def fail(exc: GatewayError) -> NoReturn:
    complain(exc.detail)
    sys.exit(MISTAKEN if isinstance(exc, ConfigError) else FAILED)


def complain(sentence: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(f"agui-gateway: {sentence}", style="red"), soft_wrap=True)
