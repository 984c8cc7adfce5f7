"""A `Host` header that two programs read in two ways.

The incident: the host was read up to the first `]` or `:`, so `[::1]evil.com` and `127.0.0.1:80@evil.com` were
loopback, and of two `Host` headers the first counted. No browser sends these; a proxy or a client library may.

The promise: exactly one header, of which every character is a part of a host and a port.
"""

from __future__ import annotations

import pytest

from tests.support.gateway import Gateway
from tests.web.problem import problem_in
from tests.web.raw import ask

FORGED = [
    b"[::1]evil.com",
    b"[::1]:80evil.com",
    b"[::1",
    b"[::1]]",
    b"[127.0.0.1]",
    b"127.0.0.1:80@evil.com",
    b"127.0.0.1@evil.com",
    b"evil.com@127.0.0.1",
    b"evil.com#127.0.0.1",
    b"127.0.0.1/evil.com",
    b"127.0.0.1\\evil.com",
    b"127.0.0.1 evil.com",
    b"127.0.0.1,evil.com",
    b"127.0.0.1:",
    b"127.0.0.1:port",
    b"127.0.0.1:123456",
    b"127.0.0.1:80:80",
    b"localhost.",
    b"localhost.evil.com",
    b"evil-localhost",
    b"%6cocalhost",
    b"localhost\t.evil.com",
    b"\xef\xbd\x8cocalhost",
    b"127.1",
    b"0x7f.1",
    b"",
]


@pytest.mark.parametrize("host", FORGED)
def test_a_host_that_is_not_wholly_one_is_refused(gateway: Gateway, host: bytes) -> None:
    response = ask(gateway, b"GET /healthz HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
    assert response is None or response.status_code in (400, 403), response.text
    if response is not None and response.status_code == 403:
        problem_in(response, 403, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize(
    "lines",
    [
        b"Host: localhost\r\nHost: evil.com",
        b"Host: evil.com\r\nHost: localhost",
        b"Host: localhost\r\nhost: localhost",
        b"Accept: */*",
    ],
)
def test_there_is_exactly_one_host(gateway: Gateway, lines: bytes) -> None:
    response = ask(gateway, b"GET /healthz HTTP/1.1\r\n%b\r\nConnection: close\r\n\r\n" % lines)
    assert response is None or response.status_code in (400, 403), response.text


@pytest.mark.parametrize("host", [b"localhost", b"LOCALHOST:8123", b"127.0.0.1:1", b"[::1]:65535", b"[::1]"])
def test_a_plain_host_of_this_machine_is_answered(gateway: Gateway, host: bytes) -> None:
    response = ask(gateway, b"GET /healthz HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n" % host)
    assert response is not None and response.status_code == 200
