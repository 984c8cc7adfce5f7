"""How an MCP server is reached, as a session is given it; and what must never be seen of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.mcp_client.server_config import ServerConfig, ServerUnusable, read_server, transport_name
from tests.drivers.mcp_client.servers import remote, stdio

HERE = Path("/here")
SECRET = "hunter2hunter2"


def test_a_command_is_started_where_the_session_works() -> None:
    found = read_server({"name": "calc", "command": "calc", "args": ["-v"], "env": [{"name": "A", "value": "b"}]}, HERE)
    assert found == ServerConfig("stdio", HERE, ("calc", "-v"), (("A", "b"),))


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_url_is_the_same_wherever_the_session_works(kind: str) -> None:
    server = remote("web", "https://otter.example/mcp", kind, x_key=SECRET)
    assert read_server(server, HERE) == read_server(server, Path("/there"))
    assert transport_name(server) == kind


def test_whatever_a_session_calls_it_the_same_server_is_one() -> None:
    assert read_server(stdio("one", A="b"), HERE) == read_server(stdio("two", A="b"), HERE)
    assert read_server(stdio("one", A="b"), HERE) != read_server(stdio("one", A="c"), HERE)
    assert read_server(stdio("one"), HERE) != read_server(stdio("one"), Path("/there"))


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"command": 7}, "strings"),
        ({"command": ""}, "strings"),
        ({"command": "a", "args": "b"}, "a list"),
        ({"command": "a", "args": [1]}, "strings"),
        ({"type": "acp", "id": "x"}, "only the agent can"),
        ({"type": "http"}, "http://"),
        ({"type": "http", "url": "file:///etc/passwd"}, "http://"),
        ({"type": "http", "url": "http://"}, "http://"),
        ({"type": "http", "url": "http://[::1"}, "cannot be read"),
        ({"url": 7}, "http://"),
    ],
)
def test_an_unusable_server_has_a_reason(server: dict[str, Any], why: str) -> None:
    with pytest.raises(ServerUnusable, match=why):
        read_server({"name": "x", **server}, HERE)


@pytest.mark.parametrize(
    "server",
    [
        read_server(stdio("calc", TOKEN=SECRET), HERE),
        read_server(remote("web", "https://otter.example", authorization=f"Bearer {SECRET}"), HERE),
        read_server(remote("web", f"https://otter.example?key={SECRET}"), HERE),
        read_server(remote("web", f"https://me:{SECRET}@otter.example"), HERE),
        read_server({"name": "calc", "command": "calc", "args": [SECRET]}, HERE),
    ],
)
def test_a_secret_is_never_shown(server: ServerConfig) -> None:
    assert SECRET not in repr(server)
    assert server.mask_secrets(f"I was given {SECRET}, and no.") == "I was given ***, and no."
