"""A new wire format is one `Encoder` and one line in `ENCODERS`: it is negotiated, announced and served."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from gateway import Settings, create_app
from gateway.encode.base import Encoder
from gateway.encode.negotiate import ENCODERS, default_encoder, negotiate, transport_flags
from gateway.events import Wire
from tests.support.gateway import run_input

JSON_LINES = "application/jsonl"


def encode_lines(first: int, lines: list[bytes], events: list[Wire] | None) -> bytes:
    return b"".join(line + b"\n" for line in lines)


@pytest.fixture
def third() -> Iterator[Encoder]:
    encoder = Encoder("jsonl", JSON_LINES, "custom.gateway.jsonLines", b"\n", encode_lines)
    ENCODERS[encoder.name] = encoder
    try:
        yield encoder
    finally:
        del ENCODERS[encoder.name]


def test_a_client_that_names_it_gets_it(third: Encoder) -> None:
    assert negotiate(JSON_LINES) is third
    assert negotiate(f"text/event-stream, {JSON_LINES};q=0.1") is third


@pytest.mark.parametrize("accept", [None, "*/*", "application/*", "text/event-stream", f"{JSON_LINES};q=0"])
def test_other_clients_get_the_default(third: Encoder, accept: str | None) -> None:
    assert negotiate(accept) is default_encoder()


def test_of_two_named_formats_the_earlier_in_the_registry_is_used(third: Encoder) -> None:
    protobuf = ENCODERS["protobuf"]
    assert negotiate(f"{JSON_LINES}, {protobuf.content_type}") is protobuf


def test_its_capability_is_announced(third: Encoder) -> None:
    assert transport_flags() == {
        "transport.streaming": True,
        "transport.httpBinary": True,
        "custom.gateway.jsonLines": True,
    }


@pytest.mark.anyio
async def test_a_run_is_served_in_it(third: Encoder) -> None:
    app = create_app(Settings(store="memory:", watch=False, local_auth="none"))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        capabilities = (await client.get("/agents/echo/capabilities")).json()
        response = await client.post("/agents/echo", json=run_input("hello"), headers={"accept": JSON_LINES})
    assert capabilities["custom"]["gateway"]["jsonLines"] is True
    assert response.headers["content-type"] == JSON_LINES
    events = [json.loads(line) for line in response.text.splitlines()]
    assert [events[0]["type"], events[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
