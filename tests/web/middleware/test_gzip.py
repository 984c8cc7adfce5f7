"""Large answers are packed for whoever says that it can unpack them; streams and small ones never."""

from __future__ import annotations

import gzip

import pytest

from tests.support.gateway import Gateway, run_input


def raw(gateway: Gateway, path: str, **headers: str) -> tuple[bytes, dict[str, str]]:
    """As it is on the wire."""
    with gateway.client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        return b"".join(response.iter_raw()), dict(response.headers)


@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
def test_the_matrix_is_packed_and_is_the_same(gateway: Gateway, accept: str) -> None:
    path = "/capabilities/matrix?explain=1"
    plain, _ = raw(gateway, path, accept=accept, **{"accept-encoding": "identity"})
    packed, headers = raw(gateway, path, accept=accept, **{"accept-encoding": "br, gzip"})
    assert (headers["content-encoding"], headers["content-length"]) == ("gzip", str(len(packed)))
    assert "accept-encoding" in headers["vary"].lower()
    assert gzip.decompress(packed) == plain
    assert len(packed) * 8 < len(plain)


def test_a_client_without_gzip_gets_it_uncompressed(gateway: Gateway) -> None:
    body, headers = raw(gateway, "/agents", **{"accept-encoding": "identity"})
    assert "content-encoding" not in headers
    assert body.startswith(b"{")


def test_a_small_answer_and_a_stream_are_not_packed(gateway: Gateway) -> None:
    _, headers = raw(gateway, "/healthz", **{"accept-encoding": "gzip"})
    assert "content-encoding" not in headers
    accepts = {"accept-encoding": "gzip"}
    with gateway.client.stream("POST", "/agents/demo", json=run_input("long"), headers=accepts) as run:
        assert "content-encoding" not in run.headers
        assert next(run.iter_raw()).startswith(b"id: 1")


def test_what_has_not_changed_is_not_sent_again(gateway: Gateway) -> None:
    path = "/agents/demo/capabilities?explain=1"
    tag = gateway.client.get(path).headers["etag"]
    again = gateway.client.get(path, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
