"""Two more gateways: one with small bounds, one behind tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.gateway import Gateway

BODY_LIMIT, HEADER_LIMIT = 20_000, 4_096
TIMEOUT = 1.0
BOUNDS = {
    "AGUI_GATEWAY_BODY_LIMIT": str(BODY_LIMIT),
    "AGUI_GATEWAY_BODY_TIMEOUT": str(TIMEOUT),
    "AGUI_GATEWAY_HEADER_LIMIT": str(HEADER_LIMIT),
    "AGUI_GATEWAY_HEADER_TIMEOUT": str(TIMEOUT),
    "AGUI_GATEWAY_KEEP_ALIVE": "0.2",
    "AGUI_GATEWAY_MAX_RUNS": "1",
}

PAGE = "http://localhost:5173"
NAME = "news.example"
"""A host name that is allowed. It has `ws` in it."""


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose bounds are quickly reached."""
    with Gateway(tmp_path_factory.mktemp("small"), env=BOUNDS) as running:
        yield running


@dataclass(frozen=True, slots=True)
class Guarded:
    gateway: Gateway
    ann: dict[str, str]
    bob: dict[str, str]
    """Headers with a token."""


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A gateway with two tokens and one page that may call it."""
    home = tmp_path_factory.mktemp("guarded")
    tokens = home / "tokens.txt"
    tokens.write_text("# two people\nann:ann-0123456789abcdef\nbob:bob-0123456789abcdef # on leave\n", "utf-8")
    tokens.chmod(0o600)
    flags = ("--token-file", str(tokens), "--allow-origin", PAGE, "--allow-host", NAME)
    with Gateway(home, *flags) as running:
        yield Guarded(
            running,
            {"authorization": "Bearer ann-0123456789abcdef"},
            {"authorization": "Bearer bob-0123456789abcdef"},
        )
